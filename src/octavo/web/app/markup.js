// @ts-check
/* A section's markup, drawn: paragraphs, lists, tables, code, pictures, formulas, links and notes.

   Nothing of a book becomes HTML: every element is made here, by its kind, with attributes that this file sets. The
   text goes through the two functions that the section's text hands in, `put` for what is shown and `putHidden` for
   what is not, so every character stays at its place and the cited words are marked in whatever they stand. Signs
   that are not in the text (a note's number, a button's name) are drawn by the style sheet or as icons. */

import { drawIcon, el } from "../shared/dom.js";
import { api } from "./api.js";
import { sectionAddress } from "./contents.js";
import { drawFormula } from "./formula.js";
import { findTokens } from "./highlight.js";
import { S } from "./strings.js";

/** @import { Element as Marked } from "./api.js" */
/** @import { Token } from "./highlight.js" */
/** @typedef {{kind: string, start: number, end: number, attributes: Record<string, string | number>, children: Node[]}} Node */
/** @typedef {(parent: HTMLElement, from: number, to: number) => void} Put */
/** @typedef {{text: string, book: string, put: Put, putHidden: Put}} Drawing */

const COPY = "M9 9h11v11H9zM5 15H4V4h11v1";
const WORDS = /[\p{L}\p{N}]/u;
const INLINE = new Set(["emphasis", "strong", "inline_code", "superscript", "subscript", "deleted", "link",
  "note_reference", "span", "image", "formula", "ruby", "reading"]);
/** @type {Record<string, keyof HTMLElementTagNameMap>} */
const TAGS = { emphasis: "em", strong: "strong", inline_code: "code", superscript: "sup", subscript: "sub", deleted: "del", span: "span", ruby: "ruby" };
/** @type {Record<string, [keyof HTMLElementTagNameMap, string]>} */
const HOLDERS = { quotation: ["blockquote", ""], aside: ["div", "aside"], note: ["div", "note"], verse: ["div", "verse"],
  definition: ["div", "definition"], figure: ["figure", ""], item: ["li", ""] };
/** @type {Record<string, [keyof HTMLElementTagNameMap, string]>} */
const LEAVES = { paragraph: ["p", ""], heading: ["p", "inner-heading"], term: ["p", "term"], caption: ["p", "caption"] };

/**
 * Nest elements by their depth, with offsets in UTF-16 units.
 * @param {Marked[]} elements
 * @param {(point: number) => number} toUnits
 */
export function nest(elements, toUnits) {
  /** @type {Node[]} */
  const top = [];
  /** @type {Node[]} */
  const open = [];
  for (const { kind, start, end, depth, attributes = {} } of elements) {
    const node = { kind, start: toUnits(start), end: toUnits(end), attributes, children: [] };
    open.length = Math.min(open.length, depth);
    (open.length ? open[open.length - 1].children : top).push(node);
    open.push(node);
  }
  return top;
}

/**
 * Draw a whole text into `root`.
 * @param {HTMLElement} root
 * @param {Node[]} nodes
 * @param {Drawing} drawing
 */
export function drawMarkup(root, nodes, drawing) {
  drawBlocks(root, nodes, 0, drawing.text.length, drawing);
  for (const drawn of root.querySelectorAll(".formula, .picture"))
    if (drawn.querySelector(".unseen mark")) drawn.classList.add("cited");
}

/**
 * @param {HTMLElement} parent
 * @param {Node[]} nodes
 * @param {number} from
 * @param {number} to
 * @param {Drawing} drawing
 */
function drawBlocks(parent, nodes, from, to, drawing) {
  let at = from;
  for (const node of nodes) {
    drawGap(parent, at, node.start, drawing);
    drawBlock(parent, node, drawing);
    at = node.end;
  }
  drawGap(parent, at, to, drawing);
}

/**
 * Draw what stands between blocks: layout is hidden, words that no block holds are a paragraph.
 * @param {HTMLElement} parent
 * @param {number} from
 * @param {number} to
 * @param {Drawing} drawing
 */
function drawGap(parent, from, to, { text, put, putHidden }) {
  if (to <= from) return;
  const holder = { UL: "LI", OL: "LI", TABLE: "TD, TH, CAPTION", TR: "TD, TH" }[parent.tagName];
  const inner = holder ? [...parent.querySelectorAll(holder)].at(-1) : parent;
  if (!holder && !["LI", "FIGURE"].includes(parent.tagName) && !parent.classList.contains("note") && WORDS.test(text.slice(from, to))) {
    const paragraph = el("p", { dir: "auto" });
    put(paragraph, from, to);
    parent.append(paragraph);
  } else {
    putHidden(/** @type {HTMLElement} */ (inner || parent), from, to);
  }
}

/**
 * @param {HTMLElement} parent
 * @param {Node} node
 * @param {Drawing} drawing
 */
function drawBlock(parent, node, drawing) {
  const { kind, start, end, children } = node;
  if (kind === "list") drawList(parent, node, drawing);
  else if (kind === "table") drawTable(parent, node, drawing);
  else if (kind === "code") drawCode(parent, node, drawing);
  else if (kind === "break") parent.append(el("hr"));
  else if (HOLDERS[kind]) {
    const [tag, name] = kind === "item" && !["UL", "OL"].includes(parent.tagName) ? ["div", ""] : HOLDERS[kind];
    const made = el(/** @type {"div"} */ (tag), { class: name || false, ...writing(node), ...(kind === "note" ? { "data-label": node.attributes.label, role: "note" } : {}) });
    parent.append(made);
    drawBlocks(made, children, start, end, drawing);
  } else if (LEAVES[kind]) {
    const [tag, name] = kind === "caption" && parent.tagName === "FIGURE" ? ["figcaption", ""] : LEAVES[kind];
    const made = el(/** @type {"p"} */ (tag), { class: name || false, dir: "auto", ...writing(node) });
    parent.append(made);
    drawLine(made, children, start, end, drawing);
  } else {
    /* An inline element, or a kind that this page does not know, where a block is expected. */
    const made = el(parent.tagName === "UL" || parent.tagName === "OL" ? "li" : "p", { class: "alone", dir: "auto" });
    parent.append(made);
    if (INLINE.has(kind)) drawInline(made, node, drawing);
    else drawLine(made, children, start, end, drawing);
  }
}

/**
 * Return the language and direction that an element states.
 * @param {Node} node
 */
function writing({ attributes: { lang, dir } }) {
  return { ...(lang ? { lang } : {}), ...(["ltr", "rtl", "auto"].includes(String(dir)) ? { dir } : {}) };
}

/**
 * @param {HTMLElement} parent
 * @param {Node} node
 * @param {Drawing} drawing
 */
function drawList(parent, node, drawing) {
  const { ordered, start, style } = node.attributes;
  const type = ["a", "A", "i", "I"].includes(String(style)) ? { type: style } : {};
  const numbered = ordered ? { ...(start === undefined ? {} : { start }), ...type } : {};
  const list = el(ordered ? "ol" : "ul", { class: "marked", ...writing(node), ...numbered });
  parent.append(list);
  drawBlocks(list, node.children, node.start, node.end, drawing);
}

/**
 * @param {HTMLElement} parent
 * @param {Node} node
 * @param {Drawing} drawing
 */
function drawTable(parent, node, drawing) {
  const table = el("table", writing(node));
  parent.append(el("div", { class: "wide", tabindex: "0", role: "group", "aria-label": S.table }, table));
  let at = node.start;
  for (const row of node.children) {
    drawGap(table, at, row.start, drawing);
    at = row.end;
    if (row.kind !== "row") {
      const caption = el("caption", { dir: "auto" });
      table.append(caption);
      drawLine(caption, row.children, row.start, row.end, drawing);
      continue;
    }
    drawRow(table, row, drawing);
  }
  drawGap(table, at, node.end, drawing);
}

/**
 * @param {HTMLElement} table
 * @param {Node} row
 * @param {Drawing} drawing
 */
function drawRow(table, row, drawing) {
  const made = el("tr");
  table.append(made);
  let at = row.start;
  for (const cell of row.children) {
    const { header, columns, rows } = cell.attributes;
    const drawn = el(header ? "th" : "td", { dir: "auto", ...writing(cell),
      ...(columns ? { colspan: columns } : {}), ...(rows ? { rowspan: rows } : {}) });
    made.append(drawn);
    /* What stands before a cell belongs to it, so that no character stands outside the cells. */
    drawing.putHidden(drawn, at, cell.start);
    if (cell.children.every(({ kind }) => INLINE.has(kind))) drawLine(drawn, cell.children, cell.start, cell.end, drawing);
    else drawBlocks(drawn, cell.children, cell.start, cell.end, drawing);
    at = cell.end;
  }
  drawGap(made, at, row.end, drawing);
}

/**
 * @param {HTMLElement} parent
 * @param {Node} node
 * @param {Drawing} drawing
 */
function drawCode(parent, node, drawing) {
  const { language } = node.attributes;
  const pre = el("pre", { class: "code", tabindex: "0", role: "group", "aria-label": S.markup.code(String(language || "")), dir: "ltr" });
  const copy = el("button", { type: "button", class: "copy", title: S.markup.copy, "aria-label": S.markup.copy, on: {
    click: async () => {
      await navigator.clipboard?.writeText(drawing.text.slice(node.start, node.end));
      copy.classList.add("done");
      setTimeout(() => copy.classList.remove("done"), 1500);
    },
  } }, drawIcon(COPY));
  parent.append(el("div", { class: "listing", "data-language": language || false }, pre, copy));
  const tokens = findTokens(drawing.text.slice(node.start, node.end), String(language || ""))
    .map((token) => ({ ...token, start: token.start + node.start, end: token.end + node.start }));
  let at = node.start;
  for (const link of node.children) {
    putCode(pre, at, link.start, tokens, drawing);
    const made = makeLink(link, drawing);
    pre.append(made);
    putCode(made, link.start, link.end, tokens, drawing);
    at = link.end;
  }
  putCode(pre, at, node.end, tokens, drawing);
}

/**
 * Put code with its colours; a token that goes on outside is coloured as far as it is here.
 * @param {HTMLElement} parent
 * @param {number} from
 * @param {number} to
 * @param {Token[]} tokens
 * @param {Drawing} drawing
 */
function putCode(parent, from, to, tokens, { put }) {
  let at = from;
  for (const { start, end, name } of tokens.filter((token) => token.end > from && token.start < to)) {
    const [first, last] = [Math.max(start, from), Math.min(end, to)];
    if (first > at) put(parent, at, first);
    const made = el("span", { class: `code-${name}` });
    parent.append(made);
    put(made, first, last);
    at = last;
  }
  if (to > at) put(parent, at, to);
}

/**
 * Draw words with the elements among them.
 * @param {HTMLElement} parent
 * @param {Node[]} nodes
 * @param {number} from
 * @param {number} to
 * @param {Drawing} drawing
 */
function drawLine(parent, nodes, from, to, drawing) {
  let at = from;
  for (const node of nodes) {
    if (node.start > at) drawing.put(parent, at, node.start);
    drawInline(parent, node, drawing);
    at = node.end;
  }
  if (to > at) drawing.put(parent, at, to);
}

/**
 * @param {HTMLElement} parent
 * @param {Node} node
 * @param {Drawing} drawing
 */
function drawInline(parent, node, drawing) {
  const { kind, start, end, children } = node;
  if (kind === "image") return drawImage(parent, node, drawing);
  if (kind === "formula") return drawFormulaOf(parent, node, drawing);
  if (kind === "break") return parent.append(el("br"));
  if (kind === "reading") return drawReading(parent, node, drawing);
  const made = kind === "link" || kind === "note_reference" ? makeLink(node, drawing) : el(TAGS[kind] || "span", writing(node));
  parent.append(made);
  /* A power is written with a sign in plain text: 10^9. */
  const sign = kind === "superscript" && drawing.text[start] === "^" ? 1 : 0;
  if (sign) drawing.putHidden(made, start, start + 1);
  drawLine(made, children, start + sign, end, drawing);
}

/**
 * Draw the reading of the words before it above them. Its brackets in the text are not shown there.
 * @param {HTMLElement} parent
 * @param {Node} node
 * @param {Drawing} drawing
 */
function drawReading(parent, node, drawing) {
  const { start, end, children } = node;
  const first = drawing.text[start] === "(" ? start + 1 : start;
  const last = end > first && drawing.text[end - 1] === ")" ? end - 1 : end;
  const made = el("rt", writing(node));
  const [before, after] = [el("rp"), el("rp")];
  parent.append(before, made, after);
  if (first > start) drawing.put(before, start, first);
  drawLine(made, children, first, last, drawing);
  if (end > last) drawing.put(after, last, end);
}

/**
 * @param {Node} node
 * @param {Drawing} drawing
 * @returns {HTMLElement}
 */
function makeLink(node, { book }) {
  const { url, section, offset } = node.attributes;
  if (typeof section === "string") {
    const href = `${sectionAddress(book, section)}${Number(offset) > 0 ? `?at=${Number(offset)}` : ""}`;
    if (node.kind === "link") return el("a", { href, ...writing(node) });
    const made = el("a", { href, class: "note-ref", role: "doc-noteref", on: {
      click: (event) => {
        event.preventDefault();
        /* The note is drawn like a section, which is drawn here: whoever shows the page opens it. */
        made.dispatchEvent(new CustomEvent("opennote", { bubbles: true, detail: { book, section, offset: Number(offset) || 0 } }));
      },
    } });
    return made;
  }
  if (typeof url === "string") return el("a", { href: url, target: "_blank", rel: "noopener noreferrer nofollow", ...writing(node) });
  return el("span", writing(node));
}

/**
 * Draw a picture from the bytes that the library has of it. Its words in the text are its description.
 * @param {HTMLElement} parent
 * @param {Node} node
 * @param {Drawing} drawing
 */
function drawImage(parent, node, { text, book, put, putHidden }) {
  const { image, alt } = node.attributes;
  const words = String(alt || text.slice(node.start, node.end)).replace(/\s+/g, " ").trim();
  if (typeof image !== "string") {
    const missing = el("span", { class: "no-picture", "data-alt": node.end > node.start ? false : words || S.markup.picture });
    parent.append(missing);
    return put(missing, node.start, node.end);
  }
  const picture = el("img", { alt: words, class: "loading-picture" });
  const holder = el("span", { class: "picture" }, picture);
  parent.append(holder);
  putHidden(holder, node.start, node.end);
  return void showPicture(picture, book, image);
}

/**
 * @param {HTMLImageElement} picture
 * @param {string} book
 * @param {string} image
 */
async function showPicture(picture, book, image) {
  const data = await api.getImage(book, image);
  picture.classList.remove("loading-picture");
  /* As a picture, a drawing in SVG runs nothing and loads nothing. */
  if (data && /^data:image\/(png|jpeg|gif|webp|svg\+xml);base64,/.test(data)) picture.src = data;
  else picture.classList.add("lost");
}

/**
 * @param {HTMLElement} parent
 * @param {Node} node
 * @param {Drawing} drawing
 */
function drawFormulaOf(parent, node, drawing) {
  const { display } = node.attributes;
  const drawn = drawFormula(node.attributes, Boolean(display));
  const holder = el("span", { class: `formula${display ? " display" : ""}${drawn ? "" : " written"}`, dir: "ltr" });
  parent.append(holder);
  if (drawn) {
    holder.append(drawn);
    drawing.putHidden(holder, node.start, node.end);
  } else {
    drawLine(holder, node.children, node.start, node.end, drawing);
  }
}
