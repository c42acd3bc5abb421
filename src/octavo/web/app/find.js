// @ts-check
/* Find: Ctrl K, ⌘ K or / opens a field that searches the open book or the whole library while you type.

   A result opens like a citation: its best sentence is marked in the reader. Everything from a book is set as text. */

import { drawIcon, el, fill } from "../shared/dom.js";
import { Problem } from "../shared/sse.js";
import { countCharacters, shorten, splitAtMarks } from "../shared/text.js";
import { describePlace } from "../shared/turn.js";
import { api } from "./api.js";
import { sectionAddress } from "./contents.js";
import { drawProblem } from "./notices.js";
import { S } from "./strings.js";

/** @import { Span } from "../shared/text.js" */
/** @import { Book, Passage } from "./api.js" */

const LENS = "M10.500 4a6.500 6.500 0 1 0 0 13a6.500 6.500 0 0 0 0-13M15.500 15.500L20 20";
const TYPING_MS = 250;
const LEAST = 2;
const SENTENCE = /[^.!?…\n]+(?:[.!?…]+["”’»)]*|\n|$)/gu;

/** @param {string} text */
function listWords(text) {
  return text.toLowerCase().match(/[\p{L}\p{N}]{2,}/gu) || [];
}

/**
 * Find the sentence of a text that has most of the words, as a pair of UTF-16 offsets.
 * @param {string} text
 * @param {readonly string[]} words
 * @returns {Span}
 */
export function findBestSentence(text, words) {
  /** @type {Span} */
  let best = [0, text.length];
  let most = 0;
  for (const found of text.matchAll(SENTENCE)) {
    const sentence = found[0].trimEnd();
    const lead = sentence.length - sentence.trimStart().length;
    const held = sentence.toLowerCase();
    const score = words.filter((word) => held.includes(word)).length + (held.includes(words.join(" ")) ? words.length : 0);
    if (score <= most || lead === sentence.length) continue;
    most = score;
    best = [found.index + lead, found.index + sentence.length];
  }
  return best;
}

/**
 * Find where each of the words begins in a line, as pairs of character offsets.
 * @param {string} line
 * @param {readonly string[]} words
 * @returns {Span[]}
 */
function findWords(line, words) {
  /** @type {Span[]} */
  const found = [];
  for (const word of words)
    for (let at = line.toLowerCase().indexOf(word); at >= 0; at = line.toLowerCase().indexOf(word, at + word.length))
      found.push([countCharacters(line.slice(0, at)), countCharacters(line.slice(0, at + word.length))]);
  return found;
}

export class Finder {
  #getBook;
  #open;
  #ofBook = true;
  #request = 0;
  #timer = 0;
  #chosen = -1;
  /** @type {HTMLElement[]} */
  #options = [];
  #field = el("input", { type: "search", class: "field", id: "find", autocomplete: "off", spellcheck: "false", maxlength: "300",
    role: "combobox", "aria-expanded": "false", "aria-controls": "find-results", "aria-autocomplete": "list",
    placeholder: S.find.placeholder, on: { input: () => this.#searchSoon(), keydown: (event) => this.#pressKey(event) } });
  #choice = el("div", { class: "talks-choice", role: "group", "aria-label": S.find.where });
  #status = el("p", { class: "hint find-status", role: "status" });
  #results = el("div", { class: "find-results", id: "find-results", role: "listbox", "aria-label": S.find.results });
  /** @type {HTMLDialogElement} */
  #dialog = el("dialog", { class: "dialog finder", "aria-labelledby": "find-title" },
    el("div", { class: "row find-head" },
      el("h2", { id: "find-title" }, S.find.title),
      el("button", { type: "button", class: "icon-button", "aria-label": S.close, title: S.close, on: { click: () => this.#dialog.close() } }, "×")),
    el("label", { for: "find", class: "quiet" }, S.find.title), this.#field, this.#choice, this.#status, this.#results);

  /**
   * @param {{getBook: () => Book | null, open: (address: string) => void}} given
   */
  constructor({ getBook, open }) {
    this.#getBook = getBook;
    this.#open = open;
    document.body.append(this.#dialog);
    this.#dialog.addEventListener("pointerdown", (event) => {
      const { left, right, top, bottom } = this.#dialog.getBoundingClientRect();
      const isInside = event.clientX >= left && event.clientX <= right && event.clientY >= top && event.clientY <= bottom;
      if (!isInside) this.#dialog.close();
    });
    document.addEventListener("keydown", (event) => this.#pressShortcut(event));
    this.button = el("button", { type: "button", class: "icon-button find-button", "aria-label": S.find.open, title: S.find.open,
      "aria-keyshortcuts": "Control+K Meta+K /", on: { click: () => this.show() } }, drawIcon(LENS));
  }

  show() {
    if (this.#dialog.open) return;
    this.#drawChoice();
    this.#dialog.showModal();
    this.#field.select();
  }

  /** @param {KeyboardEvent} event */
  #pressShortcut(event) {
    if (event.defaultPrevented || event.isComposing || "locked" in document.body.dataset) return;
    const isCommand = (event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey && event.key.toLowerCase() === "k";
    const isSlash = event.key === "/" && !event.ctrlKey && !event.metaKey && !event.altKey && !isField(event.target);
    if (!isCommand && !isSlash) return;
    if (document.querySelector("dialog[open]") && !this.#dialog.open) return;
    event.preventDefault();
    this.show();
  }

  #drawChoice() {
    const book = this.#getBook();
    const button = (/** @type {boolean} */ ofBook, /** @type {string} */ text) =>
      el("button", { type: "button", class: "chip", "aria-pressed": String(ofBook === this.#ofBook), on: { click: () => {
        this.#ofBook = ofBook;
        this.#drawChoice();
        this.#search();
      } } }, text);
    this.#choice.hidden = !book;
    fill(this.#choice, book ? [button(true, S.find.inBook(shorten(book.title, 40))), button(false, S.find.inAll)] : null);
  }

  #searchSoon() {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#search(), TYPING_MS);
  }

  async #search() {
    const request = (this.#request += 1);
    const query = this.#field.value.trim();
    if (query.length < LEAST) return this.#draw([], []);
    const book = this.#getBook();
    fill(this.#status, S.find.working);
    try {
      const found = await api.search(query, book && this.#ofBook ? book.id : "");
      if (request === this.#request) this.#draw(found, listWords(query), S.find.count(found.length));
    } catch (error) {
      if (request !== this.#request) return undefined;
      this.#draw([], []);
      fill(this.#results, drawProblem(Problem.wrap(error), () => this.#search()));
    }
    return undefined;
  }

  /**
   * @param {Passage[]} found
   * @param {string[]} words
   */
  #draw(found, words, status = "") {
    fill(this.#status, status);
    this.#options = found.map((passage, number) => this.#drawResult(passage, words, number));
    fill(this.#results, this.#options);
    this.#field.setAttribute("aria-expanded", String(found.length > 0));
    this.#choose(found.length ? 0 : -1);
  }

  /**
   * @param {Passage} passage
   * @param {string[]} words
   * @param {number} number
   */
  #drawResult(passage, words, number) {
    const [from, to] = findBestSentence(passage.content, words);
    const start = passage.start + countCharacters(passage.content.slice(0, from));
    const end = start + countCharacters(passage.content.slice(from, to));
    const line = shorten(passage.content.slice(from, to), 240);
    const { book_id, section_id, section, page_label, page_number } = passage;
    const place = describePlace({ book_id, section_id, section, title: "", page: page_label ?? page_number }, S.page);
    return el("div", { class: "find-result", role: "option", id: `found-${number}`, "aria-selected": "false",
      "data-address": sectionAddress(passage.book_id, passage.section_id, [start, end]),
      on: { click: () => this.#go(number), mousemove: () => this.#choose(number) } },
    el("span", { class: "find-text" }, splitAtMarks(line, findWords(line, words)).map(({ text, marked }) => (marked ? el("mark", {}, text) : text))),
    el("span", { class: "source-place" }, [place, passage.source_title].filter(Boolean).join(" · ")));
  }

  /** @param {number} number */
  #choose(number) {
    if (number === this.#chosen && this.#options[number]?.getAttribute("aria-selected") === "true") return;
    this.#chosen = number;
    this.#options.forEach((option, other) => option.setAttribute("aria-selected", String(other === number)));
    const option = this.#options[number];
    if (option) this.#field.setAttribute("aria-activedescendant", option.id);
    else this.#field.removeAttribute("aria-activedescendant");
    option?.scrollIntoView({ block: "nearest" });
  }

  /** @param {KeyboardEvent} event */
  #pressKey(event) {
    const last = this.#options.length - 1;
    if (event.key === "ArrowDown") this.#choose(Math.min(last, this.#chosen + 1));
    else if (event.key === "ArrowUp") this.#choose(Math.max(0, this.#chosen - 1));
    else if (event.key === "Enter" && !event.isComposing) this.#go(this.#chosen);
    else return;
    event.preventDefault();
  }

  /** @param {number} number */
  #go(number) {
    const address = this.#options[number]?.dataset.address;
    if (!address) return;
    this.#dialog.close();
    this.#open(address);
  }
}

/** @param {unknown} node */
function isField(node) {
  return node instanceof HTMLElement && (node.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(node.nodeName));
}
