// @ts-check
/* Bookmarks, highlights and notes: made from a selection, shown in the text, listed beside the contents.

   A note is at the characters of a section, so it opens exactly its words. Those whose words are no longer in the book are
   listed with the words they had. Everything is set as text. */

import { drawIcon, el, fill } from "../shared/dom.js";
import { highlight } from "../shared/selection.js";
import { Problem } from "../shared/sse.js";
import { countCharacters, shorten } from "../shared/text.js";
import { api } from "./api.js";
import { sectionAddress } from "./contents.js";
import { drawProblem, saveFile, showToast } from "./notices.js";
import { S } from "./strings.js";

/** @import { Book, Note, NoteKind } from "./api.js" */
/** @import { Selected } from "./scope.js" */

const MOST = 5000;
const PEN = "M4 20l1-5L16 4l4 4L9 19zM14 6l4 4";
const BIN = "M5 7h14M10 7V4h4v3M7 7l1 13h8l1-13";
const SIGNS = { bookmark: "⚑", highlight: "▮", note: "✎" };

export class Notes {
  #findRange;
  /** @type {Book | null} */
  #book = null;
  /** @type {Note[]} */
  #notes = [];
  #title = el("summary", {}, S.notes.title);
  #list = el("div", { class: "notes-list" });
  /** @type {HTMLDetailsElement} */
  root = el("details", { class: "map notes", hidden: true }, this.#title, this.#list);

  /** @param {(section: string, start: number, end: number) => Range | null} findRange */
  constructor(findRange) {
    this.#findRange = findRange;
  }

  get isReady() {
    return !this.root.hidden;
  }

  /** @param {Book} book */
  async open(book) {
    this.#book = book;
    this.#notes = [];
    this.root.hidden = true;
    try {
      const notes = await api.listNotes(book.id);
      if (this.#book !== book) return;
      this.#notes = notes;
      this.root.hidden = false;
    } catch (error) {
      /* A key that strangers share has no notes. */
      if (Problem.wrap(error).status !== 403) fill(this.#list, drawProblem(Problem.wrap(error), () => this.open(book)));
    }
    this.#draw();
  }

  /** Show the notes in the text that is drawn now. */
  show() {
    /** @type {Record<NoteKind, Range[]>} */
    const ranges = { bookmark: [], highlight: [], note: [] };
    for (const { kind, section_id, start, end, found } of this.#notes) {
      const range = found ? this.#findRange(section_id, start, end) : null;
      if (range) ranges[kind].push(range);
    }
    for (const kind of /** @type {NoteKind[]} */ (Object.keys(ranges))) highlight(`noted-${kind}`, ranges[kind]);
  }

  /**
   * Draw the buttons that make a note of a selection.
   * @param {Selected} selected
   * @param {() => void} done
   */
  drawTools(selected, done) {
    if (!this.isReady || countCharacters(selected.text) > MOST) return null;
    const button = (/** @type {string} */ text, /** @type {() => void} */ act) =>
      el("button", { type: "button", class: "button", on: {
        mousedown: (event) => event.preventDefault(),
        click: () => { done(); act(); },
      } }, text);
    return [button(S.notes.highlight, () => this.#add("highlight", selected)), button(S.notes.note, () => this.#write(selected))];
  }

  /**
   * Put a bookmark at a passage, or take it away again.
   * @param {{section: string, start: number, end: number}} passage
   */
  async toggleBookmark(passage) {
    const known = this.findBookmark(passage);
    if (known) return this.#remove(known);
    return this.#add("bookmark", passage);
  }

  /** @param {{section: string, start: number, end: number}} passage */
  findBookmark({ section, start, end }) {
    return this.#notes.find((note) => note.kind === "bookmark" && note.section_id === section && note.start < end && note.end > start);
  }

  /**
   * @param {NoteKind} kind
   * @param {{section: string, start: number, end: number}} passage
   */
  async #add(kind, { section, start, end }, comment = "") {
    if (!this.#book) return;
    await this.#change(async () => {
      await api.addNote(this.#book?.id || "", { kind, section_id: section, start, end, comment });
      getSelection()?.removeAllRanges();
      showToast(S.notes.added[kind]);
    });
  }

  /** @param {Note} note */
  #remove(note) {
    return this.#change(async () => {
      await api.deleteNote(note.id);
      const again = { section: note.section_id, start: note.start, end: note.end };
      showToast(S.notes.removed, note.found ? { text: S.undo, act: () => this.#add(note.kind, again, note.comment) } : null);
    });
  }

  /** @param {() => Promise<unknown>} act */
  async #change(act) {
    const book = this.#book;
    try {
      await act();
      if (book && this.#book === book) this.#notes = await api.listNotes(book.id);
    } catch (error) {
      showToast(Problem.wrap(error).message);
    }
    this.#draw();
    this.root.dispatchEvent(new CustomEvent("changed"));
  }

  /**
   * Ask for the words of a note: a new one on a selection, or one that is there.
   * @param {Selected | Note} about
   */
  #write(about) {
    const old = "id" in about ? about : null;
    const field = el("textarea", { class: "field", rows: "5", maxlength: "5000", id: "note-text" }, old?.comment || "");
    const save = (/** @type {Event} */ event) => {
      event.preventDefault();
      dialog.close();
      const comment = field.value.trim();
      if (old) this.#change(() => api.changeNote(old.id, { comment, kind: comment && old.kind === "highlight" ? "note" : old.kind }));
      else if ("section" in about && "range" in about) this.#add("note", about, comment);
    };
    /** @type {HTMLDialogElement} */
    const dialog = el("dialog", { class: "dialog", "aria-labelledby": "note-title" },
      el("h2", { id: "note-title" }, S.notes.write),
      el("blockquote", { class: "about" }, shorten(about.text, 240)),
      el("form", { on: { submit: save } }, el("label", { for: "note-text", class: "quiet" }, S.notes.write), field,
        el("div", { class: "row end" },
          el("button", { type: "button", class: "button", on: { click: () => dialog.close() } }, S.cancel),
          el("button", { type: "submit", class: "button strong" }, S.save))));
    dialog.addEventListener("close", () => dialog.remove());
    document.body.append(dialog);
    dialog.showModal();
    field.focus();
  }

  #draw() {
    this.show();
    fill(this.#title, S.notes.count(this.#notes.length));
    if (!this.isReady) return;
    const exports = /** @type {const} */ ([["md", "Markdown"], ["csv", "CSV"], ["json", "JSON"]]);
    fill(this.#list, this.#notes.length
      ? [el("ul", { class: "map-quotes" }, this.#notes.map((note) => this.#drawNote(note))),
        el("p", { class: "notes-export" }, S.notes.export, " ", exports.map(([format, name]) =>
          [el("button", { type: "button", class: "link", on: { click: () => this.#export(format) } }, name), " "]))]
      : el("p", { class: "map-note" }, S.notes.none));
  }

  /** @param {Note} note */
  #drawNote(note) {
    const words = [
      el("span", { class: "note-kind", "aria-hidden": "true" }, SIGNS[note.kind], " "),
      el("span", { class: "quiet" }, S.notes.kinds[note.kind], ": "),
      el("span", { class: "note-words" }, shorten(note.text, 180)),
      note.comment ? el("span", { class: "note-comment" }, note.comment) : null,
      el("span", { class: "source-place" }, note.found ? [note.section, note.page ? `, ${S.page(note.page)}` : ""] : S.notes.gone),
    ];
    const tool = (/** @type {string} */ label, /** @type {string} */ path, /** @type {() => void} */ act) =>
      el("button", { type: "button", class: "tool", "aria-label": label, title: label, on: { click: act } }, drawIcon(path));
    const name = shorten(note.text, 40);
    return el("li", { class: "note" },
      note.found && this.#book
        ? el("a", { class: "source", href: sectionAddress(this.#book.id, note.section_id, [note.start, note.end]) }, words)
        : el("div", { class: "source gone" }, words),
      el("span", { class: "note-tools" },
        tool(S.notes.edit(name), PEN, () => this.#write(note)), tool(S.notes.remove(name), BIN, () => this.#remove(note))));
  }

  /** @param {"md" | "csv" | "json"} format */
  async #export(format) {
    try {
      saveFile(await api.exportNotes(this.#book?.id || "", format), `${S.notes.exportName}.${format}`);
    } catch (error) {
      showToast(Problem.wrap(error).message);
    }
  }
}
