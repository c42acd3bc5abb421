/* The reader: a book's text by section, page marks in the margin, the cited words marked.

   A page of the reader is a section with everything under it, as far up as that stays short, and with the sections
   after it while it would be a mere few lines; it opens at the section that was asked for. `onPlace` hears where the reader is: section and page. */

import { el, fill, set } from "../shared/dom.js";
import { characters } from "../shared/cite.js";
import { api } from "./api.js";
import { sectionAddress } from "./contents.js";
import { alarm, problemCard } from "./notices.js";
import { PageText } from "./pagetext.js";
import { S } from "./strings.js";

const LONG = 16_000;
const SHORT = 2_500;
const MANY = 14;
const SELECTION_MOST = 500;

/* From which to which section the page goes that shows section number `at`. */
export function pageAround(sections, at) {
  const under = (first) => {
    let last = first;
    while (last + 1 < sections.length && sections[last + 1].level > sections[first].level) last += 1;
    return last;
  };
  const size = (first, last) => sections.slice(first, last + 1).reduce((sum, s) => sum + s.characters, 0);
  const fits = (first) => under(first) - first < MANY && size(first, under(first)) <= LONG;
  let first = at;
  for (let up = at - 1; up >= 0; up -= 1)
    if (sections[up].level < sections[first].level) {
      if (!fits(up)) break;
      first = up;
    }
  let last = fits(first) ? under(first) : at;
  if (!fits(first)) first = at;
  const goesOn = () => last + 1 < sections.length && sections[last + 1].level >= sections[first].level;
  while (goesOn() && size(first, under(last + 1)) < SHORT) last = under(last + 1);
  return [first, last];
}

export class Reader {
  #turn = 0;
  #drawn = [];
  #back = null;
  #arrived = -1;

  constructor(root, { onPlace, onAsk }) {
    this.root = root;
    this.onPlace = onPlace;
    this.onAsk = onAsk;
    this.bubble = el("div", { class: "bubble", hidden: true });
    root.addEventListener("scroll", () => requestAnimationFrame(() => this.#look()), { passive: true });
    document.addEventListener("selectionchange", () => { clearTimeout(this.wait); this.wait = setTimeout(() => this.#picked(), 120); });
    root.addEventListener("keydown", (event) => event.key === "Escape" && this.#goBack());
  }

  clear() {
    this.#turn += 1;
    this.#drawn = [];
  }

  /* Opens a section; `span` are the offsets of the words to mark, `from` the element that leads back. */
  async open(book, sections, id, { span = null, from = null } = {}) {
    const turn = (this.#turn += 1);
    const at = Math.max(0, sections.findIndex((section) => section.id === id));
    const [first, last] = pageAround(sections, at);
    const wanted = sections.slice(first, last + 1);
    this.#back = from;
    if (!this.#drawn.length) fill(this.root, el("p", { class: "loading" }, S.loading));
    try {
      const texts = await Promise.all(wanted.map((section) => api.section(book.id, section.id)));
      if (turn !== this.#turn) return;
      this.#draw(book, sections, texts, { at, first, last, span });
    } catch (problem) {
      if (turn !== this.#turn) return;
      this.#drawn = [];
      fill(this.root, problemCard(problem, () => this.open(book, sections, id, { span, from })));
    }
  }

  #draw(book, sections, texts, { at, first, last, span }) {
    const base = texts[0].level;
    this.book = book;
    this.#drawn = texts.map((section) => {
      const here = section.id === sections[at].id;
      const text = new PageText(section, here ? span : null);
      const depth = Math.min(6, 2 + Math.max(0, section.level - base));
      const heading = el(`h${depth}`, { class: "section-title", tabindex: "-1" }, section.title);
      const bare = !text.text.trim() && texts.length === 1;
      const node = el("section", { class: "section", "data-section": section.id, lang: book.language || false },
        heading, bare ? el("p", { class: "hint" }, S.emptySection) : text.root);
      return { section, text, heading, node };
    });
    this.#tellPagesOnce();
    const path = texts[0].heading_path.slice(0, -1);
    fill(this.root,
      this.#back ? el("button", { type: "button", class: "button to-answer", on: { click: () => this.#goBack() } }, S.backToAnswer) : null,
      path.length ? el("p", { class: "path" }, path.join(" › ")) : null,
      el("article", { class: "leaf" }, this.#drawn.map(({ node }) => node)),
      this.bubble,
      this.#turns(book, sections, first, last, texts[0]));
    this.bubble.hidden = true;
    this.#goTo(this.#drawn[at - first], span);
  }

  /* A page that goes on from one section to the next is marked where it begins. */
  #tellPagesOnce() {
    let last = null;
    for (const page of this.#drawn.flatMap(({ text }) => text.pages.filter((p) => p.drawn))) {
      if (page.number === last) set(page.drawn, { class: "page-mark repeated", "aria-hidden": "true", role: null, "aria-label": null });
      last = page.number;
    }
  }

  #turns(book, sections, first, last, section) {
    const way = (target, text, kind) => target && el("a", { class: `turn-page ${kind}`, href: sectionAddress(book.id, target.id) },
      el("span", { class: "turn-what" }, text), el("span", { class: "turn-title" }, target.title));
    const online = /^https?:/.test(section.url)
      ? el("a", { class: "online", href: section.url, target: "_blank", rel: "noopener noreferrer" }, S.asOnline, " ↗") : null;
    return el("nav", { class: "turns", "aria-label": S.turnPages },
      way(sections[first - 1], S.previous, "back"), online, way(sections[last + 1], S.next, "on"));
  }

  #goTo(target, span) {
    const marks = target.text.marks;
    const node = marks[0] || target.heading;
    this.root.scrollTop = 0;
    if (span && !marks.length) alarm(S.passageGone);
    if (marks.length) {
      node.setAttribute("tabindex", "-1");
      node.scrollIntoView({ block: "center" });
      node.focus({ preventScroll: true });
    } else if (this.#drawn[0] !== target) {
      target.node.scrollIntoView({ block: "start" });
    }
    this.#arrived = this.root.scrollTop;
    this.onPlace({ section: target.section, page: pageAt(target.text.pages, span ? span[0] : 0) });
  }

  #goBack() {
    if (!this.#back || !this.#back.isConnected) return;
    this.root.dispatchEvent(new CustomEvent("back", { bubbles: true }));
    this.#back.focus();
  }

  /* Where the eye is: the last section and the last page that began in the upper third. Until the reader scrolls, it
     is at what was opened, wherever on the screen that came to stand. */
  #look() {
    if (!this.#drawn.length || this.root.scrollTop === this.#arrived) return;
    this.#arrived = -1;
    const line = this.root.getBoundingClientRect().top + this.root.clientHeight / 3;
    const above = (node) => node.getBoundingClientRect().top <= line;
    const here = this.#drawn.filter(({ node }) => above(node)).pop() || this.#drawn[0];
    const pages = this.#drawn.flatMap(({ text }) => text.pages.filter((page) => page.drawn));
    const page = pages.filter((p) => above(p.drawn)).pop() || pages[0] || null;
    this.onPlace({ section: here.section, page });
  }

  #picked() {
    const found = this.#selection();
    this.bubble.hidden = !found;
    if (!found) return;
    const length = characters(found.text);
    fill(this.bubble, length > SELECTION_MOST
      ? el("p", { class: "bubble-note" }, S.tooLong(length))
      : el("button", { type: "button", class: "button strong", on: {
        mousedown: (event) => event.preventDefault(),
        click: () => { this.bubble.hidden = true; this.onAsk(found); },
      } }, S.askAbout));
    const box = found.range.getBoundingClientRect();
    const pane = this.root.getBoundingClientRect();
    const below = box.bottom - pane.top + this.root.scrollTop + 8;
    this.bubble.style.top = `${Math.max(0, below)}px`;
    this.bubble.style.left = `${Math.max(12, Math.min(box.left - pane.left, pane.width - this.bubble.offsetWidth - 16))}px`;
  }

  #selection() {
    const chosen = getSelection();
    if (!chosen.rangeCount || chosen.isCollapsed) return null;
    const range = chosen.getRangeAt(0);
    if (!this.root.contains(range.commonAncestorContainer)) return null;
    for (const { section, text } of this.#drawn) {
      const part = text.selected(range);
      if (part) return { ...part, range, section, book: this.book };
    }
    return null;
  }
}

/* The page that the character at `offset` stands on. */
function pageAt(pages, offset) {
  return pages.filter((page) => page.offset <= offset).pop() || pages[0] || null;
}
