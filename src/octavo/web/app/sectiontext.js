// @ts-check
/* A section's text as elements that keep every character at its place.

   What is drawn is the whole canonical text: the blank lines between paragraphs and the bars between the cells of a
   table are there too, only hidden. So an offset always finds its character, a marked passage reads exactly as it does
   in the book, and what a reader selects can be given as offsets again. A section with markup is drawn by it; a book
   that was added before markup was kept is drawn by how its text looks. */

import { el, settleDirection } from "../shared/dom.js";
import { measure } from "../shared/text.js";
import { drawMarkup, nest } from "./markup.js";
import { S } from "./strings.js";

/** @import { Span } from "../shared/text.js" */
/** @import { PageStart, SectionBody } from "./api.js" */
/** @typedef {PageStart & {at: number, drawn?: HTMLElement}} DrawnPage */

const ITEM = /^\s*(?:[-*•–+]|\(?(?:\d+|[a-z])[.)])\s/;

export class SectionText {
  #measure;
  /** @type {{node: Text, at: number}[]} */
  #places = [];
  /** @type {Span | null} */
  #marked;
  root = el("div", { class: "text" });

  /**
   * @param {SectionBody} section
   * @param {Span | null} marked
   * @param {string} book
   */
  constructor(section, marked = null, book = "") {
    this.text = section.text || "";
    this.#measure = measure(this.text);
    /** @type {DrawnPage[]} */
    this.pages = (section.pages || []).map((page) => ({ ...page, at: this.#measure.toUnits(page.offset) }));
    this.#marked = marked && [this.#measure.toUnits(marked[0]), this.#measure.toUnits(marked[1])];
    if (section.markup?.length) {
      const put = this.#put.bind(this);
      const putHidden = this.#putHidden.bind(this);
      drawMarkup(this.root, nest(section.markup, this.#measure.toUnits), { text: this.text, book, put, putHidden });
    } else {
      this.#draw(section.blocks || []);
    }
    for (const drawn of this.root.querySelectorAll("[dir=auto]")) settleDirection(drawn);
  }

  /** @param {{start: number, end: number}[]} blocks */
  #draw(blocks) {
    let at = 0;
    for (const block of blocks) {
      const [start, end] = [this.#measure.toUnits(block.start), this.#measure.toUnits(block.end)];
      this.#drawProse(at, start);
      this.#drawBlock(start, end);
      at = end;
    }
    this.#drawProse(at, this.text.length);
  }

  /**
   * @param {number} from
   * @param {number} to
   */
  #drawProse(from, to) {
    for (let at = from; at < to;) {
      const gap = /\n{2,}|\n+$/.exec(this.text.slice(at, to));
      const [end, next] = gap ? [at + gap.index, at + gap.index + gap[0].length] : [to, to];
      const lines = this.text.slice(at, end).split("\n");
      if (lines.some((line) => line.trim())) {
        const isVerse = lines.length > 2 && !lines.every((line) => ITEM.test(line));
        const paragraph = el("p", { class: isVerse ? "lines" : "", dir: "auto" });
        this.#put(paragraph, at, end);
        this.#putHidden(paragraph, end, next);
        this.root.append(paragraph);
      } else {
        this.#putHidden(this.root, at, next);
      }
      at = next;
    }
  }

  /**
   * @param {number} from
   * @param {number} to
   */
  #drawBlock(from, to) {
    const lines = this.text.slice(from, to).split("\n");
    if (lines.length > 1 && lines.every((line) => line.includes(" | "))) this.#drawTable(from, lines);
    else if (lines.every((line) => ITEM.test(line) || !line.trim())) this.#drawPiece(el("p", { class: "items" }), from, to);
    else this.#drawPiece(el("pre", { class: "code", tabindex: "0", role: "group", "aria-label": S.code }), from, to);
  }

  /**
   * @param {HTMLElement} made
   * @param {number} from
   * @param {number} to
   */
  #drawPiece(made, from, to) {
    this.#put(made, from, to);
    this.root.append(made);
  }

  /**
   * @param {number} from
   * @param {string[]} lines
   */
  #drawTable(from, lines) {
    const table = el("table");
    let at = from;
    lines.forEach((line, number) => {
      const row = el("tr");
      const cells = line.split(" | ");
      cells.forEach((cell, column) => {
        const made = el(number ? "td" : "th", number ? {} : { scope: "col" });
        this.#put(made, at, at + cell.length);
        at += cell.length;
        const gap = column < cells.length - 1 ? 3 : number < lines.length - 1 ? 1 : 0;
        this.#putHidden(made, at, at + gap);
        at += gap;
        row.append(made);
      });
      table.append(row);
    });
    this.root.append(el("div", { class: "wide", tabindex: "0", role: "group", "aria-label": S.table }, table));
  }

  /**
   * Put the characters from `from` to `to` into `parent`, with the marks of pages that begin among them.
   * @param {HTMLElement} parent
   * @param {number} from
   * @param {number} to
   */
  #put(parent, from, to) {
    const cuts = new Set([from, to]);
    for (const edge of [...(this.#marked || []), ...this.pages.map((page) => page.at)])
      if (edge > from && edge < to) cuts.add(edge);
    const edges = [...cuts].sort((a, b) => a - b);
    if (from === to) this.#putPageMarks(parent, from);
    for (let i = 0; i + 1 < edges.length; i += 1) {
      this.#putPageMarks(parent, edges[i]);
      this.#putRun(parent, edges[i], edges[i + 1]);
    }
  }

  /**
   * @param {HTMLElement} parent
   * @param {number} at
   */
  #putPageMarks(parent, at) {
    for (const page of this.pages) {
      if (page.at > at || page.drawn || parent.className === "unseen") continue;
      const label = page.label || String(page.number);
      page.drawn = el("span", { class: "page-mark", role: "doc-pagebreak", "aria-label": S.pageMark(label), "data-page": label });
      parent.append(page.drawn);
    }
  }

  /**
   * @param {HTMLElement} parent
   * @param {number} from
   * @param {number} to
   */
  #putRun(parent, from, to) {
    const node = document.createTextNode(this.text.slice(from, to));
    this.#places.push({ node, at: from });
    const isMarked = this.#marked && from >= this.#marked[0] && to <= this.#marked[1] && to > from;
    parent.append(isMarked ? el("mark", { class: "cited" }, node) : node);
  }

  /**
   * Put characters that belong to the text and are not shown; they are marked like the others.
   * @param {HTMLElement} parent
   * @param {number} from
   * @param {number} to
   */
  #putHidden(parent, from, to) {
    if (to <= from) return;
    const hidden = el("span", { class: "unseen" });
    this.#put(hidden, from, to);
    parent.append(hidden);
  }

  /** @returns {HTMLElement[]} */
  get marks() {
    return [...this.root.querySelectorAll("mark.cited, .formula.cited, .picture.cited")]
      .filter((mark) => !mark.closest(".unseen")).map((mark) => /** @type {HTMLElement} */ (mark));
  }

  /**
   * Make a range of the page that holds the characters from `start` to `end`; null where there are none.
   * @param {number} start
   * @param {number} end
   */
  makeRange(start, end) {
    const [from, to] = [this.#measure.toUnits(start), this.#measure.toUnits(end)];
    const holds = (/** @type {number} */ at) => this.#places.findLast((place) => place.at <= at);
    const [first, last] = [holds(from), holds(Math.max(from, to - 1))];
    if (!first || !last || to <= from) return null;
    const range = document.createRange();
    range.setStart(first.node, Math.min(from - first.at, first.node.length));
    range.setEnd(last.node, Math.min(to - last.at, last.node.length));
    return range;
  }

  /**
   * Return what `range` holds of this text, with its offsets in characters; null for nothing.
   * @param {Range} range
   */
  findSelected(range) {
    const touched = this.#places.filter(({ node }) => node.isConnected && range.intersectsNode(node));
    if (!touched.length) return null;
    const [first, last] = [touched[0], touched[touched.length - 1]];
    let start = first.at + (range.startContainer === first.node ? range.startOffset : 0);
    let end = last.at + (range.endContainer === last.node ? range.endOffset : last.node.length);
    while (start < end && /\s/.test(this.text[start])) start += 1;
    while (end > start && /\s/.test(this.text[end - 1])) end -= 1;
    if (end <= start) return null;
    return { text: this.text.slice(start, end), start: this.#measure.toPoints(start), end: this.#measure.toPoints(end) };
  }
}
