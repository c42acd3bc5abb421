// @ts-check
/* The words that the widget says. A site replaces any of them with `window.OctavoStrings` or `data-strings`, either
   flat, `{"title": "Frag das Buch"}`, or by language, `{"de": {"title": "Frag das Buch"}}`. `/widget.de.js` and the like bring
   the words of their language along. docs/widget.md lists the keys. */

import { fillIn } from "../shared/strings.js";
import { WIDGET_WORDS } from "../strings/widget.en.js";
import { TRANSLATED } from "./translated.js";

/** @typedef {keyof typeof WIDGET_WORDS} Word */
/** @typedef {(key: Word, values?: Record<string, unknown>) => string} Say */

/**
 * Choose the words for a page in `lang`: the site's own where it gives them, then those that came along, then English.
 * @param {unknown} given
 * @param {string} lang
 * @returns {Say}
 */
export function chooseWords(given, lang) {
  /** @type {Record<string, any>} */
  const site = given && typeof given === "object" ? given : {};
  const language = String(lang || "").toLowerCase();
  const byLanguage = [language.split("-")[0], language].map((name) => site[name]);
  const own = [TRANSLATED[language.split("-")[0]], site, ...byLanguage].filter((words) => words && typeof words === "object");
  /** @type {Record<string, string>} */
  const words = { ...WIDGET_WORDS };
  for (const key of Object.keys(WIDGET_WORDS))
    for (const set of own) if (typeof set[key] === "string") words[key] = set[key];
  return (key, values = {}) => fillIn(words[key], values);
}
