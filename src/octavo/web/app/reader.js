// @ts-check
/* The reader: a book's text by section, page marks in the margin, the cited words marked.

   A page of the reader is a section with everything under it, as far up as that stays short, and with the sections
   after it as long as it would be only a few lines. It opens at the section that was asked for. `onPlace` gets where
   the reader is: section and page. A PDF is shown as its printed pages or as its text, as the reader chooses. */

import { el, fill, setAttributes } from "../shared/dom.js";
import { Problem } from "../shared/sse.js";
import { api } from "./api.js";
import { sectionAddress } from "./contents.js";
import { announceNow, drawProblem } from "./notices.js";
import { PrintedPages } from "./printed.js";
import { SectionText } from "./sectiontext.js";
import { browserStorage } from "./storage.js";
import { S } from "./strings.js";

/** @import { Child } from "../shared/dom.js" */
/** @import { Span } from "../shared/text.js" */
/** @import { Book, PageStart, PrintedPage, Section, SectionBody } from "./api.js" */
/** @import { Selected } from "./scope.js" */
/** @import { DrawnPage } from "./sectiontext.js" */
/** @typedef {{section: SectionBody, text: SectionText, heading: HTMLElement, node: HTMLElement}} DrawnSection */
/** @typedef {{at: number, first: number, last: number, span: Span | null, printed: PrintedPage[]}} Page */
/** @typedef {"page" | "text"} View */
/**
 * @typedef {object} Listeners
 * @property {(section: Section, page: PageStart | null, isReading: boolean) => void} onPlace  gets where the reader is, and whether
 *   they came there by reading
 * @property {(selection: Selected) => void} onAsk
 * @property {(selection: Selected, done: () => void) => Child} drawTools  more to do with a selection
 * @property {() => void} onDrawn  another page has been drawn
 */

const LONG = 16_000;
const SHORT = 2_500;
const MANY = 14;
const VIEW = "octavo.view";

/**
 * Find from which to which section the page goes that shows section number `at`.
 * @param {{level: number, characters: number}[]} sections
 * @param {number} at
 * @returns {[first: number, last: number]}
 */
export function pageAround(sections, at) {
  const lastUnder = (/** @type {number} */ first) => {
    let last = first;
    while (last + 1 < sections.length && sections[last + 1].level > sections[first].level) last += 1;
    return last;
  };
  const size = (/** @type {number} */ first, /** @type {number} */ last) =>
    sections.slice(first, last + 1).reduce((sum, section) => sum + section.characters, 0);
  const fits = (/** @type {number} */ first) => lastUnder(first) - first < MANY && size(first, lastUnder(first)) <= LONG;
  let first = at;
  for (let up = at - 1; up >= 0; up -= 1)
    if (sections[up].level < sections[first].level) {
      if (!fits(up)) break;
      first = up;
    }
  let last = fits(first) ? lastUnder(first) : at;
  if (!fits(first)) first = at;
  const goesOn = () => last + 1 < sections.length && sections[last + 1].level >= sections[first].level;
  while (goesOn() && size(first, lastUnder(last + 1)) < SHORT) last = lastUnder(last + 1);
  return [first, last];
}

export class Reader {
  #root;
  #listeners;
  /** @type {Book | null} */
  #book = null;
  #opened = 0;
  #timer = 0;
  /** @type {DrawnSection[]} */
  #drawn = [];
  #bar;
  /** @type {HTMLElement | null} */
  #back = null;
  #arrivedAt = -1;
  #bubble = el("div", { class: "bubble", hidden: true });
  /** @type {PrintedPages | null} */
  #printed = null;
  /** @type {(() => void) | null} */
  #again = null;
  /** Chooses between the printed pages and the text of a PDF. */
  views = el("span", { class: "views", role: "group", "aria-label": S.views.label, hidden: true });

  /**
   * @param {HTMLElement} root
   * @param {HTMLElement} bar  stands above the text and never covers it
   * @param {Listeners} listeners
   */
  constructor(root, bar, listeners) {
    this.#root = root;
    this.#bar = bar;
    this.#listeners = listeners;
    root.addEventListener("scroll", () => requestAnimationFrame(() => this.#findPlace()), { passive: true });
    document.addEventListener("selectionchange", () => {
      clearTimeout(this.#timer);
      this.#timer = setTimeout(() => this.#offerSelection(), 120);
    });
    root.addEventListener("keydown", (event) => this.#pressKey(event));
    this.#drawViews();
  }

  /** @returns {View} */
  get #view() {
    return browserStorage.get(VIEW) === "text" ? "text" : "page";
  }

  #drawViews() {
    const button = (/** @type {View} */ view) => el("button", { type: "button", class: "view", "aria-pressed": String(view === this.#view), on: { click: () => {
      browserStorage.set(VIEW, view);
      this.#drawViews();
      this.#again?.();
    } } }, S.views[view]);
    fill(this.views, button("page"), button("text"));
  }

  clear() {
    this.#opened += 1;
    this.#drawn = [];
    this.#printed?.close();
    this.#printed = null;
  }

  /**
   * Open a section; `span` are the offsets of the words to mark, `from` the element that leads back.
   * @param {Book} book
   * @param {Section[]} sections
   * @param {string | undefined} id
   * @param {{span?: Span | null, from?: HTMLElement | null}} how
   */
  async open(book, sections, id, { span = null, from = null } = {}) {
    const opened = (this.#opened += 1);
    const at = Math.max(0, sections.findIndex((section) => section.id === id));
    const [first, last] = pageAround(sections, at);
    const wanted = sections.slice(first, last + 1);
    this.#back = from;
    if (!this.#drawn.length) fill(this.#root, el("p", { class: "loading" }, S.loading));
    try {
      const isPrinted = book.printed && this.#view === "page";
      /* Pages that cannot be shown are no problem: there is the text. */
      const pages = isPrinted ? api.getPrintedPages(book.id, sections[at].id, span).catch(() => []) : [];
      const texts = await Promise.all(wanted.map((section) => api.getSection(book.id, section.id)));
      const printed = await pages;
      if (opened !== this.#opened) return;
      this.#draw(book, sections, texts, { at, first, last, span, printed });
      this.#again = () => this.#openAgain(book, sections, sections[at].id, { span, from });
    } catch (error) {
      if (opened !== this.#opened) return;
      this.#drawn = [];
      fill(this.#root, drawProblem(Problem.wrap(error), () => this.open(book, sections, id, { span, from })));
    }
  }

  /**
   * Show the same place in the other view.
   * @param {Book} book
   * @param {Section[]} sections
   * @param {string} id
   * @param {{span: Span | null, from: HTMLElement | null}} how
   */
  async #openAgain(book, sections, id, { span, from }) {
    const top = this.#arrivedAt < 0 ? this.findTop() : null;
    await this.open(book, sections, top?.section || id, { span: top ? null : span, from });
    if (top) this.scrollToCharacter(top.section, top.start);
  }

  /**
   * @param {Book} book
   * @param {Section[]} sections
   * @param {SectionBody[]} texts
   * @param {Page} page
   */
  #draw(book, sections, texts, { at, first, last, span, printed }) {
    this.#book = book;
    this.#printed?.close();
    const words = span ? [...texts[at - first].text].slice(...span).join("") : "";
    this.#printed = printed.length ? new PrintedPages(this.#root, book, texts, printed, words) : null;
    this.views.hidden = !book.printed;
    this.#drawn = texts.map((section) => {
      const text = new SectionText(section, section.id === sections[at].id ? span : null, book.id);
      const depth = /** @type {2 | 3 | 4 | 5 | 6} */ (Math.min(6, 2 + Math.max(0, section.level - texts[0].level)));
      const heading = el(`h${depth}`, { class: "section-title", tabindex: "-1" }, section.title);
      const isBare = !text.text.trim() && texts.length === 1;
      const node = el("section", { class: "section", "data-section": section.id, lang: section.language || false, dir: "auto" },
        heading, isBare ? el("p", { class: "hint" }, S.emptySection) : text.root);
      return { section, text, heading, node };
    });
    this.#hideRepeatedPages();
    const path = texts[0].heading_path.slice(0, -1);
    this.#drawWayBack();
    fill(this.#root,
      path.length ? el("p", { class: "path" }, path.join(" › ")) : null,
      this.#printed
        ? el("article", { class: "leaf of-pages" }, this.#printed.root)
        : el("article", { class: "leaf" }, this.#drawn.map(({ node }) => node)),
      this.#bubble,
      this.#drawNeighbours(book, sections[first - 1], sections[last + 1], texts[0]));
    this.#bubble.hidden = true;
    this.#goTo(this.#drawn[at - first], span);
    this.#listeners.onDrawn();
  }

  /* The way back to the answer, and to its other sources. */
  #drawWayBack() {
    const button = (/** @type {string} */ label, /** @type {string} */ sign, /** @type {HTMLElement | undefined} */ to) =>
      el("button", { type: "button", class: "icon-button", "aria-label": label, title: label, disabled: !to, on: { click: () => to?.click() } }, sign);
    const { before, after, number, count } = this.#findSources();
    this.#bar.hidden = !this.#back;
    fill(this.#bar, this.#back ? [
      el("button", { type: "button", class: "button to-answer", on: { click: () => this.#goBack() } }, S.backToAnswer),
      count > 1 ? el("span", { class: "source-steps" }, button(S.sourceBefore, "‹", before),
        el("span", {}, S.of(number, count)), button(S.sourceAfter, "›", after)) : null,
    ] : null);
  }

  /* The footnotes of the answer that led here, each number once. */
  #findSources() {
    /** @type {HTMLElement[]} */
    const cites = [...(this.#back?.closest(".turn")?.querySelectorAll("button.cite") || [])].filter((node) => node instanceof HTMLElement);
    const sources = cites.filter((cite, at) => cites.findIndex((other) => other.textContent === cite.textContent) === at);
    const here = sources.findIndex((cite) => cite.textContent === this.#back?.textContent);
    return here < 0 ? { number: 0, count: 0 } : { before: sources[here - 1], after: sources[here + 1], number: here + 1, count: sources.length };
  }

  /** @param {KeyboardEvent} event */
  #pressKey(event) {
    if (event.key === "Escape") this.#goBack();
    if (!(event.target instanceof HTMLElement) || !event.target.matches("mark.cited, mark.page-box")) return;
    const { before, after } = this.#findSources();
    const to = event.key === "ArrowLeft" ? before : event.key === "ArrowRight" ? after : null;
    if (!to) return;
    event.preventDefault();
    to.click();
  }

  get #pages() {
    return this.#drawn.flatMap(({ text }) => text.pages);
  }

  /* A page that goes on from one section to the next is marked only where it begins. */
  #hideRepeatedPages() {
    let last = null;
    for (const { number, drawn } of this.#pages) {
      if (!drawn) continue;
      if (number === last)
        setAttributes(drawn, { class: "page-mark repeated", "aria-hidden": "true", role: null, "aria-label": null });
      last = number;
    }
  }

  /**
   * @param {Book} book
   * @param {Section | undefined} before
   * @param {Section | undefined} after
   * @param {Section} section
   */
  #drawNeighbours(book, before, after, section) {
    const drawLink = (/** @type {Section | undefined} */ target, /** @type {string} */ text, /** @type {string} */ kind) =>
      target && el("a", { class: `turn-page ${kind}`, href: sectionAddress(book.id, target.id) },
        el("span", { class: "turn-what" }, text), el("span", { class: "turn-title" }, target.title));
    const online = /^https?:/.test(section.url)
      ? el("a", { class: "online", href: section.url, target: "_blank", rel: "noopener noreferrer" }, S.asOnline, " ↗") : null;
    return el("nav", { class: "turns", "aria-label": S.turnPages },
      drawLink(before, S.previous, "back"), online, drawLink(after, S.next, "on"));
  }

  /**
   * @param {DrawnSection} target
   * @param {Span | null} span
   */
  #goTo(target, span) {
    const [mark] = this.#printed ? this.#printed.boxes : target.text.marks;
    const sheet = this.#printed?.findPage(target.section.id, span ? span[0] : 0);
    this.#root.scrollTop = 0;
    if (span && !mark) announceNow(S.passageGone);
    if (mark) {
      mark.setAttribute("tabindex", "-1");
      mark.scrollIntoView({ block: "center" });
      mark.focus({ preventScroll: true });
    } else if (this.#drawn[0] !== target || span) {
      (sheet || target).node.scrollIntoView({ block: "start" });
    }
    this.#arrivedAt = this.#root.scrollTop;
    this.#listeners.onPlace(target.section, findPage(target.text.pages, span ? span[0] : 0), !span);
  }

  #goBack() {
    if (!this.#back?.isConnected) return;
    this.#root.dispatchEvent(new CustomEvent("back", { bubbles: true }));
    this.#back.focus();
  }

  /* Finds where the eye is: the last section and the last page that began in the upper third. Until the reader
     scrolls, that is what was opened, wherever on the screen it came to stand. */
  #findPlace() {
    if (!this.#drawn.length || this.#root.scrollTop === this.#arrivedAt) return;
    this.#arrivedAt = -1;
    const line = this.#root.getBoundingClientRect().top + this.#root.clientHeight / 3;
    if (this.#printed) {
      const { section, page } = this.#printed.findAt(line);
      this.#listeners.onPlace(section, page, true);
      return;
    }
    const isAbove = (/** @type {HTMLElement | undefined} */ node) => Boolean(node && node.getBoundingClientRect().top <= line);
    const here = this.#drawn.findLast(({ node }) => isAbove(node)) || this.#drawn[0];
    const pages = this.#pages.filter((page) => page.drawn);
    const page = pages.findLast(({ drawn }) => isAbove(drawn)) || pages[0] || null;
    this.#listeners.onPlace(here.section, page, true);
  }

  #offerSelection() {
    const found = this.#findSelection();
    this.#bubble.hidden = !found;
    if (!found) return;
    const hide = () => { this.#bubble.hidden = true; };
    fill(this.#bubble, el("button", { type: "button", class: "button strong", on: {
      /* Pressing the button must not undo the selection. */
      mousedown: (event) => event.preventDefault(),
      click: () => { hide(); this.#listeners.onAsk(found); },
    } }, S.askAbout), this.#listeners.drawTools(found, hide));
    const box = found.range.getBoundingClientRect();
    const pane = this.#root.getBoundingClientRect();
    const below = box.bottom - pane.top + this.#root.scrollTop + 8;
    this.#bubble.style.top = `${Math.max(0, below)}px`;
    this.#bubble.style.left = `${Math.max(12, Math.min(box.left - pane.left, pane.width - this.#bubble.offsetWidth - 16))}px`;
  }

  #findSelection() {
    const chosen = getSelection();
    if (!chosen?.rangeCount || chosen.isCollapsed || !this.#book) return null;
    const range = chosen.getRangeAt(0);
    if (!this.#root.contains(range.commonAncestorContainer)) return null;
    const part = this.#locate(range);
    return part && { ...part, range, book: this.#book };
  }

  /** @param {Range} range */
  #locate(range) {
    for (const { text, section } of this.#drawn) {
      const part = text.findSelected(range);
      if (part) return { ...part, section: section.id };
    }
    return null;
  }

  /**
   * Tell whether the reader has scrolled to the end of the last section.
   * @param {Section[]} sections
   */
  isAtEnd(sections) {
    const last = sections.at(-1)?.id;
    const { scrollTop, clientHeight, scrollHeight } = this.#root;
    return this.#drawn.some(({ section }) => section.id === last) && scrollTop > 0 && scrollTop + clientHeight >= scrollHeight - 4;
  }

  /** Find the first passage that is in sight, by its offsets; null where nothing is shown. */
  findTop() {
    const { top } = this.#root.getBoundingClientRect();
    if (this.#printed) {
      const { section, page } = this.#printed.findAt(top + 24);
      const end = section.pages.find(({ offset }) => offset > page.offset)?.offset ?? section.characters;
      return { section: section.id, text: "", start: page.offset, end };
    }
    for (const { text } of this.#drawn)
      for (const block of text.root.children) {
        if (block.getBoundingClientRect().bottom <= top + 24) continue;
        const range = document.createRange();
        range.selectNodeContents(block);
        const found = this.#locate(range);
        if (found) return found;
      }
    return null;
  }

  /**
   * Scroll to a character of a section that is shown.
   * @param {string} section
   * @param {number} offset
   */
  scrollToCharacter(section, offset) {
    const sheet = this.#printed?.findPage(section, offset);
    if (sheet) sheet.node.scrollIntoView({ block: "start" });
    const range = this.findRange(section, offset, offset + 1);
    if (!range || !offset) return;
    this.#root.scrollTop += range.getBoundingClientRect().top - this.#root.getBoundingClientRect().top - 24;
  }

  /**
   * Find the characters of a section on the page; null where the section is not shown.
   * @param {string} section
   * @param {number} start
   * @param {number} end
   */
  findRange(section, start, end) {
    if (this.#printed) return null;
    return this.#drawn.find((drawn) => drawn.section.id === section)?.text.makeRange(start, end) || null;
  }
}

/**
 * Find the page that the character at `offset` stands on.
 * @param {DrawnPage[]} pages
 * @param {number} offset
 */
function findPage(pages, offset) {
  return pages.findLast((page) => page.offset <= offset) || pages[0] || null;
}
