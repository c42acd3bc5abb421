/* The widget: one script that puts a book's answers beside its pages.

   Everything lives in a shadow root outside of <body>, so that neither the page's styles reach in nor a page change by
   script removes it; run twice, it is still there once. Nothing is fetched before the reader opens the panel. */

import styles from "./widget.css";
import { Conversation } from "./conversation.js";
import { arrive } from "./jump.js";
import { Memory, tab } from "./memory.js";
import { Panel } from "./panel.js";
import { editable, offerOnSelection, selected, trimmed } from "./selection.js";
import { Service } from "./service.js";
import { wordsFor } from "./strings.js";
import { followTheme } from "./theme.js";
import { Tip } from "./tip.js";

const HERE = Symbol.for("octavo.widget");
const script = document.currentScript || document.querySelector('script[src*="widget.js"][data-book]');

function options() {
  const said = script?.dataset || {};
  const lang = said.lang || document.documentElement.lang || navigator.language;
  return {
    base: new URL(".", script?.src || location.href).href,
    book: said.book || "",
    key: said.key || "",
    title: said.title || "",
    left: said.position === "left",
    over: "over" in said && said.over !== "false",
    open: "open" in said && said.open !== "false",
    theme: ["light", "dark"].includes(said.theme) ? said.theme : "",
    lang,
    say: wordsFor(strings(said.strings), lang),
  };
}

function strings(text) {
  if (!text) return window.OctavoStrings;
  try {
    return JSON.parse(text);
  } catch {
    console.warn("Octavo: data-strings is not JSON; the English words are used.");
    return window.OctavoStrings;
  }
}

class Widget {
  #listeners = new Map();
  #ending = new AbortController();

  constructor(wanted) {
    this.identity = [wanted.base, wanted.book, wanted.key].join("\n");
    this.host = document.createElement("octavo-widget");
    const shadow = this.host.attachShadow({ mode: "open" });
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(styles);
    shadow.adoptedStyleSheets = [sheet];
    this.root = document.createElement("div");
    this.root.className = wanted.left ? "root left" : "root";
    this.root.lang = wanted.lang;
    shadow.append(this.root);
    this.#furnish(wanted);
    this.#behave(shadow, wanted);
  }

  ask(question, { selection } = {}) {
    this.panel.open({ focus: false });
    const about = selection ? trimmed(String(selection)).text : null;
    return this.conversation.ask(String(question).slice(0, 1000), about);
  }

  on(name, listener) {
    if (!this.#listeners.has(name)) this.#listeners.set(name, new Set());
    this.#listeners.get(name).add(listener);
    return () => this.#listeners.get(name).delete(listener);
  }

  remove() {
    this.#ending.abort();
    this.panel.close();
    this.host.remove();
  }

  #furnish({ say, base, book, key, title, left, over }) {
    const tell = (name, detail) => this.#tell(name, detail);
    this.panel = new Panel(this.root, say, { title, left, over }, {
      toggle: (open) => {
        tab.set("open", open);
        if (open) this.conversation.restore();
        tell(open ? "open" : "close");
      },
      typing: () => this.conversation.prepare().catch(() => {}), /* told when the question is asked */
      ask: (question) => this.conversation.ask(question),
      stop: () => this.conversation.stop(),
      again: () => this.conversation.again(),
      dropSelection: () => (this.conversation.selection = null),
    });
    const [service, memory] = [new Service(base, key, book), new Memory(base, book)];
    this.conversation = new Conversation({ panel: this.panel, service, memory, say, tell, tip: new Tip(this.root) });
    offerOnSelection(this.root, say, (found) => this.#about(found));
  }

  #behave(shadow, { theme, open }) {
    const { signal } = this.#ending;
    /* A page's own shortcuts ("s" for search, arrows for chapters) must not hear what is typed in here. */
    for (const kind of ["keydown", "keypress", "keyup"])
      shadow.addEventListener(kind, (event) => {
        if (kind === "keydown") this.#shortcut(event, true);
        event.stopPropagation();
      });
    document.addEventListener("keydown", (event) => this.#shortcut(event), { signal });
    document.documentElement.append(this.host);
    const observer = new MutationObserver(() => {
      if (!this.host.isConnected) document.documentElement.append(this.host);
    });
    observer.observe(document.documentElement, { childList: true });
    signal.addEventListener("abort", () => observer.disconnect());
    const dressed = (name) => (this.root.dataset.theme = name);
    if (theme) dressed(theme);
    else followTheme(dressed, signal);
    if ((open || tab.get("open")) && !this.panel.fullScreen) this.panel.open({ focus: false });
    arrive(() => {});
  }

  #about(found) {
    this.conversation.selection = found;
    this.panel.open();
  }

  #shortcut(event, ours = false) {
    const pressed = (event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey;
    if (!pressed || event.key.toLowerCase() !== "i" || event.defaultPrevented) return;
    if (!ours && editable(event.target)) return; /* there it means italics */
    event.preventDefault();
    const found = selected();
    if (this.panel.isOpen && !found) this.panel.close();
    else if (found) this.#about(found);
    else this.panel.open();
  }

  #tell(name, detail) {
    for (const listener of this.#listeners.get(name) || [])
      try {
        listener(detail);
      } catch (error) {
        console.error(error);
      }
  }
}

function start() {
  const wanted = options();
  const known = window[HERE];
  if (known) {
    if (known.identity === [wanted.base, wanted.book, wanted.key].join("\n")) return;
    known.remove();
  }
  const widget = new Widget(wanted);
  window[HERE] = widget;
  window.Octavo = {
    open: () => widget.panel.open(),
    close: () => widget.panel.close(),
    ask: (question, about) => widget.ask(question, about),
    on: (name, listener) => widget.on(name, listener),
  };
}

if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start, { once: true });
else start();
