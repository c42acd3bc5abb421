/* The contents of a book as a tree: one stop for the Tab key, arrows to walk, Enter to open. */

import { el, fill } from "../shared/dom.js";
import { S } from "./strings.js";

export const sectionAddress = (book, section, span) =>
  `#/books/${encodeURIComponent(book)}/sections/${encodeURIComponent(section)}${span ? `?start=${span[0]}&end=${span[1]}` : ""}`;

/* Sections in reading order as nested nodes, by their levels. */
export function nested(sections) {
  const root = { children: [], level: 0 };
  const open = [root];
  for (const section of sections) {
    while (open.length > 1 && open[open.length - 1].level >= section.level) open.pop();
    const node = { section, level: section.level, children: [], parent: open[open.length - 1] };
    node.parent.children.push(node);
    open.push(node);
  }
  return root.children;
}

export class Contents {
  #items = new Map();
  #tree = null;

  constructor(root) {
    this.root = root;
  }

  show(book, sections) {
    this.#items.clear();
    this.#tree = el("ul", { class: "tree", role: "tree", "aria-label": S.contents, on: { keydown: (e) => this.#key(e) } },
      nested(sections).map((node) => this.#item(book, node)));
    fill(this.root,
      el("a", { class: "to-shelf", href: "#/" }, "← ", S.toShelf),
      el("p", { class: "side-title" }, book.title),
      this.#tree);
    const first = this.#tree.querySelector("[role=treeitem]");
    if (first) first.setAttribute("tabindex", "0");
  }

  clear() {
    this.#items.clear();
    fill(this.root);
  }

  /* Shows where the reader is: the branch is opened, the others are left as they are. */
  current(id) {
    for (const item of this.#items.values()) item.removeAttribute("aria-current");
    const item = this.#items.get(id);
    if (!item) return;
    item.setAttribute("aria-current", "true");
    for (let up = item.parentElement.closest("[role=treeitem]"); up; up = up.parentElement.closest("[role=treeitem]"))
      this.#fold(up, false);
    if (!this.root.contains(document.activeElement)) this.#rove(item, false);
    const line = item.firstElementChild.getBoundingClientRect();
    const pane = this.root.getBoundingClientRect();
    if (line.top < pane.top || line.bottom > pane.bottom) this.root.scrollTop += line.top - pane.top - pane.height / 3;
  }

  #item(book, node) {
    const { section, children } = node;
    const fold = children.length
      ? el("span", { class: "fold", "aria-hidden": "true", on: { click: (e) => { e.stopPropagation(); this.#fold(item); } } })
      : null;
    const line = el("span", { class: "line" }, fold,
      el("span", { class: "line-title" }, section.title),
      section.page_start ? el("span", { class: "line-page" }, section.page_start) : null);
    const item = el("li", {
      role: "treeitem", tabindex: "-1", "data-section": section.id, "aria-label": section.title,
      ...(children.length ? { "aria-expanded": node.level < 2 && children.length < 12 ? "true" : "false" } : {}),
    }, line, children.length ? el("ul", { role: "group" }, children.map((child) => this.#item(book, child))) : null);
    item.addEventListener("click", (event) => {
      event.stopPropagation();
      this.#rove(item, false);
      location.hash = sectionAddress(book.id, section.id);
    });
    this.#items.set(section.id, item);
    return item;
  }

  #fold(item, close = item.getAttribute("aria-expanded") === "true") {
    if (item.hasAttribute("aria-expanded")) item.setAttribute("aria-expanded", close ? "false" : "true");
  }

  #rove(item, focus = true) {
    for (const other of this.#tree.querySelectorAll("[tabindex='0']")) other.setAttribute("tabindex", "-1");
    item.setAttribute("tabindex", "0");
    if (focus) item.focus();
  }

  #visible() {
    return [...this.#items.values()].filter((item) => !item.parentElement.closest("[aria-expanded=false]"));
  }

  #key(event) {
    const item = event.target.closest("[role=treeitem]");
    const seen = this.#visible();
    const at = seen.indexOf(item);
    const expanded = item.getAttribute("aria-expanded");
    const up = item.parentElement.closest("[role=treeitem]");
    const moves = {
      ArrowDown: () => seen[at + 1], ArrowUp: () => seen[at - 1], Home: () => seen[0], End: () => seen[seen.length - 1],
      ArrowRight: () => (expanded === "false" ? this.#fold(item, false) : expanded ? seen[at + 1] : null),
      ArrowLeft: () => (expanded === "true" ? this.#fold(item, true) : up),
    };
    if (event.key === "Enter" || event.key === " ") item.click();
    else if (moves[event.key]) {
      const next = moves[event.key]();
      if (next) this.#rove(next);
    } else return;
    event.preventDefault();
    event.stopPropagation();
  }
}
