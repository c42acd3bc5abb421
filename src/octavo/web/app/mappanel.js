// @ts-check
/* Who is this, so far: the map of the open book, beside its contents.

   Unless the reader lifts the limit, only what comes up to the open place is looked at, on the server: what lies
   ahead is not sent at all. Everything from the book is set as text. */

import { drawQuotation, el, fill } from "../shared/dom.js";
import { Problem } from "../shared/sse.js";
import { shorten } from "../shared/text.js";
import { api } from "./api.js";
import { sectionAddress } from "./contents.js";
import { drawProblem } from "./notices.js";
import { S } from "./strings.js";

/** @import { Book, Entity, EntityDetails, PageStart, Quote, Section } from "./api.js" */

const KINDS = /** @type {const} */ (["person", "place", "thing", "term"]);

export class MapPanel {
  /** @type {Book | null} */
  #book = null;
  #upTo = "";
  #shown = "";
  #looked = "";
  #request = 0;
  #limit = el("input", { type: "checkbox", checked: true, on: { change: () => this.#refresh() } });
  #name = el("input", { type: "search", class: "field", id: "map-name", maxlength: "200", autocomplete: "off", placeholder: S.map.name });
  #found = el("div", { class: "map-found", role: "status" });
  #body = el("div", { class: "map-body" },
    el("form", { class: "map-form", on: { submit: (event) => { event.preventDefault(); this.#lookUp(this.#name.value.trim()); } } },
      el("label", { for: "map-name", class: "quiet" }, S.map.name), this.#name,
      el("button", { type: "submit", class: "button" }, S.map.find)),
    el("label", { class: "map-limit" }, this.#limit, " ", S.map.upToHere),
    this.#found);
  /** @type {HTMLDetailsElement} */
  root = el("details", { class: "map", on: { toggle: () => this.#refresh() } }, el("summary", {}, S.map.title), this.#body);

  /**
   * Take in where the reader is. An open panel follows.
   * @param {Book} book
   * @param {Section | null} section
   * @param {PageStart | null} page
   */
  moveTo(book, section = null, page = null) {
    if (this.#book && this.#book.id !== book.id) this.#looked = "";
    this.#book = book;
    this.#upTo = page ? `p. #${page.number}` : section?.id || "";
    this.#refresh();
  }

  get #reach() {
    return this.#limit.checked ? this.#upTo : "";
  }

  #refresh() {
    const wanted = JSON.stringify([this.#book?.id, this.#book?.content_hash, this.#reach]);
    if (!this.root.open || !this.#book || wanted === this.#shown) return;
    this.#shown = wanted;
    // A name that is shown stays, as far as the reader has come now.
    if (this.#looked) { this.#lookUp(this.#looked); return; }
    const { id } = this.#book;
    this.#load(() => api.getMap(id, this.#reach), ({ entities }) => this.#drawList(entities));
  }

  /** @param {string} name */
  #lookUp(name) {
    if (!name) return;
    // If the book is still loading, the name is looked up when it is there.
    this.#looked = name;
    if (!this.#book) return;
    const { id } = this.#book;
    this.#load(() => api.lookUp(id, name, this.#reach), (entity) => this.#drawEntity(id, entity));
  }

  /**
   * Show what the server says, unless something else has been asked for since.
   * @template T
   * @param {() => Promise<T>} get
   * @param {(got: T) => import("../shared/dom.js").Child} draw
   */
  async #load(get, draw) {
    const request = ++this.#request;
    fill(this.#found, el("p", { class: "map-note working" }, S.loading));
    try {
      const got = await get();
      if (request === this.#request) fill(this.#found, draw(got));
    } catch (error) {
      const problem = Problem.wrap(error);
      if (request !== this.#request) return;
      this.#shown = "";
      fill(this.#found, problem.status === 404 ? el("p", { class: "map-note" }, S.map.none) : drawProblem(problem));
    }
  }

  /** @param {readonly Entity[]} entities */
  #drawList(entities) {
    if (!entities.length) return el("p", { class: "map-note" }, S.map.nobody);
    return KINDS.map((kind) => {
      const named = entities.filter((entity) => entity.kind === kind);
      if (!named.length) return null;
      const buttons = named.map(({ name, mention_count }) => el("li", {}, el("button", { type: "button", class: "map-entity",
        on: { click: () => this.#lookUp(name) } }, shorten(name, 60), " ", el("span", { class: "map-count" }, mention_count))));
      return [el("h3", { class: "map-kind" }, S.map.kinds[kind]), el("ul", { class: "map-list" }, buttons)];
    });
  }

  /**
   * @param {string} book
   * @param {EntityDetails} entity
   */
  #drawEntity(book, entity) {
    const quotes = new Map([entity.definition, entity.introduction, ...entity.statements]
      .filter((quote) => quote !== null).map((quote) => [`${quote.section_id} ${quote.start}`, quote]));
    const back = () => { this.#shown = this.#looked = ""; this.#refresh(); };
    return [
      el("p", { class: "map-name" }, entity.name),
      entity.aliases.length ? el("p", { class: "map-note" }, S.map.also(entity.aliases.slice(0, 6).map((name) => shorten(name, 60)))) : null,
      el("ul", { class: "map-quotes" }, [...quotes.values()].slice(0, 4).map((quote) => el("li", {}, this.#drawQuote(book, quote)))),
      el("p", { class: "map-note" }, S.map.mentions(entity.mention_count)),
      el("button", { type: "button", class: "link", on: { click: back } }, S.map.all),
    ];
  }

  /**
   * @param {string} book
   * @param {Quote} quote
   */
  #drawQuote(book, quote) {
    return el("a", { class: "source", href: sectionAddress(book, quote.section_id, [quote.start, quote.end]) },
      drawQuotation(shorten(quote.text, 280)), el("span", { class: "source-place" }, quote.section));
  }
}
