// @ts-check
/* The app: puts the parts together and follows the address.

   #/                                   the list of books
   #/books/ID                           a book, at its beginning
   #/books/ID/sections/SID?start=&end=  a section, with these characters marked
   #/books/ID/sections/SID?at=          a section, at this character
   #/books/ID/gaps                      what readers asked and did not get, for its author
   #/answers/ID                         an answer that somebody shared                                               */

import { append, el, fill } from "../shared/dom.js";
import { Problem } from "../shared/sse.js";
import { api, key } from "./api.js";
import { BookList } from "./books.js";
import { Contents, sectionAddress } from "./contents.js";
import { Conversation } from "./conversation.js";
import { Finder } from "./find.js";
import { Gaps, gapsAddress } from "./gaps.js";
import { drawLanguages, drawPaneButton, drawSizeButtons, drawThemeButton, openPane } from "./looks.js";
import { MapPanel } from "./mappanel.js";
import { openNote } from "./notecard.js";
import { Notes } from "./notes.js";
import { announceNow, drawProblem, showToast } from "./notices.js";
import { getPart } from "./parts.js";
import { Places, measureShare } from "./place.js";
import { Reader } from "./reader.js";
import { ScopeBar } from "./scope.js";
import { S } from "./strings.js";
import { suggestFirst, suggestForShelf, suggestNext } from "./suggest.js";

/** @import { Span } from "../shared/text.js" */
/** @import { Book, Config, Section } from "./api.js" */

/** The map of a book takes a moment to make: it is asked for when the reader has come to rest. */
const OFFER_MS = 500;
/** @type {Partial<Config>} */
let config = { may: [] };
/** @type {{book: Book, sections: Section[]} | null} */
let open = null;
/** @type {HTMLElement | null} */
let openedFrom = null;

const booksPane = el("section", { class: "library", "aria-label": S.books });
const readerPane = el("section", { class: "reader", tabindex: "0", "aria-label": S.panes.reader });
const gapsPane = el("section", { class: "library", tabindex: "0", "aria-label": S.gaps.title });
const gaps = new Gaps(gapsPane);
const scope = new ScopeBar();
const map = new MapPanel();
const contents = new Contents(getPart("side"));
const places = new Places();
const books = new BookList(booksPane, () => config, (book) => places.get(book.id)?.share || 0);
const wayBack = el("div", { class: "way-back", hidden: true });
const bookmark = el("button", { type: "button", class: "link bookmark", "aria-pressed": "false", on: { click: () => {
  const top = reader.findTop();
  if (top) notes.toggleBookmark({ section: top.section, start: top.start, end: Math.min(top.end, top.start + 120) });
} } }, S.notes.bookmark);
const readerBar = el("div", { class: "reader-bar" }, drawPaneButton("side"), wayBack, bookmark);
/** @type {Notes} */
const notes = new Notes((section, start, end) => reader.findRange(section, start, end));
/** @type {Reader} */
const reader = new Reader(readerPane, wayBack, {
  onPlace: (section, page, isReading) => {
    scope.moveTo(open && open.book, section, page);
    contents.markCurrent(section.id);
    if (open) map.moveTo(open.book, section, page);
    keepPlace(isReading);
  },
  onDrawn: () => {
    notes.show();
    showBookmark();
  },
  drawTools: (selection, done) => notes.drawTools(selection, done),
  onAsk: (selection) => {
    openPane("talk");
    scope.chooseSelection(selection);
    showPane("talk");
    talk.field.focus();
  },
});
append(readerBar, [reader.views, drawSizeButtons()]);
const talk = new Conversation(getPart("talk"), {
  scope,
  open: ({ book_id, section_id, start, end }, from) => {
    openedFrom = from;
    const address = sectionAddress(book_id, section_id, start === undefined || end === undefined ? null : [start, end]);
    if (location.hash === address) followAddress();
    else location.hash = address;
    showPane("main");
  },
  hasManyBooks: () => books.books.length > 1,
  onKeyRefused: () => askForKey(S.keyWrong),
  getBook: () => open && open.book,
  /* A reload shows the conversation then, and not the answer that it began with. */
  onContinued: () => history.replaceState(null, "", open ? `#/books/${encodeURIComponent(open.book.id)}` : "#/"),
  suggestNext: (final) =>
    suggestNext(final, books.books.find((book) => book.id === final.citations[0]?.book_id), scope.limit),
});
const finder = new Finder({
  getBook: () => open && open.book,
  open: (address) => {
    if (location.hash === address) followAddress();
    else location.hash = address;
    showPane("main");
  },
});
notes.root.addEventListener("changed", () => showBookmark());

/* ——— where the reader is ——— */

let placeTimer = 0;
/** @param {boolean} isReading */
function keepPlace(isReading) {
  clearTimeout(placeTimer);
  const shown = open;
  placeTimer = setTimeout(() => {
    showBookmark();
    const top = reader.findTop();
    if (!isReading || !top || !shown || shown !== open) return;
    const isOver = reader.isAtEnd(shown.sections);
    const share = isOver ? 1 : measureShare(shown.sections, top.section, top.start);
    places.save({ book_id: shown.book.id, section_id: top.section, offset: top.start, share });
  }, 300);
}

function showBookmark() {
  const top = reader.findTop();
  const isMarked = Boolean(top && notes.findBookmark({ section: top.section, start: top.start, end: top.start + 120 }));
  bookmark.hidden = !notes.isReady || !top;
  bookmark.setAttribute("aria-pressed", String(isMarked));
  fill(bookmark, isMarked ? S.notes.unbookmark : S.notes.bookmark);
}

/* Questions to begin with follow the book and what may be looked at. */
let offered = "";
let offeredFor = "";
let offerTimer = 0;
function offerStartersSoon() {
  clearTimeout(offerTimer);
  /* Questions about another book do not wait for the new ones. */
  const shown = open?.book.id || "";
  if (shown !== offeredFor) {
    talk.offerStarters([]);
    [offered, offeredFor] = ["", shown];
  }
  offerTimer = setTimeout(() => offerStarters(), OFFER_MS);
}

async function offerStarters() {
  const shown = open;
  if (!talk.isEmpty || "locked" in document.body.dataset) return;
  const wanted = JSON.stringify([shown?.book.id, scope.limit, books.books.length]);
  if (wanted === offered) return;
  offered = wanted;
  const questions = await (shown ? suggestFirst(shown.book, shown.sections, scope.limit) : suggestForShelf(places.sortByReading(books.books)));
  if (wanted === offered) talk.offerStarters(questions);
}
scope.root.addEventListener("scope", () => offerStartersSoon());
getPart("talk").addEventListener("emptied", () => offerStartersSoon());

/* ——— panes: side by side where there is room, one at a time where there is not ——— */

/** @param {string} name */
function showPane(name) {
  document.body.dataset.pane = name;
  for (const tab of getPart("tabs").querySelectorAll("button")) tab.setAttribute("aria-pressed", String(tab.dataset.pane === name));
  // What could not be measured while the pane was hidden.
  if (name === "talk") talk.appear();
  if (name === "main") showBookmark();
}

/**
 * @param {"books" | "book" | "gaps"} name
 * @param {string} [title]
 * @param {string} [language] that the title is in, if it is known
 */
function showView(name, title = "", language = "") {
  document.body.dataset.view = name;
  booksPane.hidden = name !== "books";
  readerBar.hidden = name !== "book";
  readerPane.hidden = name !== "book";
  gapsPane.hidden = name !== "gaps";
  getPart("side").hidden = name !== "book";
  fill(getPart("where"), title ? el("span", { dir: "auto", lang: language || false }, title) : "");
  document.title = title ? `${title} · ${S.name}` : S.name;
  const drawTab = (/** @type {string} */ to, /** @type {string} */ text) =>
    el("button", { type: "button", "data-pane": to, on: { click: () => showPane(to) } }, text);
  fill(getPart("tabs"), name === "book"
    ? [drawTab("side", S.contents), drawTab("main", S.panes.reader), drawTab("talk", S.panes.talk)]
    : [drawTab("main", S.panes.books), drawTab("talk", S.panes.talk)]);
  const here = document.body.dataset.pane || "main";
  showPane(name !== "book" && here === "side" ? "main" : here);
}

/* ——— the address ——— */

async function followAddress() {
  const [path, query = ""] = location.hash.replace(/^#/, "").split("?");
  const parts = path.split("/").filter(Boolean).map(decode);
  if (parts[0] === "answers" && parts[1]) return showShared(parts[1]);
  if (parts[0] !== "books" || !parts[1]) return showBooks();
  if (parts[2] === "gaps") return showGaps(parts[1]);
  const given = new URLSearchParams(query);
  /** @type {Span | null} */
  const span = given.has("start") && given.has("end") ? [Number(given.get("start")), Number(given.get("end"))] : null;
  await showBook(parts[1], parts[2] === "sections" ? parts[3] : undefined, span);
  if (!span && given.has("at") && parts[3]) reader.scrollToCharacter(parts[3], Number(given.get("at")) || 0);
  return undefined;
}

/** @param {string} text */
function decode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function showBooks() {
  open = null;
  reader.clear();
  contents.clear();
  books.refresh();
  showView("books");
  scope.moveTo(null);
  offerStartersSoon();
  talk.leaveShared();
}

/** @param {string} id */
async function showGaps(id) {
  const book = books.books.find((other) => other.id === id);
  if (!book) return showMissing(id);
  showView("gaps", book.title, book.language);
  showPane("main");
  return gaps.show(book);
}

/** @param {string} id */
async function showShared(id) {
  showView("books");
  showPane("talk");
  const address = location.hash;
  const final = await talk.showShared(id);
  const cited = final?.citations[0];
  if (cited && location.hash === address) await showBook(cited.book_id, cited.section_id, [cited.start || 0, cited.end || 0]);
  // The reader may have gone elsewhere meanwhile.
  if (location.hash === address) showPane("talk");
}

/**
 * @param {string} id
 * @param {string | undefined} section
 * @param {Span | null} span
 */
async function showBook(id, section, span) {
  const from = openedFrom;
  openedFrom = null;
  const isNew = open?.book.id !== id;
  if (open?.book.id !== id) {
    const book = books.books.find((other) => other.id === id);
    if (!book) return showMissing(id);
    try {
      open = { book, sections: await api.getContents(id) };
    } catch (error) {
      showView("book");
      fill(readerPane, drawProblem(Problem.wrap(error), () => followAddress()));
      return undefined;
    }
    const link = el("a", { class: "gaps-link", href: gapsAddress(book.id) }, S.gaps.link);
    contents.show(book, open.sections, [(config.may || []).includes("gaps") ? link : null, map.root, notes.root]);
    notes.open(book).then(() => showBookmark());
    scope.moveTo(book);
    offerStartersSoon();
    if (!from && scope.kind === "all") scope.choose("book", { keep: false });
  }
  const { book, sections } = open;
  showView("book", book.title, book.language);
  if (!from && !span) showPane("main");
  const kept = section || span ? null : places.get(book.id);
  const resumed = kept && sections.some((other) => other.id === kept.section_id) ? kept : null;
  await reader.open(book, sections, section || resumed?.section_id || findFirstText(sections), { span, from });
  if (resumed) offerBeginning(book, sections, resumed);
  if (isNew && !from) scope.restore(book, (id, start, end) => reader.findRange(id, start, end));
  return undefined;
}

/**
 * Go on where the reader stopped, and offer the beginning of the book instead.
 * @param {Book} book
 * @param {Section[]} sections
 * @param {import("./api.js").ReadingPlace} place
 */
function offerBeginning(book, sections, { section_id, offset }) {
  reader.scrollToCharacter(section_id, offset);
  const first = findFirstText(sections);
  if (!first || (section_id === first && !offset)) return;
  showToast(S.resumed, { text: S.fromBeginning, act: () => { location.hash = sectionAddress(book.id, first); } });
}

/** @param {Section[]} sections */
function findFirstText(sections) {
  return (sections.find((section) => section.characters > 0) || sections[0])?.id;
}

/** @param {string} id */
function showMissing(id) {
  showView("book");
  contents.clear();
  fill(readerPane, drawProblem({ message: S.noSuchBook(id), hint: S.noSuchBookHint }),
    el("a", { class: "button", href: "#/" }, S.toBooks));
}

/* ——— colours, keys, skip links ——— */

function askForKey(said = "") {
  const field = el("input", { class: "field", type: "password", id: "key", autocomplete: "off", spellcheck: "false", required: true });
  const submit = async (/** @type {Event} */ event) => {
    event.preventDefault();
    key.set(field.value.trim());
    await begin(S.keyWrong);
  };
  key.forget();
  document.body.dataset.locked = "";
  showView("books");
  fill(booksPane, el("form", { class: "key-card", on: { submit } },
    el("h2", {}, S.keyTitle), el("p", {}, S.keyText),
    said ? el("p", { class: "problem-what", role: "alert" }, said) : null,
    el("label", { for: "key" }, S.key), field,
    el("button", { type: "submit", class: "button strong" }, S.keyOpen)));
  showPane("main");
  field.focus();
}

function drawForgetKey() {
  const forget = () => {
    key.forget();
    location.reload();
  };
  return el("button", { type: "button", class: "link", on: { click: forget } }, S.forgetKey);
}

async function begin(wrong = "") {
  try {
    config = await api.getConfig();
    if (config.keys_required && !key.get()) return askForKey();
    await Promise.all([places.load(), books.load()]);
    delete document.body.dataset.locked;
    fill(getPart("tools"), key.get() ? drawForgetKey() : null, finder.button, drawLanguages(), drawThemeButton(), drawPaneButton("talk"));
    const isShared = location.hash.startsWith("#/answers/");
    await Promise.all([followAddress(), isShared ? null : talk.restore(), books.resumeUploads()]);
  } catch (error) {
    const problem = Problem.wrap(error);
    if (problem.status === 401 || problem.status === 403) return askForKey(key.get() ? wrong || S.keyWrong : "");
    announceNow(problem.message);
    fill(booksPane, drawProblem(problem, () => begin()));
  }
  return undefined;
}

/* The parts that stand in index.html speak the reader's language too. */
getPart("side").setAttribute("aria-label", S.contents);
getPart("talk").setAttribute("aria-label", S.talk);
getPart("tabs").setAttribute("aria-label", S.parts);
append(getPart("book"), [booksPane, readerBar, readerPane, gapsPane]);
append(getPart("tools"), [drawThemeButton()]);
for (const link of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll("[data-skip]"))) {
  fill(link, link.dataset.skip === "book" ? S.skipToBook : S.skipToQuestion);
  link.addEventListener("click", (event) => {
    event.preventDefault();
    const isBook = link.dataset.skip === "book";
    if (!isBook) openPane("talk");
    showPane(isBook ? "main" : "talk");
    (isBook ? getPart("book") : talk.field).focus();
  });
}
document.addEventListener("opennote", (event) => {
  if (event instanceof CustomEvent && event.target instanceof HTMLElement) openNote(event.target, event.detail);
});
readerPane.addEventListener("back", () => showPane("talk"));
addEventListener("hashchange", followAddress);
showView("books");
talk.ready = begin();
