// @ts-check
/* A passage of a book outside of the reader: what is a table, code or a list in the book is one here as well. */

import { SectionText } from "./sectiontext.js";

/** @import { Element, SectionBody } from "./api.js" */
/** @import { Span } from "../shared/text.js" */

const STRUCTURE = new Set(["table", "code", "list"]);
/** What is shown around a few words of it: the row, the item or the code. */
const WHOLE = new Set(["row", "item", "code"]);

/**
 * Draw the characters of a section from `start` to `end`; null where its markup has no table, code or list there.
 * With `around`, the rows, items or code that hold them are drawn too, and the characters are marked.
 * @param {SectionBody} section
 * @param {number} start
 * @param {number} end
 * @param {string} book
 */
export function drawPassage(section, start, end, book, { around = false } = {}) {
  const markup = section.markup || [];
  if (!markup.some((element) => STRUCTURE.has(element.kind) && element.start < end && element.end > start)) return null;
  let [from, to] = [start, end];
  if (around)
    for (const element of markup)
      if (WHOLE.has(element.kind) && element.start < end && element.end > start)
        [from, to] = [Math.min(from, element.start), Math.max(to, element.end)];
  const part = { ...section, text: [...section.text].slice(from, to).join(""), blocks: [], pages: [],
    markup: markup.map((element, at) => (element.kind === "list" ? countOn(markup, at, from) : element))
      .filter((element) => element.start < to && element.end > from)
      .map((element) => ({ ...element, start: Math.max(from, element.start) - from, end: Math.min(to, element.end) - from })) };
  /** @type {Span | null} */
  const marked = around ? [start - from, end - from] : null;
  const { root } = new SectionText(part, marked, book);
  if (around) makeStill(root);
  return root;
}

/**
 * Let a numbered list go on counting after the items that stand before `from` and are not drawn.
 * @param {Element[]} markup
 * @param {number} at  where the list is in the markup
 * @param {number} from
 * @returns {Element}
 */
function countOn(markup, at, from) {
  const list = markup[at];
  if (!list.attributes?.ordered) return list;
  let start = Number(list.attributes.start ?? 1);
  for (const element of markup.slice(at + 1)) {
    if (element.depth <= list.depth) break;
    if (element.kind === "item" && element.depth === list.depth + 1 && element.end <= from) start += 1;
  }
  return { ...list, attributes: { ...list.attributes, start } };
}

/**
 * Leave nothing in a passage that could be pressed or focused, for a card that goes when it is left.
 * @param {HTMLElement} root
 */
function makeStill(root) {
  for (const mark of root.querySelectorAll("mark.cited")) mark.className = "preview-words";
  for (const button of root.querySelectorAll("button")) button.remove();
  for (const node of root.querySelectorAll("[tabindex]"))
    for (const name of ["tabindex", "role", "aria-label"]) node.removeAttribute(name);
  for (const link of root.querySelectorAll("a")) link.removeAttribute("href");
}
