// @ts-check
/* A small card beside a citation, shown while the pointer or the focus is on it. The pointer may move onto the card
   itself, and Escape closes it. */

import { el, fill } from "./dom.js";

/** @import { Leaf } from "./dom.js" */

const LEAVING_MS = 160;

export class Tooltip {
  #card;
  #place;
  #timer = 0;
  /** @type {HTMLElement | null} */
  #owner = null;

  /**
   * @param {HTMLElement} root  where the card lives; Escape pressed within it closes the card
   * @param {string} name  the card's id and class
   * @param {(card: HTMLElement, owner: HTMLElement) => void} place  puts the card beside its owner
   */
  constructor(root, name, place) {
    this.#card = el("div", { class: name, role: "tooltip", id: name, hidden: true });
    this.#place = place;
    root.append(this.#card);
    this.#card.addEventListener("pointerenter", () => clearTimeout(this.#timer));
    this.#card.addEventListener("pointerleave", () => this.#hideLater());
    root.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || this.#card.hidden) return;
      event.preventDefault();
      this.hide();
    }, { capture: true });
  }

  /**
   * @param {HTMLElement} node
   * @param {() => Leaf[]} content
   */
  attach(node, content) {
    const show = () => this.#show(node, content());
    node.addEventListener("pointerenter", (event) => event.pointerType !== "touch" && show());
    node.addEventListener("pointerleave", () => this.#hideLater());
    node.addEventListener("focus", () => node.matches(":focus-visible") && show());
    node.addEventListener("blur", () => this.#hideLater());
    node.addEventListener("click", () => this.hide());
  }

  hide() {
    clearTimeout(this.#timer);
    this.#card.hidden = true;
    this.#owner?.removeAttribute("aria-describedby");
    this.#owner = null;
  }

  /** Put the card beside its owner again, which has moved. */
  follow() {
    if (this.#owner) this.#place(this.#card, this.#owner);
  }

  #hideLater() {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.hide(), LEAVING_MS);
  }

  /**
   * @param {HTMLElement} node
   * @param {Leaf[]} content
   */
  #show(node, content) {
    this.hide();
    fill(this.#card, content);
    this.#card.hidden = false;
    node.setAttribute("aria-describedby", this.#card.id);
    this.#owner = node;
    this.follow();
  }
}
