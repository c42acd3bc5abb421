// @ts-check
/* Every word that the widget says. A site replaces any of them with `window.OctavoStrings` or `data-strings`, either
   flat, `{"title": "Frag das Buch"}`, or by language, `{"de": {"title": "Frag das Buch"}}`. `{n}` and the like are
   filled in. docs/widget.md lists the keys. */

import { TURN_WORDS, fillIn } from "../shared/strings.js";

export const ENGLISH = {
  ...TURN_WORDS,
  title: "Ask this book",
  button: "Ask",
  openHint: "Ask this book ({keys})",
  close: "Close",
  again: "New conversation",
  resize: "Width of the panel",
  welcome: "Ask a question. The answer comes from this book, with the exact words it is based on.",
  welcomeSelect: "Or select a passage in the page and ask about that.",
  welcomeKeys: "{keys} opens and closes this panel.",
  placeholder: "What would you like to know?",
  send: "Ask",
  about: "About the passage",
  aboutCut: "About the first {n} characters of the passage",
  dropSelection: "Ask about the whole book instead",
  interpreted: "Understood as: {detail}",
  sources: "Sources",
  notHere: "This passage is not on a page of this site.",
  shown: "The passage is highlighted in the page.",
  refusedWhy: "Nothing in it answers this question.",
  refusedScope: "Not in this passage",
  refusedScopeWhy: "The passage does not answer this question, but the book does.",
  refusedUnsureWhy: "Something in the book is close to this question, but does not clearly answer it.",
  refusedEmptyWhy: "Questions can be asked once a book has been added.",
  copy: "Copy with sources",
  copied: "Copied",
  reasonWrong: "Not true",
  reasonMissing: "Something is missing",
  reasonPassage: "Wrong passage",
  reasonUnclear: "Hard to follow",
  notSent: "Your feedback could not be sent.",
  failed: "Something went wrong.",
  failedKey: "This page cannot ask questions: its key was not accepted.",
  failedBusy: "Too many questions right now. Try again in {n} seconds.",
  failedOffline: "The server cannot be reached right now.",
};

/** @typedef {keyof typeof ENGLISH} Word */
/** @typedef {(key: Word, values?: Record<string, unknown>) => string} Say */

/**
 * Choose the words for a page in `lang`: the site's own where it gives them, English for the rest.
 * @param {unknown} given
 * @param {string} lang
 * @returns {Say}
 */
export function chooseWords(given, lang) {
  /** @type {Record<string, any>} */
  const site = given && typeof given === "object" ? given : {};
  const language = String(lang || "").toLowerCase();
  const byLanguage = [language.split("-")[0], language].map((name) => site[name]);
  const own = [site, ...byLanguage].filter((words) => words && typeof words === "object");
  /** @type {Record<string, string>} */
  const words = { ...ENGLISH };
  for (const key of Object.keys(ENGLISH))
    for (const set of own) if (typeof set[key] === "string") words[key] = set[key];
  return (key, values = {}) => fillIn(words[key], values);
}
