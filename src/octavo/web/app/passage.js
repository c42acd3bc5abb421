// @ts-check
/* A passage of a book outside of the reader: what is a table, code, a list or a formula in the book is one here too, and
   around a sentence stands its own paragraph, as the book's markup has it. */

import { SectionText } from "./sectiontext.js";

/** @import { Element, SectionBody } from "./api.js" */
/** @import { Span } from "../shared/text.js" */

const STRUCTURE = new Set(["table", "code", "list", "formula"]);
/** What is shown whole around a few words of it. */
const WHOLE = new Set(["row", "item", "code"]);
/** What is shown around a few words elsewhere, as far as `AROUND` on each side. */
const PROSE = new Set(["paragraph", "heading", "term", "caption", "verse"]);
const AROUND = 260;

/**
 * Draw the characters of a section from `start` to `end`; null where its markup has no table, code, list or formula there.
 * @param {SectionBody} section
 * @param {number} start
 * @param {number} end
 * @param {string} book
 */
export function drawPassage(section, start, end, book) {
  const isStructured = listTouched(section, STRUCTURE, start, end).length > 0;
  return isStructured ? drawPart(section, [start, end], null, book) : null;
}

/**
 * Draw rows of one table as a table without the rows between them; null where these are not rows of one table.
 * @param {SectionBody} section
 * @param {readonly Span[]} rows
 * @param {string} book
 */
export function drawRows(section, rows, book) {
  const [start, end] = [Math.min(...rows.map(([first]) => first)), Math.max(...rows.map(([, last]) => last))];
  const touched = listTouched(section, new Set(["row"]), start, end);
  const isRow = (/** @type {{start: number, end: number}} */ row) => rows.some(([first, last]) => row.start === first && row.end === last);
  if (touched.filter(isRow).length < rows.length || listTouched(section, new Set(["table"]), start, end).length !== 1) return null;
  const root = drawPart(section, [start, end], null, book);
  const drawn = root.querySelectorAll("tr");
  if (drawn.length !== touched.length) return null;
  touched.forEach((row, at) => { if (!isRow(row)) drawn[at].remove(); });
  return root;
}

/**
 * Draw the characters of a section from `start` to `end`, marked, with the row, item, code or paragraph around them.
 * @param {SectionBody} section
 * @param {number} start
 * @param {number} end
 * @param {string} book
 */
export function drawAround(section, start, end, book) {
  const text = [...section.text];
  const whole = listTouched(section, WHOLE, start, end);
  const [first, last] = join(whole.length ? whole : findParagraphs(section, text, start, end), start, end);
  const from = whole.length || start - first <= AROUND ? first : findWord(text, start - AROUND, start);
  const to = whole.length || last - end <= AROUND ? last : findWord(text, end + AROUND, end);
  const root = drawPart(section, [from, to], [start - from, end - from], book);
  root.classList.toggle("cut-before", from > first);
  root.classList.toggle("cut-after", to < last);
  makeStill(root);
  return root;
}

/**
 * @param {SectionBody} section
 * @param {Set<string>} kinds
 * @param {number} start
 * @param {number} end
 */
function listTouched(section, kinds, start, end) {
  return (section.markup || []).filter((element) => kinds.has(element.kind) && element.start < end && element.end > start);
}

/**
 * Find the paragraphs of a stretch. A book from before markup was kept has them between blank lines, as it is drawn.
 * @param {SectionBody} section
 * @param {string[]} text
 * @param {number} start
 * @param {number} end
 * @returns {{start: number, end: number}[]}
 */
function findParagraphs(section, text, start, end) {
  if (section.markup?.length) return listTouched(section, PROSE, start, end);
  const isBlank = (/** @type {number} */ at) => text[at] === "\n" && text[at + 1] === "\n";
  let [first, last] = [start, end];
  while (first > 0 && !isBlank(first - 2)) first -= 1;
  while (last < text.length && !isBlank(last)) last += 1;
  return [{ start: first, end: last }];
}

/**
 * @param {{start: number, end: number}[]} parts
 * @param {number} start
 * @param {number} end
 * @returns {Span}
 */
function join(parts, start, end) {
  return [Math.min(start, ...parts.map((part) => part.start)), Math.max(end, ...parts.map((part) => part.end))];
}

/**
 * Find the nearest place between `at` and `to` where no word is cut.
 * @param {string[]} text
 * @param {number} at
 * @param {number} to
 */
function findWord(text, at, to) {
  const step = Math.sign(to - at);
  for (let place = at; place !== to; place += step)
    if (!text[place - 1]?.trim() || !text[place]?.trim()) return place;
  return at;
}

/**
 * @param {SectionBody} section
 * @param {Span} span
 * @param {Span | null} marked
 * @param {string} book
 */
function drawPart(section, [from, to], marked, book) {
  const markup = section.markup || [];
  const part = { ...section, text: [...section.text].slice(from, to).join(""), blocks: [], pages: [],
    markup: markup.map((element, at) => (element.kind === "list" ? countOn(markup, at, from) : element))
      .filter((element) => element.start < to && element.end > from)
      .map((element) => ({ ...element, start: Math.max(from, element.start) - from, end: Math.min(to, element.end) - from })) };
  return new SectionText(part, marked, book).root;
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
