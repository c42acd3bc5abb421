// @ts-check
/* The list of conversations: of the open book or of the whole library, to be opened again, renamed and deleted. */

import { drawIcon, el, fill } from "../shared/dom.js";
import { Problem } from "../shared/sse.js";
import { shorten } from "../shared/text.js";
import { api } from "./api.js";
import { confirm, drawProblem, showToast } from "./notices.js";
import { S } from "./strings.js";

/** @import { Book, SessionEntry } from "./api.js" */

/**
 * @typedef {object} Surroundings
 * @property {() => Book | null} getBook  the open book
 * @property {() => string | null} getCurrent  the session that is shown
 * @property {(session: string) => unknown} open
 * @property {(session: string) => unknown} onDeleted
 */

const PEN = "M4 20l1-5L16 4l4 4L9 19zM14 6l4 4";
const BIN = "M5 7h14M10 7V4h4v3M7 7l1 13h8l1-13";

export class TalkList {
  #surroundings;
  #ofBook = true;
  #wanted = 0;
  #shownFor = "";
  #list = el("div", { class: "talks-list" });
  #heading = el("h3", { class: "quiet", tabindex: "-1" }, S.talks.title);
  #choice = el("div", { class: "talks-choice", role: "group", "aria-label": S.talks.which });
  root = el("section", { class: "talks", hidden: true, "aria-label": S.talks.title }, this.#heading, this.#choice, this.#list);

  /** @param {Surroundings} surroundings */
  constructor(surroundings) {
    this.#surroundings = surroundings;
  }

  /** @param {boolean} isShown */
  show(isShown) {
    this.root.hidden = !isShown;
    if (!isShown) return;
    this.#load();
    this.#heading.focus();
  }

  /** Take in that another book may be open. */
  follow() {
    if (!this.root.hidden && this.#shownFor !== (this.#surroundings.getBook()?.id || "")) this.#load();
  }

  async #load() {
    const wanted = (this.#wanted += 1);
    const book = this.#surroundings.getBook();
    this.#shownFor = book?.id || "";
    const isOfBook = Boolean(book) && this.#ofBook;
    this.#drawChoice(book, isOfBook);
    if (!this.#list.childElementCount) fill(this.#list, el("p", { class: "loading" }, S.loading));
    /** @type {Node} */
    let shown;
    try {
      const found = (await api.listSessions(isOfBook && book ? book.id : "")).filter((entry) => entry.query_count > 0);
      shown = found.length
        ? el("ul", {}, found.map((entry) => this.#drawEntry(entry)))
        : el("p", { class: "hint" }, isOfBook ? S.talks.noneOfBook : S.talks.none);
    } catch (error) {
      shown = drawProblem(Problem.wrap(error), () => this.#load());
    }
    if (wanted === this.#wanted) fill(this.#list, shown);
  }

  /**
   * @param {Book | null} book
   * @param {boolean} isOfBook
   */
  #drawChoice(book, isOfBook) {
    const button = (/** @type {boolean} */ ofBook, /** @type {string} */ text) =>
      el("button", { type: "button", class: "chip", "aria-pressed": String(ofBook === isOfBook), on: { click: () => {
        this.#ofBook = ofBook;
        this.#load();
      } } }, text);
    this.#choice.hidden = !book;
    fill(this.#choice, book ? [button(true, S.talks.ofBook), button(false, S.talks.all)] : null);
  }

  /** @param {SessionEntry} entry */
  #drawEntry(entry) {
    const title = shorten(entry.title || S.talks.untitled, 120);
    const isCurrent = entry.session_id === this.#surroundings.getCurrent();
    const tool = (/** @type {string} */ label, /** @type {string} */ path, /** @type {() => void} */ act) =>
      el("button", { type: "button", class: "tool", "aria-label": label, title: label, on: { click: act } }, drawIcon(path));
    const item = el("li", { class: "talk-entry" },
      el("button", { type: "button", class: "talk-open", "aria-current": isCurrent ? "true" : null,
        on: { click: () => this.#surroundings.open(entry.session_id) } },
      el("span", { class: "talk-title" }, title),
      el("span", { class: "talk-when" }, S.talks.when(entry.start_time, entry.query_count))),
      tool(S.talks.rename(title), PEN, () => this.#rename(item, entry)),
      tool(S.talks.remove(title), BIN, () => this.#remove(entry)));
    return item;
  }

  /**
   * @param {HTMLElement} item
   * @param {SessionEntry} entry
   */
  #rename(item, entry) {
    const field = el("input", { class: "field", maxlength: "200", value: entry.title || "", "aria-label": S.talks.newTitle });
    const save = async (/** @type {Event} */ event) => {
      event.preventDefault();
      try {
        await api.renameSession(entry.session_id, field.value.trim());
      } catch (error) {
        showToast(Problem.wrap(error).message);
      }
      this.#load();
    };
    const leave = (/** @type {KeyboardEvent} */ event) => {
      if (event.key !== "Escape") return;
      event.stopPropagation();
      this.#load();
    };
    fill(item, el("form", { class: "talk-rename", on: { submit: save, keydown: leave } }, field,
      el("button", { type: "submit", class: "button strong" }, S.save)));
    field.select();
  }

  /** @param {SessionEntry} entry */
  async #remove(entry) {
    const title = shorten(entry.title || S.talks.untitled, 80);
    if (!await confirm({ title: S.talks.removeTitle(title), text: S.talks.removeText, yes: S.delete, no: S.keep })) return;
    try {
      await api.deleteSession(entry.session_id);
      this.#surroundings.onDeleted(entry.session_id);
      showToast(S.talks.removed);
    } catch (error) {
      showToast(Problem.wrap(error).message);
    }
    this.#load();
  }
}
