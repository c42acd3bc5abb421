// @ts-check
/* The frame: the button at the edge of the page, the panel with its header, log and field, and how they are opened,
   closed, widened and walked through by keyboard. Wide screens get a side panel that leaves the page usable. On a phone
   it takes the whole screen, and the focus stays inside. */

import { append, drawIcon, el, fill } from "../shared/dom.js";
import { QUESTION_MOST } from "../shared/turn.js";
import { ICONS } from "./icons.js";
import { browserStorage } from "./memory.js";

/** @import { Say } from "./strings.js" */

/**
 * @typedef {object} Actions
 * @property {(isOpen: boolean) => void} onToggle
 * @property {() => void} onTyping
 * @property {(question: string) => void} ask
 * @property {() => void} stop
 * @property {() => void} startAnew
 * @property {() => void} dropSelection
 */

export const [NARROWEST, WIDEST] = [360, 580];
const STEP = 20;
const WIDTH = "octavo:width";
/** What the page keeps at least when the panel stands beside it. */
const LEAST_PAGE = 640;
const IS_APPLE = /Mac|iPhone|iPad/.test(navigator.platform || "");
export const KEYS = IS_APPLE ? "⌘I" : "Ctrl+I";
const FOCUSABLE = "a[href], button:not([disabled]), textarea, input, summary, [tabindex='0']";

export class Panel {
  #actions;
  #say;
  #title;
  #isLeft;
  #container;
  #isBusy = false;
  /** @type {Element | null} */
  #focusedBefore = null;
  #width = NARROWEST + 60;
  #phone = window.matchMedia("(max-width: 640px)");
  /** Moves the page aside; null where the panel lies over it. @type {CSSStyleSheet | null} */
  #pageMargin = null;
  #chip = el("div", { class: "chip", hidden: true });
  #submit = el("button", { type: "submit", class: "send" });
  #news = el("p", { class: "unseen", role: "status" });

  /**
   * @param {HTMLElement} root
   * @param {Say} say
   * @param {{title: string, isLeft: boolean, isOver: boolean, container: string}} options
   * @param {Actions} actions
   */
  constructor(root, say, { title, isLeft, isOver, container }, actions) {
    this.#actions = actions;
    this.#say = say;
    this.#title = title || say("title");
    this.#isLeft = isLeft;
    this.#container = container;
    if (!isOver) this.#pageMargin = new CSSStyleSheet();
    window.addEventListener("resize", () => this.#makeRoom());
    this.launch = drawButton("launch", say("openHint", { keys: KEYS }), ICONS.ask, () => this.open());
    this.launch.setAttribute("aria-expanded", "false");
    append(this.launch, [el("span", {}, say("button"))]);
    this.log = el("div", { class: "log", role: "log", "aria-live": "polite", tabindex: 0, "aria-label": this.#title });
    this.field = this.#drawField();
    this.edge = this.#drawEdge();
    this.panel = el("section", { class: "panel", role: "dialog", "aria-labelledby": "title", hidden: true },
      this.edge, this.#drawHeader(), this.log, this.#drawComposer(), this.#news);
    this.busy = false;
    append(root, [this.launch, this.panel]);
    this.widen(Number(browserStorage.get(WIDTH)) || this.#width);
    this.#phone.addEventListener("change", () => this.#showModal());
    this.#showModal();
    root.addEventListener("keydown", (event) => this.#pressKey(event));
  }

  get isOpen() {
    return !this.panel.hidden;
  }

  get isFullScreen() {
    return this.#phone.matches;
  }

  open({ focus = true } = {}) {
    const wasOpen = this.isOpen;
    if (!wasOpen) this.#focusedBefore = document.activeElement;
    this.#showOpen(true);
    if (!wasOpen) this.#actions.onToggle(true);
    if (focus) this.field.focus();
  }

  /** Close the panel. The focus goes back to where it was. */
  close() {
    if (!this.isOpen) return;
    const hadFocus = this.#findFocus();
    this.#showOpen(false);
    const before = this.#focusedBefore;
    const canGoBack = before instanceof HTMLElement && before.isConnected && before !== document.body;
    if (hadFocus) (canGoBack ? before : this.launch).focus();
    this.#actions.onToggle(false);
  }

  /** @param {boolean} isOpen */
  #showOpen(isOpen) {
    this.panel.hidden = !isOpen;
    this.launch.hidden = isOpen;
    this.launch.setAttribute("aria-expanded", String(isOpen));
    this.#makeRoom();
  }

  /** @param {number} width */
  widen(width) {
    this.#width = Math.min(WIDEST, Math.max(NARROWEST, Math.round(width)));
    this.panel.style.setProperty("--width", `${this.#width}px`);
    this.edge.setAttribute("aria-valuenow", String(this.#width));
    this.#makeRoom();
  }

  /* On a wide screen the page moves aside, so that both can be read. */
  #makeRoom() {
    if (!this.#pageMargin) return;
    const hasRoom = this.isOpen && !this.isFullScreen && innerWidth - this.#width >= LEAST_PAGE;
    const side = this.#isLeft ? "left" : "right";
    const moved = this.#findContainer();
    this.#pageMargin.replaceSync(hasRoom && moved ? `${moved} { margin-${side}: ${this.#width}px !important }` : "");
    const sheets = document.adoptedStyleSheets;
    if (!sheets.includes(this.#pageMargin)) document.adoptedStyleSheets = [...sheets, this.#pageMargin];
  }

  /* Fixed elements do not move with the page. A site that has some names the part that makes room; where that part is not
     on the page, the panel lies over it. */
  #findContainer() {
    if (!this.#container) return "html";
    try {
      return document.querySelector(this.#container) ? this.#container : "";
    } catch {
      console.warn(`Octavo: data-container is no selector: ${this.#container}`);
      return "";
    }
  }

  /** While a question is being answered, the button stops it. @param {boolean} isBusy */
  set busy(isBusy) {
    this.#isBusy = isBusy;
    this.log.setAttribute("aria-busy", String(isBusy));
    const label = this.#say(isBusy ? "stop" : "send");
    this.#submit.title = label;
    this.#submit.setAttribute("aria-label", label);
    this.#submit.classList.toggle("busy", isBusy);
    fill(this.#submit, drawIcon(isBusy ? ICONS.stop : ICONS.send));
  }

  /** The passage that the next question is about. @param {{text: string, cut: boolean}} selection */
  set selection({ text, cut }) {
    fill(this.#chip);
    this.#chip.hidden = !text;
    if (!text) return;
    const label = cut ? this.#say("aboutCut", { n: text.length }) : this.#say("about");
    const drop = drawButton("small", this.#say("dropSelection"), ICONS.close, () => {
      this.#actions.dropSelection();
      this.field.focus();
    });
    append(this.#chip, [el("div", {}, el("span", { class: "label" }, label), el("blockquote", {}, text)), drop]);
  }

  /** @param {string} text */
  announce(text) {
    fill(this.#news, text);
  }

  /** @param {HTMLElement} element */
  scrollTo(element) {
    this.log.scrollTop = Math.max(0, element.offsetTop - 12);
  }

  #drawHeader() {
    const again = drawButton("small", this.#say("again"), ICONS.again, () => {
      this.#actions.startAnew();
      this.field.focus();
    });
    const close = drawButton("small", this.#say("close"), ICONS.close, () => this.close());
    return el("header", {}, el("h2", { id: "title" }, this.#title), again, close);
  }

  #drawField() {
    const field = el("textarea", {
      rows: 1, maxlength: QUESTION_MOST, "aria-label": this.#say("question"), placeholder: this.#say("placeholder"), dir: "auto",
      enterkeyhint: "send", autocomplete: "off",
    });
    field.addEventListener("input", () => {
      this.#growField();
      this.#actions.onTyping();
    });
    field.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      if (!this.#isBusy) this.#send();
    });
    return field;
  }

  #drawComposer() {
    const submit = (/** @type {Event} */ event) => {
      event.preventDefault();
      if (this.#isBusy) this.#actions.stop();
      else this.#send();
    };
    return el("form", { class: "composer", on: { submit } }, this.#chip, el("div", { class: "row" }, this.field, this.#submit));
  }

  #send() {
    const question = this.field.value.trim();
    if (!question) return this.field.focus();
    this.field.value = "";
    this.#growField();
    return this.#actions.ask(question);
  }

  #growField() {
    this.field.style.height = "auto";
    this.field.style.height = `${Math.min(this.field.scrollHeight, 160)}px`;
  }

  #drawEdge() {
    const edge = el("div", {
      class: "edge", role: "separator", tabindex: 0, "aria-orientation": "vertical", "aria-label": this.#say("resize"),
      "aria-valuemin": NARROWEST, "aria-valuemax": WIDEST,
    });
    const save = () => browserStorage.set(WIDTH, this.#width);
    edge.addEventListener("pointerdown", (event) => {
      event.preventDefault();
      edge.setPointerCapture(event.pointerId);
      const move = (/** @type {PointerEvent} */ { clientX }) =>
        this.widen(this.#isLeft ? clientX : document.documentElement.clientWidth - clientX);
      edge.addEventListener("pointermove", move);
      edge.addEventListener("lostpointercapture", () => {
        edge.removeEventListener("pointermove", move);
        save();
      }, { once: true });
    });
    edge.addEventListener("keydown", (event) => {
      const [wider, narrower] = this.#isLeft ? ["ArrowRight", "ArrowLeft"] : ["ArrowLeft", "ArrowRight"];
      /** @type {Record<string, number>} */
      const widths = { [wider]: this.#width + STEP, [narrower]: this.#width - STEP, Home: NARROWEST, End: WIDEST };
      if (!(event.key in widths)) return;
      event.preventDefault();
      this.widen(widths[event.key]);
      save();
    });
    return edge;
  }

  #showModal() {
    if (this.isFullScreen) this.panel.setAttribute("aria-modal", "true");
    else this.panel.removeAttribute("aria-modal");
  }

  /** @param {KeyboardEvent} event */
  #pressKey(event) {
    if (event.key === "Escape" && this.isOpen && !event.defaultPrevented) {
      event.preventDefault();
      this.close();
    } else if (event.key === "Tab" && this.isOpen && this.isFullScreen) this.#keepFocusInside(event);
  }

  /** @param {KeyboardEvent} event */
  #keepFocusInside(event) {
    /** @type {NodeListOf<HTMLElement>} */
    const found = this.panel.querySelectorAll(FOCUSABLE);
    const all = [...found].filter((node) => node.getClientRects().length);
    const [first, last] = [all[0], all[all.length - 1]];
    if (this.#findFocus() !== (event.shiftKey ? first : last)) return;
    event.preventDefault();
    (event.shiftKey ? last : first).focus();
  }

  #findFocus() {
    return /** @type {ShadowRoot} */ (this.panel.getRootNode()).activeElement;
  }
}

/**
 * @param {string} kind
 * @param {string} label
 * @param {string} path
 * @param {() => void} click
 */
function drawButton(kind, label, path, click) {
  return el("button", { type: "button", class: kind, title: label, "aria-label": label, on: { click } }, drawIcon(path));
}
