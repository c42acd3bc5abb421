/* An answer's text as elements: paragraphs, lists, code and bold, and its footnotes. Nothing else is known: addresses,
   images and HTML in a text are shown as the letters they are. */

import { el } from "../shared/dom.js";

const INLINE = /\*\*(\S(?:[^*\n]*\S)?)\*\*|`([^`\n]+)`|[ \t]?\[(\d{1,3}(?:,\s*\d{1,3})*)\]/g;
const QUOTED_ITEM = /(\[\d{1,3}\][ \t]+)[-*•][ \t]+(?=\S)/g; /* a list's items, quoted one after the other */
const ITEM = /^\s{0,3}(?:[-*•]|(\d{1,3})[.)])\s+(.*)$/;

/* `footnote(number)` gives the element for a mark, or null for a number that cites nothing. */
export function prose(text, footnote) {
  const made = [];
  const lines = String(text).replace(QUOTED_ITEM, "$1").split("\n");
  while (lines.length) {
    if (!lines[0].trim()) lines.shift();
    else if (lines[0].startsWith("```")) made.push(code(lines));
    else if (ITEM.test(lines[0])) made.push(list(lines, footnote));
    else made.push(paragraph(lines, footnote));
  }
  return made;
}

function code(lines) {
  lines.shift();
  const end = lines.findIndex((line) => line.startsWith("```"));
  const held = lines.splice(0, end < 0 ? lines.length : end);
  lines.shift();
  return el("pre", { tabindex: 0 }, el("code", {}, held.join("\n")));
}

function list(lines, footnote) {
  const numbered = Boolean(lines[0].match(ITEM)[1]);
  const items = [];
  for (let found = lines[0].match(ITEM); found; found = lines.length && lines[0].match(ITEM)) {
    lines.shift();
    items.push(el("li", {}, inline(found[2], footnote)));
  }
  return el(numbered ? "ol" : "ul", {}, items);
}

function paragraph(lines, footnote) {
  const held = [];
  while (lines.length && lines[0].trim() && !lines[0].startsWith("```") && !(held.length && ITEM.test(lines[0])))
    held.push(lines.shift());
  return el("p", {}, inline(held.join("\n"), footnote));
}

export function inline(text, footnote) {
  const made = [];
  let from = 0;
  for (const found of text.matchAll(INLINE)) {
    const part = piece(found, footnote);
    if (!part) continue;
    made.push(text.slice(from, found.index), part);
    from = found.index + found[0].length;
  }
  made.push(text.slice(from));
  return made.filter((part) => part !== "");
}

function piece([, bold, mono, numbers], footnote) {
  if (bold) return el("strong", {}, bold);
  if (mono) return el("code", {}, mono);
  const notes = numbers.split(",").map((number) => footnote(Number(number)));
  return notes.every(Boolean) ? notes : null;
}
