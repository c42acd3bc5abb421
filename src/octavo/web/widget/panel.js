/* The frame: the button at the edge of the page, the panel with its header, log and field, and how they are opened,
   closed, widened and walked through by keyboard. Wide screens get a side panel that leaves the page usable; on a phone
   it takes the whole screen, and then the focus stays inside. */

import { add, el, fill, icon } from "../shared/dom.js";
import { ICONS } from "./icons.js";
import { habits } from "./memory.js";

export const [NARROWEST, WIDEST] = [360, 580];
const STEP = 20;
const ROOM = 640; /* what the page keeps when the panel stands beside it */
const APPLE = /Mac|iPhone|iPad/.test(navigator.platform || "");
export const KEYS = APPLE ? "⌘I" : "Ctrl+I";
const FOCUSABLE = "a[href], button:not([disabled]), textarea, input, summary, [tabindex='0']";

/* `acts`: toggle(open), typing(), ask(question), stop(), again(), dropSelection(). */
export class Panel {
  #acts;
  #say;
  #title;
  #left;
  #before = null;
  #width = NARROWEST + 60;
  #phone = window.matchMedia("(max-width: 640px)");
  #beside = null;

  constructor(root, say, { title, left, over }, acts) {
    this.#acts = acts;
    this.#say = say;
    this.#title = title || say("title");
    this.#left = left;
    if (!over) this.#beside = new CSSStyleSheet();
    window.addEventListener("resize", () => this.#makeRoom());
    this.launch = this.#button("launch", say("openHint", { keys: KEYS }), ICONS.ask, () => this.open());
    this.launch.setAttribute("aria-expanded", "false");
    add(this.launch, [el("span", {}, say("button"))]);
    this.log = el("div", { class: "log", role: "log", "aria-live": "polite", tabindex: 0, "aria-label": this.#title });
    this.news = el("p", { class: "unseen", role: "status" });
    this.edge = this.#separator();
    this.panel = el("section", { class: "panel", role: "dialog", "aria-labelledby": "title", hidden: true });
    add(this.panel, [this.edge, this.#header(), this.log, this.#composer(), this.news]);
    add(root, [this.launch, this.panel]);
    this.widen(Number(habits.get("width")) || this.#width);
    this.#phone.addEventListener("change", () => this.#modal());
    this.#modal();
    root.addEventListener("keydown", (event) => this.#key(event));
  }

  get isOpen() {
    return !this.panel.hidden;
  }

  get fullScreen() {
    return this.#phone.matches;
  }

  open({ focus = true } = {}) {
    const was = this.isOpen;
    if (!was) this.#before = document.activeElement;
    this.panel.hidden = false;
    this.launch.hidden = true;
    this.launch.setAttribute("aria-expanded", "true");
    this.#makeRoom();
    if (!was) this.#acts.toggle(true);
    if (focus) this.field.focus();
  }

  /* The focus goes back to where it was. */
  close() {
    if (!this.isOpen) return;
    const inside = this.panel.getRootNode().activeElement;
    this.panel.hidden = true;
    this.launch.hidden = false;
    this.launch.setAttribute("aria-expanded", "false");
    this.#makeRoom();
    const before = this.#before;
    if (inside) (before && before.isConnected && before !== document.body ? before : this.launch).focus();
    this.#acts.toggle(false);
  }

  widen(width) {
    this.#width = Math.min(WIDEST, Math.max(NARROWEST, Math.round(width)));
    this.panel.style.setProperty("--width", `${this.#width}px`);
    this.edge.setAttribute("aria-valuenow", String(this.#width));
    this.#makeRoom();
  }

  /* On a wide screen the page moves aside, so that both can be read. */
  #makeRoom() {
    if (!this.#beside) return;
    const room = this.isOpen && !this.fullScreen && innerWidth - this.#width >= ROOM;
    const margin = room ? `html { margin-${this.#left ? "left" : "right"}: ${this.#width}px !important }` : "";
    this.#beside.replaceSync(margin);
    const sheets = document.adoptedStyleSheets;
    if (!sheets.includes(this.#beside)) document.adoptedStyleSheets = [...sheets, this.#beside];
  }

  /* While a question is being answered the button stops it. */
  set busy(busy) {
    this.log.setAttribute("aria-busy", String(busy));
    const label = this.#say(busy ? "stop" : "send");
    this.submit.title = label;
    this.submit.setAttribute("aria-label", label);
    this.submit.classList.toggle("busy", busy);
    fill(this.submit, icon(busy ? ICONS.stop : ICONS.send));
    this.isBusy = busy;
  }

  /* The passage that the next question is about. */
  set selection({ text, cut }) {
    fill(this.chip);
    this.chip.hidden = !text;
    if (!text) return;
    const label = cut ? this.#say("aboutCut", { n: text.length }) : this.#say("about");
    const drop = this.#button("small", this.#say("dropSelection"), ICONS.close, () => {
      this.#acts.dropSelection();
      this.field.focus();
    });
    add(this.chip, [el("div", {}, el("span", { class: "label" }, label), el("blockquote", {}, text)), drop]);
  }

  announce(text) {
    fill(this.news, text);
  }

  scrollTo(element) {
    this.log.scrollTop = Math.max(0, element.offsetTop - 12);
  }

  #header() {
    const again = this.#button("small", this.#say("again"), ICONS.again, () => {
      this.#acts.again();
      this.field.focus();
    });
    const close = this.#button("small", this.#say("close"), ICONS.close, () => this.close());
    return el("header", {}, el("h2", { id: "title" }, this.#title), again, close);
  }

  #composer() {
    this.chip = el("div", { class: "chip", hidden: true });
    this.field = el("textarea", {
      rows: 1, maxlength: 1000, "aria-label": this.#say("question"), placeholder: this.#say("placeholder"), dir: "auto",
      enterkeyhint: "send", autocomplete: "off",
    });
    this.submit = el("button", { type: "submit", class: "send" });
    this.busy = false;
    this.field.addEventListener("input", () => {
      this.#grow();
      this.#acts.typing();
    });
    this.field.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      if (!this.isBusy) this.#send();
    });
    const submit = (event) => {
      event.preventDefault();
      if (this.isBusy) this.#acts.stop();
      else this.#send();
    };
    const row = el("div", { class: "row" }, this.field, this.submit);
    return el("form", { class: "composer", on: { submit } }, this.chip, row);
  }

  #send() {
    const question = this.field.value.trim();
    if (!question) return this.field.focus();
    this.field.value = "";
    this.#grow();
    return this.#acts.ask(question);
  }

  #grow() {
    this.field.style.height = "auto";
    this.field.style.height = `${Math.min(this.field.scrollHeight, 160)}px`;
  }

  #separator() {
    const edge = el("div", {
      class: "edge", role: "separator", tabindex: 0, "aria-orientation": "vertical", "aria-label": this.#say("resize"),
      "aria-valuemin": NARROWEST, "aria-valuemax": WIDEST,
    });
    const save = () => habits.set("width", this.#width);
    edge.addEventListener("pointerdown", (event) => {
      event.preventDefault();
      edge.setPointerCapture(event.pointerId);
      const move = ({ clientX }) => this.widen(this.#left ? clientX : document.documentElement.clientWidth - clientX);
      edge.addEventListener("pointermove", move);
      edge.addEventListener("lostpointercapture", () => {
        edge.removeEventListener("pointermove", move);
        save();
      }, { once: true });
    });
    edge.addEventListener("keydown", (event) => {
      const wider = this.#left ? "ArrowRight" : "ArrowLeft";
      const narrower = this.#left ? "ArrowLeft" : "ArrowRight";
      const widths = { [wider]: this.#width + STEP, [narrower]: this.#width - STEP, Home: NARROWEST, End: WIDEST };
      if (!(event.key in widths)) return;
      event.preventDefault();
      this.widen(widths[event.key]);
      save();
    });
    return edge;
  }

  #modal() {
    if (this.fullScreen) this.panel.setAttribute("aria-modal", "true");
    else this.panel.removeAttribute("aria-modal");
  }

  #key(event) {
    if (event.key === "Escape" && this.isOpen && !event.defaultPrevented) {
      event.preventDefault();
      this.close();
    } else if (event.key === "Tab" && this.isOpen && this.fullScreen) this.#trap(event);
  }

  #trap(event) {
    const all = [...this.panel.querySelectorAll(FOCUSABLE)].filter((node) => node.getClientRects().length);
    const [first, last] = [all[0], all.at(-1)];
    const active = this.panel.getRootNode().activeElement;
    if (active !== (event.shiftKey ? first : last)) return;
    event.preventDefault();
    (event.shiftKey ? last : first).focus();
  }

  #button(kind, label, path, click) {
    return el("button", { type: "button", class: kind, title: label, "aria-label": label, on: { click } }, icon(path));
  }
}
