// @ts-check
/* The list of books: every book with its cover, a way to add one and a way to remove one. */

import { drawIcon, el, fill } from "../shared/dom.js";
import { Problem } from "../shared/sse.js";
import { api } from "./api.js";
import { editBook } from "./bookedit.js";
import { confirm, drawProblem, showToast } from "./notices.js";
import { S } from "./strings.js";
import { Uploads, acceptDrops } from "./uploads.js";

/** @import { Book, Config, Job } from "./api.js" */

const KINDS = ".epub,.pdf,.mobi,.azw3,.docx,.odt,.fb2,.md,.markdown,.rst,.adoc,.html,.htm,.xhtml,.txt,.zip";
const COVER_COLOURS = 6;
const PEN = "M4 20l1-5L16 4l4 4L9 19zM13 7l4 4";

export class BookList {
  /** @type {Book[]} */
  books = [];
  #root;
  #config;
  #getShare;
  #uploads;
  /** @type {Map<string, Promise<string | null>>} */
  #covers = new Map();
  #jobs = el("ul", { class: "jobs", "aria-label": S.add });
  /** @type {HTMLInputElement} */
  #input = el("input", { type: "file", accept: KINDS, multiple: true, hidden: true, id: "file",
    on: { change: () => { this.#uploads.send(this.#input.files || []); this.#input.value = ""; } } });
  /** @type {HTMLInputElement} */
  #folder = el("input", { type: "file", multiple: true, hidden: true, id: "folder", on: { change: () => this.#sendFolder() } });

  /**
   * @param {HTMLElement} root
   * @param {() => Partial<Config>} config
   * @param {(book: Book) => number} getShare  how much of a book has been read, from 0 to 1
   */
  constructor(root, config, getShare) {
    this.#getShare = getShare;
    this.#root = root;
    this.#folder.webkitdirectory = true;
    this.#config = config;
    this.#uploads = new Uploads(this.#jobs, {
      mostMb: () => this.#config().upload_mb || 100,
      onAdded: (job) => this.#tellAdded(job),
    });
    const showShelf = () => { location.hash = "#/"; };
    acceptDrops(() => this.#canAdd(), {
      files: (files) => { showShelf(); this.#uploads.send(files); },
      folder: (name, files) => { showShelf(); this.#uploads.sendFolder(name, files); },
    });
    fill(root, el("p", { class: "loading" }, S.loading));
  }

  #sendFolder() {
    const files = [...(this.#folder.files || [])];
    const [name = S.folder] = (files[0]?.webkitRelativePath || "").split("/").filter(Boolean);
    const inside = files.map((file) => ({ file, path: file.webkitRelativePath.split("/").slice(1).join("/") || file.name }));
    this.#folder.value = "";
    if (files.length) this.#uploads.sendFolder(name, inside);
  }

  resumeUploads() {
    return this.#uploads.resume();
  }

  #canAdd() {
    return (this.#config().may || []).includes("ingest");
  }

  /**
   * Say what became of an upload.
   * @param {Job} job
   */
  async #tellAdded(job) {
    await this.load();
    const title = this.books.find((book) => book.id === job.book_id)?.title || job.name;
    const step = job.progress?.step;
    showToast(step === "unchanged" ? S.addedBefore(title) : step === "replaced" ? S.replaced(title) : S.added(title));
  }

  async load() {
    try {
      this.books = await api.listBooks();
      this.#draw();
    } catch (error) {
      fill(this.#root, drawProblem(Problem.wrap(error), () => this.load()));
      throw error;
    }
  }

  /** Draw the books again: more may have been read of them. */
  refresh() {
    if (this.books.length) this.#draw();
  }

  #draw() {
    const canAdd = this.#canAdd();
    const drawAdd = () => el("span", { class: "row" },
      el("button", { type: "button", class: "button strong", on: { click: () => this.#input.click() } }, S.add),
      el("button", { type: "button", class: "button", on: { click: () => this.#folder.click() } }, S.addFolder));
    const body = this.books.length
      ? el("ul", { class: "books" }, this.books.map((book) => this.#drawBook(book)))
      : el("div", { class: "empty" }, el("h3", {}, S.emptyTitle), el("p", {}, canAdd ? S.empty : S.emptyReadOnly), canAdd ? drawAdd() : null);
    const heading = el("h2", {}, S.books, " ", el("small", {}, S.countBooks(this.books.length)));
    fill(this.#root,
      el("div", { class: "library-head" }, heading, canAdd && this.books.length ? drawAdd() : null, canAdd ? [this.#input, this.#folder] : null),
      canAdd ? el("p", { class: "hint" }, S.addHint) : null,
      this.#jobs, body);
  }

  /** @param {Book} book */
  #drawBook(book) {
    const cover = el("span", { class: `cover cloth-${hashText(book.id) % COVER_COLOURS}`, "aria-hidden": "true" },
      el("span", { class: "cover-title", lang: book.language || false }, book.title),
      book.authors.length ? el("span", { class: "cover-author" }, book.authors.join(", ")) : null);
    if (book.cover) this.#showCover(cover, book);
    const remove = { "aria-label": S.removeOne(book.title), title: S.removeOne(book.title), on: { click: () => this.#remove(book) } };
    const edit = { "aria-label": S.editBook.title(book.title), title: S.editBook.title(book.title), on: { click: () => this.#edit(book) } };
    return el("li", { class: "book", "data-book": book.id },
      el("a", { class: "book-link", href: `#/books/${encodeURIComponent(book.id)}` }, cover,
        el("span", { class: "book-title", dir: "auto" }, book.title),
        book.authors.length ? el("span", { class: "book-author" }, S.by(book.authors)) : null,
        el("span", { class: "book-extent" }, S.extent(book), this.#drawProgress(book))),
      this.#canAdd() ? [el("button", { type: "button", class: "edit", ...edit }, drawIcon(PEN)), el("button", { type: "button", class: "remove", ...remove }, "×")] : null);
  }

  /** @param {Book} book */
  #drawProgress(book) {
    const percent = Math.round(100 * this.#getShare(book));
    if (!percent) return null;
    return [" · ", S.readShare(percent), el("progress", { class: "book-progress", max: "100", value: percent, "aria-hidden": "true" })];
  }

  /**
   * @param {HTMLElement} cover
   * @param {Book} book
   */
  async #showCover(cover, book) {
    const edition = `${book.id} ${book.content_hash}`;
    const fetched = this.#covers.get(edition) || api.getCover(book.id);
    this.#covers.set(edition, fetched);
    const picture = await fetched;
    if (!picture) return;
    const image = el("img", { src: picture, alt: "" });
    if (!image.hasAttribute("src")) return;
    image.addEventListener("load", () => fill(cover, image));
  }

  /** @param {Book} book */
  async #edit(book) {
    const edited = await editBook(book);
    if (edited) {
      this.#covers.clear();
      await this.load();
      showToast(S.editBook.saved(edited.title));
    }
    /** @type {HTMLElement | null} */ (this.#root.querySelector(`[data-book="${CSS.escape(book.id)}"] .edit`))?.focus();
  }

  /** @param {Book} book */
  async #remove(book) {
    const yes = await confirm({ title: S.removeTitle(book.title), text: S.removeText, yes: S.remove, no: S.keep });
    if (!yes) return;
    try {
      await api.removeBook(book.id);
      await this.load();
      showToast(S.removed(book.title));
      /** @type {HTMLElement | null} */ (this.#root.querySelector("a, button"))?.focus();
    } catch (error) {
      showToast(Problem.wrap(error).message);
    }
  }
}

/** @param {string} text */
function hashText(text) {
  return [...text].reduce((sum, letter) => (sum * 31 + Number(letter.codePointAt(0))) % 9973, 7);
}
