// @ts-check
/* The contents of a book as a tree: one stop for the Tab key, arrows to walk, Enter to open. */

import { el, fill } from "../shared/dom.js";
import { BACK, S } from "./strings.js";

/** @import { Span } from "../shared/text.js" */
/** @import { Book, Section } from "./api.js" */
/** @typedef {{section: Section, level: number, children: TreeNode[]}} TreeNode */

/**
 * @param {string} book
 * @param {string} section
 * @param {Span | null} span
 */
export function sectionAddress(book, section, span = null) {
  const marked = span ? `?start=${span[0]}&end=${span[1]}` : "";
  return `#/books/${encodeURIComponent(book)}/sections/${encodeURIComponent(section)}${marked}`;
}

/**
 * Nest sections in reading order by their levels.
 * @param {Section[]} sections
 * @returns {TreeNode[]}
 */
export function nestSections(sections) {
  /** @type {{level: number, children: TreeNode[]}} */
  const root = { children: [], level: 0 };
  const open = [root];
  for (const section of sections) {
    while (open.length > 1 && open[open.length - 1].level >= section.level) open.pop();
    const node = { section, level: section.level, children: [] };
    open[open.length - 1].children.push(node);
    open.push(node);
  }
  return root.children;
}

export class Contents {
  #root;
  /** @type {Map<string, HTMLElement>} */
  #items = new Map();
  #tree = el("ul");

  /** @param {HTMLElement} root */
  constructor(root) {
    this.#root = root;
  }

  /**
   * @param {Book} book
   * @param {Section[]} sections
   * @param {import("../shared/dom.js").Child} more
   */
  show(book, sections, more = null) {
    this.#items.clear();
    this.#tree = el("ul", { class: "tree", role: "tree", "aria-label": S.contents, on: { keydown: (event) => this.#pressKey(event) } },
      nestSections(sections).map((node) => this.#drawItem(book, node)));
    fill(this.#root,
      el("a", { class: "to-books", href: "#/" }, `${BACK} `, S.toBooks),
      el("p", { class: "side-title", dir: "auto" }, book.title),
      more,
      this.#tree);
    this.#tree.querySelector("[role=treeitem]")?.setAttribute("tabindex", "0");
  }

  clear() {
    this.#items.clear();
    fill(this.#root);
  }

  /**
   * Show where the reader is: its branch is opened, the others are left as they are.
   * @param {string} id
   */
  markCurrent(id) {
    for (const item of this.#items.values()) item.removeAttribute("aria-current");
    const item = this.#items.get(id);
    if (!item) return;
    item.setAttribute("aria-current", "true");
    for (let up = findParent(item); up; up = findParent(up)) this.#fold(up, false);
    if (!this.#root.contains(document.activeElement)) this.#moveTabStop(item);
    const line = (item.firstElementChild || item).getBoundingClientRect();
    const pane = this.#root.getBoundingClientRect();
    if (line.top < pane.top || line.bottom > pane.bottom) this.#root.scrollTop += line.top - pane.top - pane.height / 3;
  }

  /**
   * @param {Book} book
   * @param {TreeNode} node
   * @returns {HTMLElement}
   */
  #drawItem(book, { section, level, children }) {
    const fold = children.length
      ? el("span", { class: "fold", "aria-hidden": "true", on: { click: (event) => { event.stopPropagation(); this.#fold(item); } } })
      : null;
    const line = el("span", { class: "line" }, fold,
      el("span", { class: "line-title", dir: "auto" }, section.title),
      section.page_start ? el("span", { class: "line-page" }, section.page_label ?? section.page_start) : null);
    const item = el("li", {
      role: "treeitem", tabindex: "-1", "data-section": section.id, "aria-label": section.title,
      ...(children.length ? { "aria-expanded": level < 2 && children.length < 12 ? "true" : "false" } : {}),
    }, line, children.length ? el("ul", { role: "group" }, children.map((child) => this.#drawItem(book, child))) : null);
    item.addEventListener("click", (event) => {
      event.stopPropagation();
      this.#moveTabStop(item);
      location.hash = sectionAddress(book.id, section.id);
    });
    this.#items.set(section.id, item);
    return item;
  }

  /** @param {HTMLElement} item */
  #fold(item, close = item.getAttribute("aria-expanded") === "true") {
    if (item.hasAttribute("aria-expanded")) item.setAttribute("aria-expanded", close ? "false" : "true");
  }

  /** @param {HTMLElement} item */
  #moveTabStop(item) {
    for (const other of this.#tree.querySelectorAll("[tabindex='0']")) other.setAttribute("tabindex", "-1");
    item.setAttribute("tabindex", "0");
  }

  /** @param {KeyboardEvent} event */
  #pressKey(event) {
    const item = event.target instanceof Element ? event.target.closest("[role=treeitem]") : null;
    if (!(item instanceof HTMLElement)) return;
    if (event.key === "Enter" || event.key === " ") item.click();
    else {
      const next = this.#findNext(item, event.key);
      if (next === undefined) return;
      if (next) {
        this.#moveTabStop(next);
        next.focus();
      }
    }
    event.preventDefault();
    event.stopPropagation();
  }

  /**
   * Find where a key leads: null for nowhere, undefined for a key that means nothing here. Arrows also fold.
   * @param {HTMLElement} item
   * @param {string} key
   * @returns {HTMLElement | null | undefined}
   */
  #findNext(item, key) {
    const visible = [...this.#items.values()].filter((other) => !other.parentElement?.closest("[aria-expanded=false]"));
    const at = visible.indexOf(item);
    const expanded = item.getAttribute("aria-expanded");
    switch (key) {
      case "ArrowDown": return visible[at + 1] || null;
      case "ArrowUp": return visible[at - 1] || null;
      case "Home": return visible[0];
      case "End": return visible[visible.length - 1];
      case "ArrowRight":
        if (expanded === "false") this.#fold(item, false);
        return expanded === "true" ? visible[at + 1] || null : null;
      case "ArrowLeft":
        if (expanded === "true") this.#fold(item, true);
        return expanded === "true" ? null : findParent(item);
      default: return undefined;
    }
  }
}

/**
 * @param {HTMLElement} item
 * @returns {HTMLElement | null}
 */
function findParent(item) {
  return item.parentElement?.closest("li[role=treeitem]") || null;
}
