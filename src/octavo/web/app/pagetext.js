/* A section's text as elements that keep every character at its place.

   What is drawn is the canonical text, all of it: the blank lines between paragraphs and the bars between the cells
   of a table are there too, only not shown. So an offset always finds its character, a stretch that is marked reads
   exactly as it does in the book, and what a reader selects can be told as offsets again. */

import { el } from "../shared/dom.js";
import { ruler } from "../shared/cite.js";
import { S } from "./strings.js";

const ITEM = /^\s*(?:[-*•–+]|\(?(?:\d+|[a-z])[.)])\s/;

export class PageText {
  /* `marked` is a pair of offsets, or null. */
  constructor(section, marked = null) {
    this.text = section.text || "";
    this.ruler = ruler(this.text);
    this.places = [];
    this.pages = (section.pages || []).map((page) => ({ ...page, at: this.ruler.units(page.offset) }));
    this.marked = marked && [this.ruler.units(marked[0]), this.ruler.units(marked[1])];
    this.root = el("div", { class: "text" });
    this.#draw(section.blocks || []);
  }

  #draw(blocks) {
    let at = 0;
    for (const block of blocks) {
      const [start, end] = [this.ruler.units(block.start ?? block[0]), this.ruler.units(block.end ?? block[1])];
      this.#prose(at, start);
      this.#block(start, end);
      at = end;
    }
    this.#prose(at, this.text.length);
  }

  #prose(from, to) {
    for (let at = from; at < to;) {
      const gap = /\n{2,}|\n+$/.exec(this.text.slice(at, to));
      const [end, next] = gap ? [at + gap.index, at + gap.index + gap[0].length] : [to, to];
      const said = this.text.slice(at, end);
      if (said.trim()) {
        const verse = said.split("\n").length > 2 && !said.split("\n").every((line) => ITEM.test(line));
        const paragraph = el("p", { class: verse ? "lines" : "" });
        this.#put(paragraph, at, end);
        this.#unseen(paragraph, end, next);
        this.root.append(paragraph);
      } else {
        this.#unseen(this.root, at, next);
      }
      at = next;
    }
  }

  #block(from, to) {
    const lines = this.text.slice(from, to).split("\n");
    if (lines.length > 1 && lines.every((line) => line.includes(" | "))) this.#table(from, lines);
    else if (lines.every((line) => ITEM.test(line) || !line.trim())) this.#piece("p", "items", from, to);
    else this.#piece("pre", "code", from, to);
  }

  #piece(name, kind, from, to) {
    const more = name === "pre" ? { tabindex: "0", role: "region", "aria-label": S.code } : {};
    const made = el(name, { class: kind, ...more });
    this.#put(made, from, to);
    this.root.append(made);
  }

  #table(from, lines) {
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
        this.#unseen(made, at, at + gap);
        at += gap;
        row.append(made);
      });
      table.append(row);
    });
    this.root.append(el("div", { class: "wide", tabindex: "0", role: "region", "aria-label": S.table }, table));
  }

  /* The characters from `from` to `to`, with the marks of pages that begin among them. */
  #put(parent, from, to) {
    const cuts = new Set([from, to]);
    for (const edge of [...(this.marked || []), ...this.pages.map((page) => page.at)])
      if (edge > from && edge < to) cuts.add(edge);
    const edges = [...cuts].sort((a, b) => a - b);
    if (from === to) this.#pageMarks(parent, from);
    for (let i = 0; i + 1 < edges.length; i += 1) {
      this.#pageMarks(parent, edges[i]);
      this.#run(parent, edges[i], edges[i + 1]);
    }
  }

  #pageMarks(parent, at) {
    for (const page of this.pages) {
      if (page.at > at || page.drawn || parent.className === "unseen") continue;
      const label = page.label || String(page.number);
      page.drawn = el("span", { class: "page-mark", role: "doc-pagebreak", "aria-label": S.pageMark(label), "data-page": label });
      parent.append(page.drawn);
    }
  }

  #run(parent, from, to) {
    const node = document.createTextNode(this.text.slice(from, to));
    this.places.push({ node, at: from });
    const inside = this.marked && from >= this.marked[0] && to <= this.marked[1] && to > from;
    parent.append(inside ? el("mark", { class: "cited" }, node) : node);
  }

  /* Characters that belong to the text and are not shown: they are marked like the others. */
  #unseen(parent, from, to) {
    if (to <= from) return;
    const hidden = el("span", { class: "unseen" });
    this.#put(hidden, from, to);
    parent.append(hidden);
  }

  get marks() {
    return [...this.root.querySelectorAll("mark.cited")];
  }

  /* The offsets of what `range` holds of this text, in characters, with the text itself; null for nothing. */
  selected(range) {
    const touched = this.places.filter(({ node }) => node.isConnected && range.intersectsNode(node));
    if (!touched.length) return null;
    const [first, last] = [touched[0], touched[touched.length - 1]];
    let start = first.at + (range.startContainer === first.node ? range.startOffset : 0);
    let end = last.at + (range.endContainer === last.node ? range.endOffset : last.node.length);
    while (start < end && /\s/.test(this.text[start])) start += 1;
    while (end > start && /\s/.test(this.text[end - 1])) end -= 1;
    if (end <= start) return null;
    return { text: this.text.slice(start, end), start: this.ruler.points(start), end: this.ruler.points(end) };
  }
}
