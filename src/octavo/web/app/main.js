/* The app: puts the parts together and follows the address.

   #/                                   the shelf
   #/books/ID                           a book, at its beginning
   #/books/ID/sections/SID?start=&end=  a section, with these characters marked
   #/answers/ID                         an answer that somebody shared                                               */

import { add, el, fill } from "../shared/dom.js";
import { api, key } from "./api.js";
import { Contents, sectionAddress } from "./contents.js";
import { Conversation } from "./conversation.js";
import { alarm, problemCard, toast } from "./notices.js";
import { Reader } from "./reader.js";
import { ScopeBar } from "./scope.js";
import { Shelf } from "./shelf.js";
import { lasting } from "./storage.js";
import { S } from "./strings.js";

const node = (id) => document.getElementById(id);
const THEMES = ["auto", "light", "dark"];
const THEME = "octavo.theme";
let config = { may: [] };
let open = { id: "", book: null, sections: [] };
let from = null;

const shelfPane = el("section", { class: "shelf", "aria-label": S.shelf });
const readerPane = el("section", { class: "reader", tabindex: "0", "aria-label": S.panes.reader });
const scope = new ScopeBar();
const contents = new Contents(node("side"));
const shelf = new Shelf(shelfPane, { config: () => config });
const reader = new Reader(readerPane, {
  onPlace: ({ section, page }) => {
    scope.moved(open.book, section, page);
    contents.current(section.id);
  },
  onAsk: (selection) => {
    scope.picked(selection);
    pane("talk");
    talk.field.focus();
  },
});
const talk = new Conversation(node("talk"), {
  scope,
  open: (cited, button) => {
    from = button;
    const span = cited.start === undefined ? null : [cited.start, cited.end];
    const address = sectionAddress(cited.book_id, cited.section_id, span);
    if (location.hash === address) route();
    else location.hash = address;
    pane("main");
  },
  manyBooks: () => shelf.books.length > 1,
  onAsk: () => askForKey(S.keyWrong),
});

/* ——— panes: side by side where there is room, one at a time where there is not ——— */

function pane(name) {
  document.body.dataset.pane = name;
  for (const tab of node("tabs").children) tab.setAttribute("aria-pressed", String(tab.dataset.pane === name));
}

function view(name, title = "") {
  document.body.dataset.view = name;
  shelfPane.hidden = name !== "shelf";
  readerPane.hidden = name !== "book";
  node("side").hidden = name !== "book";
  fill(node("where"), title);
  document.title = title ? `${title} · ${S.name}` : S.name;
  const tab = (to, text) => el("button", { type: "button", "data-pane": to, on: { click: () => pane(to) } }, text);
  fill(node("tabs"), name === "book"
    ? [tab("side", S.contents), tab("main", S.panes.reader), tab("talk", S.panes.talk)]
    : [tab("main", S.panes.shelf), tab("talk", S.panes.talk)]);
  const here = document.body.dataset.pane;
  pane(name === "shelf" && here === "side" ? "main" : here);
}

/* ——— the address ——— */

async function route() {
  const [path, query = ""] = location.hash.replace(/^#/, "").split("?");
  const parts = path.split("/").filter(Boolean).map(decoded);
  if (parts[0] === "answers" && parts[1]) return showShared(parts[1]);
  if (parts[0] !== "books" || !parts[1]) return showShelf();
  const asked = new URLSearchParams(query);
  const span = asked.has("start") && asked.has("end") ? [Number(asked.get("start")), Number(asked.get("end"))] : null;
  return showBook(parts[1], parts[2] === "sections" ? parts[3] : null, span);
}

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function showShelf() {
  open = { id: "", book: null, sections: [] };
  reader.clear();
  contents.clear();
  view("shelf");
  scope.moved(null);
  talk.leaveShared();
}

async function showShared(id) {
  view("shelf");
  pane("talk");
  const final = await talk.showShared(id);
  const cited = final && final.citations[0];
  if (cited) await showBook(cited.book_id, cited.section_id, [cited.start, cited.end]);
  pane("talk");
}

async function showBook(id, section, span) {
  const led = from;
  from = null;
  const entered = open.id !== id;
  if (entered) {
    const book = shelf.books.find((other) => other.id === id);
    if (!book) return missing(id);
    try {
      open = { id, book, sections: await api.contents(id) };
    } catch (problem) {
      view("book");
      fill(readerPane, problemCard(problem, () => route()));
      return undefined;
    }
    contents.show(book, open.sections);
    scope.moved(book);
    if (!led && scope.kind === "shelf") scope.choose("book");
  }
  view("book", open.book.title);
  if (!led && !span) pane("main");
  await reader.open(open.book, open.sections, section || firstToRead(open.sections), { span, from: led });
  return undefined;
}

function firstToRead(sections) {
  return (sections.find((section) => section.characters > 0) || sections[0] || {}).id;
}

function missing(id) {
  view("book");
  contents.clear();
  fill(readerPane, problemCard(Object.assign(new Error(S.noSuchBook(id)), { hint: S.noSuchBookHint })),
    el("a", { class: "button", href: "#/" }, S.toShelf));
}

/* ——— colours, keys, skip links ——— */

function themeButton() {
  const button = el("button", { type: "button", class: "icon-button theme", on: { click: () => {
    const next = THEMES[(THEMES.indexOf(now()) + 1) % THEMES.length];
    if (next === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = next;
    lasting.set(THEME, next);
    label();
    toast(S.theme[next]);
  } } });
  const now = () => document.documentElement.dataset.theme || "auto";
  const label = () => {
    button.setAttribute("aria-label", S.theme[now()]);
    button.title = S.theme[now()];
    fill(button, { auto: "◐", light: "☀", dark: "☾" }[now()]);
  };
  label();
  return button;
}

function askForKey(said = "") {
  const field = el("input", { class: "field", type: "password", id: "key", autocomplete: "off", spellcheck: "false", required: true });
  const form = el("form", { class: "key-card", on: { submit: async (event) => {
    event.preventDefault();
    key.set(field.value.trim());
    await begin(S.keyWrong);
  } } },
  el("h2", {}, S.keyTitle), el("p", {}, S.keyText),
  said ? el("p", { class: "problem-what", role: "alert" }, said) : null,
  el("label", { for: "key" }, S.key), field,
  el("button", { type: "submit", class: "button strong" }, S.keyOpen));
  key.forget();
  document.body.dataset.locked = "";
  view("shelf");
  fill(shelfPane, form);
  pane("main");
  field.focus();
}

async function begin(wrong = "") {
  try {
    config = await api.config();
    if (config.keys_required && !key.get()) return askForKey();
    await shelf.load();
    delete document.body.dataset.locked;
    fill(node("tools"), key.get() ? el("button", { type: "button", class: "link", on: { click: () => { key.forget(); location.reload(); } } }, S.forgetKey) : null, themeButton());
    const shared = location.hash.startsWith("#/answers/");
    await Promise.all([route(), shared ? null : talk.restore(), shelf.uploads.resume()]);
  } catch (problem) {
    if (problem.status === 401 || problem.status === 403) return askForKey(key.get() ? wrong || S.keyWrong : "");
    alarm(problem.message);
    fill(shelfPane, problemCard(problem, () => begin()));
  }
  return undefined;
}

add(node("book"), [shelfPane, readerPane]);
add(node("tools"), [themeButton()]);
for (const link of document.querySelectorAll("[data-skip]"))
  link.addEventListener("click", (event) => {
    event.preventDefault();
    pane(link.dataset.skip === "book" ? "main" : "talk");
    (link.dataset.skip === "book" ? node("book") : talk.field).focus();
  });
readerPane.addEventListener("back", () => pane("talk"));
addEventListener("hashchange", route);
view("shelf");
talk.ready = begin();
