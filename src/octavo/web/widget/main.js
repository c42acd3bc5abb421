// @ts-check
/* The widget: one script that puts a book's answers beside its pages.

   Everything lives in a shadow root outside of <body>, so that the page's styles do not reach in and a page change by
   script does not remove it. Run twice, it is still there once. Nothing is fetched before the reader opens the panel. */

import styles from "./widget.css";
import { cutSelection } from "../shared/selection.js";
import { Service } from "../shared/service.js";
import { Tooltip } from "../shared/tooltip.js";
import { QUESTION_MOST } from "../shared/turn.js";
import { Conversation } from "./conversation.js";
import { showOnArrival } from "./jump.js";
import { Memory, tabStorage } from "./memory.js";
import { Panel } from "./panel.js";
import { findSelection, isEditable, offerOnSelection } from "./selection.js";
import { explainSetup, readQuestions } from "./setup.js";
import { chooseWords } from "./strings.js";
import { followTheme } from "./theme.js";

/** @import { Selected } from "./selection.js" */
/** @typedef {ReturnType<typeof readOptions>} Options */
/** @typedef {(detail: unknown) => void} Listener */

const WIDGET = Symbol.for("octavo.widget");
const OPEN = "octavo:open";
const RIGHT_TO_LEFT = new Set(["ar", "fa", "he", "ur"]);
/** The page's own variables. @type {any} */
const page = window;
/** @type {HTMLScriptElement | null} */
const script = document.currentScript instanceof HTMLScriptElement
  ? document.currentScript : document.querySelector('script[src*="/widget."][data-book]');

function readOptions() {
  /** @type {DOMStringMap} */
  const given = script?.dataset || {};
  const lang = given.lang || document.documentElement.lang || navigator.language;
  return {
    base: new URL(".", script?.src || location.href).href,
    book: given.book || "",
    key: given.key || "",
    title: given.title || "",
    isLeft: given.position === "left",
    isOver: "over" in given && given.over !== "false",
    container: given.container || "",
    questions: readQuestions(given.questions),
    isOpen: "open" in given && given.open !== "false",
    theme: given.theme === "light" || given.theme === "dark" ? given.theme : "",
    lang,
    say: chooseWords(readStrings(given.strings), lang),
  };
}

/** @param {string | undefined} text */
function readStrings(text) {
  if (!text) return page.OctavoStrings;
  try {
    return JSON.parse(text);
  } catch {
    console.warn("Octavo: data-strings is not JSON; the English words are used.");
    return page.OctavoStrings;
  }
}

class Widget {
  /** @type {Map<string, Set<Listener>>} */
  #listeners = new Map();
  #ending = new AbortController();

  /** @param {Options} options */
  constructor(options) {
    this.identity = identify(options);
    this.host = document.createElement("octavo-widget");
    const shadow = this.host.attachShadow({ mode: "open" });
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(styles);
    shadow.adoptedStyleSheets = [sheet];
    this.root = document.createElement("div");
    this.root.className = options.isLeft ? "root left" : "root";
    this.root.lang = options.lang;
    this.root.dir = RIGHT_TO_LEFT.has(options.lang.split("-")[0]) ? "rtl" : "ltr";
    shadow.append(this.root);
    this.panel = this.#makePanel(options);
    this.conversation = this.#makeConversation(options);
    offerOnSelection(this.root, options.say, (found) => this.#openAbout(found));
    this.#listen(shadow);
    this.#join(options);
  }

  /**
   * @param {unknown} question
   * @param {{selection?: unknown}} about
   */
  ask(question, { selection } = {}) {
    this.panel.open({ focus: false });
    const about = selection ? cutSelection(String(selection)).text : "";
    return this.conversation.ask(String(question).slice(0, QUESTION_MOST), about);
  }

  /**
   * Call `listener` on each event of this name; returns a function that ends that.
   * @param {string} name
   * @param {Listener} listener
   */
  on(name, listener) {
    const listeners = this.#listeners.get(name) || new Set();
    this.#listeners.set(name, listeners.add(listener));
    return () => listeners.delete(listener);
  }

  remove() {
    this.#ending.abort();
    this.panel.close();
    this.host.remove();
  }

  /**
   * @param {Options} options
   * @returns {Panel}
   */
  #makePanel({ say, title, isLeft, isOver, container }) {
    return new Panel(this.root, say, { title, isLeft, isOver, container }, {
      onToggle: (isOpen) => {
        tabStorage.set(OPEN, isOpen);
        if (isOpen) this.conversation.restore();
        this.#tell(isOpen ? "open" : "close");
      },
      /* A failure is shown when the question is asked. */
      onTyping: () => this.conversation.prepare().catch(() => {}),
      ask: (question) => this.conversation.ask(question),
      stop: () => this.conversation.stop(),
      startAnew: () => this.conversation.startAnew(),
      dropSelection: () => (this.conversation.selection = null),
    });
  }

  /**
   * @param {Options} options
   * @returns {Conversation}
   */
  #makeConversation({ say, base, book, key, questions }) {
    return new Conversation({
      book, say, questions,
      onProblem: (problem) => explainSetup(problem, { base, book, key }),
      panel: this.panel,
      service: new Service(base, () => key),
      memory: new Memory(base, book),
      tooltip: new Tooltip(this.root, "tip", placeTooltip),
      tell: (name, detail) => this.#tell(name, detail),
    });
  }

  /** @param {ShadowRoot} shadow */
  #listen(shadow) {
    /* A page's own shortcuts ("s" for search, arrows for chapters) must not hear what is typed in here. */
    shadow.addEventListener("keydown", (event) => {
      if (event instanceof KeyboardEvent) this.#pressShortcut(event, true);
      event.stopPropagation();
    });
    for (const kind of ["keypress", "keyup"]) shadow.addEventListener(kind, (event) => event.stopPropagation());
    document.addEventListener("keydown", (event) => this.#pressShortcut(event), { signal: this.#ending.signal });
    /* Ctrl K and ⌘ K are the search of many sites: theirs comes first, and what they take is not taken here. */
    window.addEventListener("keydown", (event) => this.#pressSearch(event), { signal: this.#ending.signal });
  }

  /** Put the widget into the page, and keep it there. @param {Options} options */
  #join({ theme, isOpen }) {
    const { signal } = this.#ending;
    document.documentElement.append(this.host);
    const observer = new MutationObserver(() => {
      if (!this.host.isConnected) document.documentElement.append(this.host);
    });
    observer.observe(document.documentElement, { childList: true });
    signal.addEventListener("abort", () => observer.disconnect());
    const setTheme = (/** @type {string} */ name) => (this.root.dataset.theme = name);
    if (theme) setTheme(theme);
    else followTheme(setTheme, signal);
    if ((isOpen || tabStorage.get(OPEN)) && !this.panel.isFullScreen) this.panel.open({ focus: false });
    showOnArrival();
  }

  /** @param {Selected} found */
  #openAbout(found) {
    this.conversation.selection = found;
    this.panel.open();
  }

  /** @param {KeyboardEvent} event */
  #pressShortcut(event, isInside = false) {
    const isPressed = (event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey;
    if (!isPressed || event.key.toLowerCase() !== "i" || event.defaultPrevented) return;
    /* In a field of the page it means italics. */
    if (!isInside && isEditable(event.target)) return;
    event.preventDefault();
    const found = findSelection();
    if (found) this.#openAbout(found);
    else if (this.panel.isOpen) this.panel.close();
    else this.panel.open();
  }

  /** @param {KeyboardEvent} event */
  #pressSearch(event) {
    const isPressed = (event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey;
    if (!isPressed || event.key.toLowerCase() !== "k" || event.defaultPrevented || isEditable(event.target)) return;
    event.preventDefault();
    this.panel.open();
  }

  /**
   * @param {string} name
   * @param {unknown} [detail]
   */
  #tell(name, detail) {
    for (const listener of this.#listeners.get(name) || [])
      try {
        listener(detail);
      } catch (error) {
        console.error(error);
      }
  }
}

/**
 * Place the quotation above its footnote, or below where there is no room; it never covers the footnote.
 * @param {HTMLElement} card
 * @param {HTMLElement} owner
 */
function placeTooltip(card, owner) {
  card.style.maxHeight = "";
  const [box, tip] = [owner.getBoundingClientRect(), card.getBoundingClientRect()];
  const [above, below] = [box.top - 16, innerHeight - box.bottom - 16];
  const isAbove = tip.height < above || (tip.height > below && above > below);
  const height = Math.min(tip.height, Math.max(isAbove ? above : below, 0));
  const left = Math.min(box.left - 24, document.documentElement.clientWidth - tip.width - 10);
  if (height < tip.height) card.style.maxHeight = `${height}px`;
  card.style.top = `${Math.round(isAbove ? box.top - height - 8 : box.bottom + 8)}px`;
  card.style.left = `${Math.round(Math.max(10, left))}px`;
}

/** @param {Options} options */
function identify({ base, book, key }) {
  return [base, book, key].join("\n");
}

function start() {
  const options = readOptions();
  const known = page[WIDGET];
  if (known) {
    if (known.identity === identify(options)) return;
    known.remove();
  }
  const widget = new Widget(options);
  page[WIDGET] = widget;
  page.Octavo = {
    open: () => widget.panel.open(),
    close: () => widget.panel.close(),
    ask: (/** @type {unknown} */ question, /** @type {{selection?: unknown}} */ about) => widget.ask(question, about),
    on: (/** @type {string} */ name, /** @type {Listener} */ listener) => widget.on(name, listener),
  };
}

if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start, { once: true });
else start();
