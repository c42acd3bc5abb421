/* The shelf: every book with its cover, ways to add one and to take one away. */

import { el, fill } from "../shared/dom.js";
import { api } from "./api.js";
import { confirmed, problemCard, toast } from "./notices.js";
import { S } from "./strings.js";
import { Uploads, acceptDrops } from "./uploads.js";

const KINDS = ".epub,.pdf,.md,.markdown,.html,.htm,.xhtml,.txt,.zip";
const CLOTHS = 6;

export class Shelf {
  books = [];
  #covers = new Map();

  constructor(root, { config }) {
    Object.assign(this, { root, config });
    this.jobs = el("ul", { class: "jobs", "aria-label": S.add });
    this.uploads = new Uploads(this.jobs, {
      mostMb: () => this.config().upload_mb || 100,
      onAdded: async (job) => { await this.load(); toast(S.added(this.#title(job))); },
    });
    this.input = el("input", { type: "file", accept: KINDS, multiple: true, hidden: true, id: "file",
      on: { change: () => { this.uploads.send(this.input.files); this.input.value = ""; } } });
    acceptDrops(() => this.#may("ingest"), (files) => { location.hash = "#/"; this.uploads.send(files); });
    fill(root, el("p", { class: "loading" }, S.loading));
  }

  #may(what) {
    return (this.config().may || []).includes(what);
  }

  #title(job) {
    return (this.books.find((book) => book.id === job.book_id) || { title: job.name }).title;
  }

  async load() {
    try {
      this.books = await api.books();
      this.#draw();
    } catch (problem) {
      fill(this.root, problemCard(problem, () => this.load()));
      throw problem;
    }
  }

  #draw() {
    const may = this.#may("ingest");
    const add = may ? el("button", { type: "button", class: "button strong", on: { click: () => this.input.click() } }, S.add) : null;
    const body = this.books.length
      ? el("ul", { class: "books" }, this.books.map((book) => this.#book(book)))
      : el("div", { class: "empty" }, el("h3", {}, S.emptyTitle), el("p", {}, may ? S.empty : S.emptyReadOnly));
    fill(this.root,
      el("div", { class: "shelf-head" }, el("h2", {}, S.shelf, " ", el("small", {}, S.books(this.books.length))), add, may ? this.input : null),
      may ? el("p", { class: "hint" }, S.addHint) : null,
      this.jobs, body);
  }

  #book(book) {
    const cover = el("span", { class: `cover cloth-${hash(book.id) % CLOTHS}`, "aria-hidden": "true" },
      el("span", { class: "cover-title" }, book.title),
      book.authors.length ? el("span", { class: "cover-author" }, book.authors.join(", ")) : null);
    if (book.cover) this.#dress(cover, book);
    return el("li", { class: "book" },
      el("a", { class: "book-link", href: `#/books/${encodeURIComponent(book.id)}` }, cover,
        el("span", { class: "book-title" }, book.title),
        book.authors.length ? el("span", { class: "book-author" }, S.by(book.authors)) : null,
        el("span", { class: "book-extent" }, S.extent(book))),
      this.#may("ingest") ? el("button", { type: "button", class: "remove", "aria-label": S.removeOne(book.title), title: S.removeOne(book.title),
        on: { click: () => this.#remove(book) } }, "×") : null);
  }

  async #dress(cover, book) {
    const known = `${book.id} ${book.content_hash}`;
    if (!this.#covers.has(known)) this.#covers.set(known, api.cover(book.id));
    const picture = await this.#covers.get(known);
    if (!picture) return;
    const image = el("img", { src: picture, alt: "" });
    if (!image.hasAttribute("src")) return;
    image.addEventListener("load", () => fill(cover, image));
  }

  async #remove(book) {
    const yes = await confirmed({ title: S.removeTitle(book.title), text: S.removeText, yes: S.remove, no: S.keep });
    if (!yes) return;
    try {
      await api.removeBook(book.id);
      await this.load();
      toast(S.removed(book.title));
      this.root.querySelector("a, button")?.focus();
    } catch (problem) {
      toast(problem.message);
    }
  }
}

function hash(text) {
  return [...text].reduce((sum, letter) => (sum * 31 + letter.codePointAt(0)) % 9973, 7);
}
