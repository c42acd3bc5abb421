/* Where an answer may come from: always in sight, always one step from being changed.

   Section, page and "only up to here" follow the reader: they mean what is open at the moment of asking. A selection
   stays until it is let go. `body()` is what goes to the server, `words()` what people read. */

import { el, fill } from "../shared/dom.js";
import { shortened } from "../shared/cite.js";
import { S } from "./strings.js";

/* Where the browser can, the selection stays tinted in the text for as long as it is asked about. */
function tint(selection) {
  if (typeof Highlight !== "function") return;
  if (selection) CSS.highlights.set("asked", new Highlight(selection.range));
  else CSS.highlights.delete("asked");
}

const KINDS = ["shelf", "book", "section", "page", "selection", "upTo"];

export class ScopeBar {
  kind = "shelf";
  book = null;
  section = null;
  page = null;
  selection = null;

  constructor() {
    this.select = el("select", { id: "scope", class: "scope-select", on: { change: () => this.choose(this.select.value) } });
    this.quote = el("div", { class: "scope-quote", hidden: true });
    this.root = el("div", { class: "scope" },
      el("label", { for: "scope" }, S.scopeLabel), this.select, this.quote);
    this.#draw();
  }

  choose(kind) {
    this.kind = this.#ready(kind) ? kind : this.book ? "book" : "shelf";
    if (this.kind !== "selection") this.selection = null;
    this.#draw();
  }

  /* The reader has come to another place, or closed the book (null). */
  moved(book, section = null, page = null) {
    Object.assign(this, { book, section, page });
    if (this.selection && this.selection.book.id !== (book && book.id)) this.selection = null;
    if (!this.#ready(this.kind)) this.kind = book ? "book" : "shelf";
    this.#draw();
  }

  picked(selection) {
    this.selection = selection;
    this.choose("selection");
  }

  #ready(kind) {
    if (kind === "shelf") return true;
    if (kind === "selection") return Boolean(this.selection);
    if (kind === "book") return Boolean(this.book);
    return Boolean(this.book && (kind === "page" ? this.page : this.section));
  }

  #pageLabel() {
    return this.page.label || String(this.page.number);
  }

  #label(kind) {
    const words = S.scopes;
    if (!this.#ready(kind)) {
      const why = kind === "selection" ? words.noSelection : kind === "page" && this.book ? words.noPages : words.noBook;
      const bare = { book: "this book", section: "this section", page: "this page", selection: words.selection, upTo: "only up to here" };
      return `${bare[kind]} (${why})`;
    }
    if (kind === "shelf" || kind === "selection") return words[kind];
    if (kind === "book") return words.book(this.book.title);
    if (kind === "page") return words.page(this.#pageLabel());
    if (kind === "section") return words.section(this.section.title);
    return words.upTo(this.page ? S.page(this.#pageLabel()) : this.section.title);
  }

  #draw() {
    const labels = KINDS.map((kind) => [kind, shortened(this.#label(kind), 70), this.#ready(kind)]);
    const now = JSON.stringify([this.kind, labels]);
    if (now !== this.drawn) {
      this.drawn = now;
      fill(this.select, labels.map(([kind, text, ready]) =>
        el("option", { value: kind, selected: kind === this.kind, disabled: !ready }, text)));
      this.select.value = this.kind;
    }
    this.quote.hidden = !this.selection;
    tint(this.selection);
    this.root.dispatchEvent(new CustomEvent("scope", { detail: this.kind }));
    if (this.selection)
      fill(this.quote,
        el("q", {}, shortened(this.selection.text, 160)),
        el("button", { type: "button", class: "icon-button", "aria-label": S.dropSelection, title: S.dropSelection,
          on: { click: () => this.choose("book") } }, "×"));
  }

  words() {
    return this.#label(this.kind);
  }

  body() {
    const book = this.book ? { book_id: this.book.id } : {};
    const scope = (type, identifier) => ({ ...book, scope: { type, identifier } });
    switch (this.kind) {
      case "book": return book;
      case "section": return scope("section-specific", this.section.id);
      case "page": return scope("page-specific", `#${this.page.number}`);
      case "selection": return { book_id: this.selection.book.id, selected_text: this.selection.text };
      case "upTo": return scope("up-to-position", this.page ? `page #${this.page.number}` : this.section.id);
      default: return {};
    }
  }
}
