// @ts-check
/* An answer's text as elements: paragraphs, lists, code and bold, and its footnotes. Nothing else is known: addresses,
   images and HTML in a text are shown as the letters they are. */

import { el } from "../shared/dom.js";

/** @typedef {(number: number) => Node | null} Footnote  draws a footnote; null for a number that cites nothing */

const INLINE = /\*\*(\S(?:[^*\n]*\S)?)\*\*|`([^`\n]+)`|[ \t]?\[(\d{1,3}(?:,\s*\d{1,3})*)\]/g;
/* The items of a list, quoted one after the other. */
const QUOTED_ITEM = /(\[\d{1,3}\][ \t]+)[-*•][ \t]+(?=\S)/g;
const ITEM = /^\s{0,3}(?:[-*•]|(\d{1,3})[.)])\s+(.*)$/;

/**
 * @param {string} text
 * @param {Footnote} footnote
 */
export function drawProse(text, footnote) {
  const made = [];
  const lines = String(text).replace(QUOTED_ITEM, "$1").split("\n");
  while (lines.length) {
    if (!lines[0].trim()) lines.shift();
    else if (lines[0].startsWith("```")) made.push(drawCode(lines));
    else if (ITEM.test(lines[0])) made.push(drawList(lines, footnote));
    else made.push(drawParagraph(lines, footnote));
  }
  return made;
}

/* These take the lines that they draw off the front. */

/** @param {string[]} lines */
function drawCode(lines) {
  lines.shift();
  const end = lines.findIndex((line) => line.startsWith("```"));
  const held = lines.splice(0, end < 0 ? lines.length : end);
  lines.shift();
  return el("pre", { tabindex: 0 }, el("code", {}, held.join("\n")));
}

/**
 * @param {string[]} lines
 * @param {Footnote} footnote
 */
function drawList(lines, footnote) {
  const items = [];
  let found = lines[0].match(ITEM);
  const isNumbered = Boolean(found?.[1]);
  for (; found; found = lines.length ? lines[0].match(ITEM) : null) {
    lines.shift();
    items.push(el("li", {}, drawInline(found[2], footnote)));
  }
  return el(isNumbered ? "ol" : "ul", {}, items);
}

/**
 * @param {string[]} lines
 * @param {Footnote} footnote
 */
function drawParagraph(lines, footnote) {
  const held = [];
  while (lines.length && lines[0].trim() && !lines[0].startsWith("```") && !(held.length && ITEM.test(lines[0])))
    held.push(lines.shift());
  return el("p", {}, drawInline(held.join("\n"), footnote));
}

/**
 * @param {string} text
 * @param {Footnote} footnote
 */
export function drawInline(text, footnote) {
  const made = [];
  let from = 0;
  for (const found of text.matchAll(INLINE)) {
    const piece = drawPiece(found, footnote);
    if (!piece) continue;
    made.push(text.slice(from, found.index), piece);
    from = found.index + found[0].length;
  }
  made.push(text.slice(from));
  return made.filter((part) => part !== "");
}

/**
 * @param {RegExpMatchArray} found
 * @param {Footnote} footnote
 */
function drawPiece([, bold, mono, numbers], footnote) {
  if (bold) return el("strong", {}, bold);
  if (mono) return el("code", {}, mono);
  const notes = numbers.split(",").map((number) => footnote(Number(number)));
  return notes.every(Boolean) ? notes : null;
}
