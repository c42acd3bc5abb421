/* The quotation behind a footnote, shown while the pointer or the focus is on it. It can be pointed at itself, and
   Escape puts it away. */

import { shortened } from "../shared/cite.js";
import { el, fill } from "../shared/dom.js";

export class Tip {
  #box = el("div", { class: "tip", role: "tooltip", id: "tip", hidden: true });
  #timer = 0;
  #owner = null;

  constructor(root) {
    root.append(this.#box);
    this.#box.addEventListener("pointerenter", () => clearTimeout(this.#timer));
    this.#box.addEventListener("pointerleave", () => this.#later());
    root.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || this.#box.hidden) return;
      event.preventDefault();
      this.hide();
    }, { capture: true });
  }

  over(node, cited, place) {
    const show = () => this.#show(node, cited, place);
    node.addEventListener("pointerenter", (event) => event.pointerType !== "touch" && show());
    node.addEventListener("pointerleave", () => this.#later());
    node.addEventListener("focus", () => node.matches(":focus-visible") && show());
    node.addEventListener("blur", () => this.#later());
  }

  hide() {
    clearTimeout(this.#timer);
    this.#box.hidden = true;
    if (this.#owner) this.#owner.removeAttribute("aria-describedby");
    this.#owner = null;
  }

  #later() {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.hide(), 160);
  }

  #show(node, cited, place) {
    this.hide();
    const quote = el("blockquote", { dir: "auto" }, shortened(cited.content_snippet, 420));
    fill(this.#box, quote, el("p", {}, place));
    this.#box.hidden = false;
    node.setAttribute("aria-describedby", "tip");
    this.#owner = node;
    const [box, tip] = [node.getBoundingClientRect(), this.#box.getBoundingClientRect()];
    const above = box.top - tip.height - 8;
    const left = Math.min(box.left - 24, document.documentElement.clientWidth - tip.width - 10);
    const lowest = Math.max(8, innerHeight - tip.height - 8);
    this.#box.style.top = `${Math.round(Math.min(above > 8 ? above : box.bottom + 8, lowest))}px`;
    this.#box.style.left = `${Math.round(Math.max(10, left))}px`;
  }
}
