// @ts-check
/* Where an answer may come from: always in sight, always one step from being changed.

   Section, page and "only up to here" follow the reader: they mean what is open at the moment of asking. A selection
   stays until it is cleared. Both are there again after a reload of the tab. `toBody()` is what goes to the server,
   `describe()` what people read. */

import { drawQuotation, el, fill } from "../shared/dom.js";
import { cutSelection, highlight } from "../shared/selection.js";
import { shorten } from "../shared/text.js";
import { tabStorage } from "./storage.js";
import { S } from "./strings.js";

/** @import { AskBody } from "../shared/turn.js" */
/** @import { Book, PageStart, Section } from "./api.js" */
/** @typedef {"all" | "book" | "section" | "page" | "selection" | "upTo"} ScopeKind */
/** @typedef {{text: string, range: Range | null, book: Book, section: string, start: number, end: number}} Selected */
/** @typedef {(section: string, start: number, end: number) => Range | null} FindRange */

const KEPT = "octavo.scope";
/** @type {ScopeKind[]} */
const KINDS = ["all", "book", "section", "page", "selection", "upTo"];

export class ScopeBar {
  /** @type {ScopeKind} */
  kind = "all";
  /** @type {Book | null} */
  #book = null;
  /** @type {Section | null} */
  #section = null;
  /** @type {PageStart | null} */
  #page = null;
  /** @type {Selected | null} */
  #selection = null;
  #drawn = "";
  /** @type {HTMLSelectElement} */
  #select = el("select", { id: "scope", class: "scope-select",
    on: { change: () => this.choose(/** @type {ScopeKind} */ (this.#select.value)) } });
  #quote = el("div", { class: "scope-quote", hidden: true });
  root = el("div", { class: "scope" }, el("label", { for: "scope" }, S.scopeLabel), this.#select, this.#quote);

  constructor() {
    this.#draw();
  }

  /**
   * @param {ScopeKind} kind
   * @param {{keep?: boolean}} how  whether it is to be there again after a reload
   */
  choose(kind, { keep = true } = {}) {
    this.kind = this.#isReady(kind) ? kind : this.#book ? "book" : "all";
    if (this.kind !== "selection") this.#selection = null;
    if (keep) this.#keep();
    this.#draw();
  }

  /**
   * Take in that the reader has come to another place, or closed the book (null).
   * @param {Book | null} book
   * @param {Section | null} section
   * @param {PageStart | null} page
   */
  moveTo(book, section = null, page = null) {
    this.#book = book;
    this.#section = section;
    this.#page = page;
    if (this.#selection && this.#selection.book.id !== book?.id) this.#selection = null;
    if (!this.#isReady(this.kind)) this.kind = book ? "book" : "all";
    this.#draw();
  }

  /**
   * Choose again what was chosen before the page was reloaded, if it was this book.
   * @param {Book} book
   * @param {FindRange} findRange
   */
  restore(book, findRange) {
    const kept = readKept();
    if (!kept || kept.book !== book.id) return;
    const { text, section, start, end } = kept.selection || {};
    if (typeof text === "string" && typeof section === "string")
      this.#selection = { text, book, section, start: Number(start), end: Number(end), range: findRange(section, Number(start), Number(end)) };
    if (KINDS.includes(kept.kind)) this.choose(kept.kind);
  }

  #keep() {
    const { text = "", section = "", start = 0, end = 0 } = this.#selection || {};
    if (this.#book)
      tabStorage.set(KEPT, JSON.stringify({ book: this.#book.id, kind: this.kind, selection: text ? { text, section, start, end } : null }));
  }

  /** @param {Selected} selection */
  chooseSelection(selection) {
    this.#selection = selection;
    this.choose("selection");
  }

  /** @param {ScopeKind} kind */
  #isReady(kind) {
    if (kind === "all") return true;
    if (kind === "selection") return Boolean(this.#selection);
    if (kind === "book") return Boolean(this.#book);
    return Boolean(this.#book && (kind === "page" ? this.#page : this.#section));
  }

  /** @param {ScopeKind} kind */
  #label(kind) {
    const words = S.scopes;
    if (!this.#isReady(kind)) {
      const why = kind === "selection" ? words.noSelection : kind === "page" && this.#book ? words.noPages : words.noBook;
      return `${words.bare[kind]} (${why})`;
    }
    const page = this.#page ? this.#page.label || String(this.#page.number) : "";
    const section = this.#section?.title || "";
    switch (kind) {
      case "book": return words.book(this.#book?.title || "");
      case "page": return words.page(page);
      case "section": return words.section(section);
      case "upTo": return words.upTo(page ? S.page(page) : section);
      default: return words[kind];
    }
  }

  #draw() {
    const labels = KINDS.map((kind) => ({ kind, text: shorten(this.#label(kind), 70), isReady: this.#isReady(kind) }));
    const drawn = JSON.stringify([this.kind, labels]);
    if (drawn !== this.#drawn) {
      this.#drawn = drawn;
      fill(this.#select, labels.map(({ kind, text, isReady }) =>
        el("option", { value: kind, selected: kind === this.kind, disabled: !isReady }, text)));
      this.#select.value = this.kind;
    }
    this.#quote.hidden = !this.#selection;
    /* The selection stays tinted in the text for as long as it is asked about. */
    highlight("asked", this.#selection?.range ? [this.#selection.range] : []);
    this.root.dispatchEvent(new CustomEvent("scope"));
    if (this.#selection)
      fill(this.#quote,
        drawQuotation(shorten(this.#selection.text, 160)),
        el("button", { type: "button", class: "icon-button", "aria-label": S.dropSelection, title: S.dropSelection,
          on: { click: () => this.choose("book") } }, "×"));
  }

  describe() {
    return this.#label(this.kind);
  }

  /** The section or page up to which may be looked; "" for no limit. */
  get limit() {
    if (this.kind !== "upTo") return "";
    return this.#page ? `p. #${this.#page.number}` : this.#section?.id || "";
  }

  /** @returns {AskBody} */
  toBody() {
    const book = this.#book ? { book_id: this.#book.id } : {};
    const scope = (/** @type {string} */ type, identifier = "") => ({ ...book, scope: { type, identifier } });
    switch (this.kind) {
      case "book": return book;
      case "section": return scope("section-specific", this.#section?.id);
      case "page": return scope("page-specific", `#${this.#page?.number}`);
      case "selection": return this.#selection ? describePlace(this.#selection) : {};
      case "upTo": return scope("up-to-position", this.#page ? `page #${this.#page.number}` : this.#section?.id);
      default: return {};
    }
  }
}

/**
 * Name the place of a selection: the same words may stand elsewhere, and a long text is sent only in part.
 * @param {Selected} selected
 * @returns {AskBody}
 */
function describePlace({ book, section, start, end, text }) {
  const scope = { type: "selection", identifier: `${section}#char=${start},${end}` };
  return { book_id: book.id, selected_text: cutSelection(text).text, scope };
}

/** @returns {{book: string, kind: ScopeKind, selection: {text?: string, section?: string, start?: number, end?: number} | null} | null} */
function readKept() {
  try {
    return JSON.parse(tabStorage.get(KEPT) || "null");
  } catch {
    return null;
  }
}
