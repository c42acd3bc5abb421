// @ts-check
/* The app: puts the parts together and follows the address.

   #/                                   the list of books
   #/books/ID                           a book, at its beginning
   #/books/ID/sections/SID?start=&end=  a section, with these characters marked
   #/books/ID/gaps                      what readers asked and did not get, for its author
   #/answers/ID                         an answer that somebody shared                                               */

import { append, el, fill } from "../shared/dom.js";
import { Problem } from "../shared/sse.js";
import { api, key } from "./api.js";
import { BookList } from "./books.js";
import { Contents, sectionAddress } from "./contents.js";
import { Conversation } from "./conversation.js";
import { Gaps, gapsAddress } from "./gaps.js";
import { MapPanel } from "./mappanel.js";
import { announceNow, drawProblem, showToast } from "./notices.js";
import { getPart } from "./parts.js";
import { Reader } from "./reader.js";
import { ScopeBar } from "./scope.js";
import { browserStorage } from "./storage.js";
import { S } from "./strings.js";

/** @import { Span } from "../shared/text.js" */
/** @import { Book, Config, Section } from "./api.js" */
/** @typedef {"auto" | "light" | "dark"} Theme */

/** @type {Theme[]} */
const THEMES = ["auto", "light", "dark"];
const THEME = "octavo.theme";
const THEME_SIGNS = { auto: "◐", light: "☀", dark: "☾" };
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
const books = new BookList(booksPane, () => config);
const reader = new Reader(readerPane, {
  onPlace: (section, page) => {
    scope.moveTo(open && open.book, section, page);
    contents.markCurrent(section.id);
    if (open) map.moveTo(open.book, section, page);
  },
  onAsk: (selection) => {
    scope.chooseSelection(selection);
    showPane("talk");
    talk.field.focus();
  },
});
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
});

/* ——— panes: side by side where there is room, one at a time where there is not ——— */

/** @param {string} name */
function showPane(name) {
  document.body.dataset.pane = name;
  for (const tab of getPart("tabs").querySelectorAll("button")) tab.setAttribute("aria-pressed", String(tab.dataset.pane === name));
}

/** @param {"books" | "book" | "gaps"} name */
function showView(name, title = "") {
  document.body.dataset.view = name;
  booksPane.hidden = name !== "books";
  readerPane.hidden = name !== "book";
  gapsPane.hidden = name !== "gaps";
  getPart("side").hidden = name !== "book";
  fill(getPart("where"), title);
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
  return showBook(parts[1], parts[2] === "sections" ? parts[3] : undefined, span);
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
  showView("books");
  scope.moveTo(null);
  talk.leaveShared();
}

/** @param {string} id */
async function showGaps(id) {
  const book = books.books.find((other) => other.id === id);
  if (!book) return showMissing(id);
  showView("gaps", book.title);
  showPane("main");
  return gaps.show(book);
}

/** @param {string} id */
async function showShared(id) {
  showView("books");
  showPane("talk");
  const final = await talk.showShared(id);
  const cited = final?.citations[0];
  if (cited) await showBook(cited.book_id, cited.section_id, [cited.start || 0, cited.end || 0]);
  showPane("talk");
}

/**
 * @param {string} id
 * @param {string | undefined} section
 * @param {Span | null} span
 */
async function showBook(id, section, span) {
  const from = openedFrom;
  openedFrom = null;
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
    contents.show(book, open.sections, [(config.may || []).includes("gaps") ? link : null, map.root]);
    scope.moveTo(book);
    if (!from && scope.kind === "all") scope.choose("book");
  }
  const { book, sections } = open;
  showView("book", book.title);
  if (!from && !span) showPane("main");
  await reader.open(book, sections, section || findFirstText(sections), { span, from });
  return undefined;
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

function drawThemeButton() {
  const getTheme = () => /** @type {Theme} */ (document.documentElement.dataset.theme || "auto");
  const showTheme = () => {
    button.setAttribute("aria-label", S.theme[getTheme()]);
    button.title = S.theme[getTheme()];
    fill(button, THEME_SIGNS[getTheme()]);
  };
  const button = el("button", { type: "button", class: "icon-button theme", on: { click: () => {
    const next = THEMES[(THEMES.indexOf(getTheme()) + 1) % THEMES.length];
    if (next === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = next;
    browserStorage.set(THEME, next);
    showTheme();
    showToast(S.theme[next]);
  } } });
  showTheme();
  return button;
}

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
    await books.load();
    delete document.body.dataset.locked;
    fill(getPart("tools"), key.get() ? drawForgetKey() : null, drawThemeButton());
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

append(getPart("book"), [booksPane, readerPane, gapsPane]);
append(getPart("tools"), [drawThemeButton()]);
for (const link of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll("[data-skip]")))
  link.addEventListener("click", (event) => {
    event.preventDefault();
    const isBook = link.dataset.skip === "book";
    showPane(isBook ? "main" : "talk");
    (isBook ? getPart("book") : talk.field).focus();
  });
readerPane.addEventListener("back", () => showPane("talk"));
addEventListener("hashchange", followAddress);
showView("books");
talk.ready = begin();
