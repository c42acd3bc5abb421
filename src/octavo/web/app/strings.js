// @ts-check
/* What the app says, in the reader's language: the one they chose, or the first that their browser asks for and we have. Only
   the words of that language are loaded. */

import { fillIn } from "../shared/strings.js";
import { APP_WORDS } from "../strings/app.en.js";
import { browserStorage } from "./storage.js";

/** @import { Step } from "../shared/turn.js" */

/** The languages by their own names. @type {Record<string, string>} */
export const LANGUAGES = {
  en: "English", ar: "العربية", de: "Deutsch", es: "Español", fr: "Français", ur: "اردو", zh: "中文",
};
const RIGHT_TO_LEFT = new Set(["ar", "ur"]);
const CHOSEN = "octavo.language";
/** @type {Record<string, () => Promise<Record<string, object>>>} */
const TRANSLATED = {
  ar: () => import("../strings/app.ar.js"),
  de: () => import("../strings/app.de.js"),
  es: () => import("../strings/app.es.js"),
  fr: () => import("../strings/app.fr.js"),
  ur: () => import("../strings/app.ur.js"),
  zh: () => import("../strings/app.zh.js"),
};

function findLanguage() {
  const wanted = [browserStorage.get(CHOSEN), ...(navigator.languages || [])].map((name) => String(name || "").toLowerCase().split("-")[0]);
  return wanted.find((name) => name in LANGUAGES) || "en";
}

/**
 * Load the words of a language. Without them, all stays English.
 * @param {string} name
 * @returns {Promise<object>}
 */
async function loadWords(name) {
  const [words] = Object.values((await TRANSLATED[name]?.()) || {});
  return words || {};
}

/**
 * Put the words of a translation in the place of the English ones. What has another shape is left out.
 * @template {Record<string, any>} Words
 * @param {Words} words
 * @param {Record<string, any>} translated
 * @returns {Words}
 */
export function mergeWords(words, translated) {
  /** @type {Record<string, any>} */
  const merged = { ...words };
  for (const [key, value] of Object.entries(translated)) {
    if (!(key in words) || typeof value !== typeof words[key]) continue;
    merged[key] = typeof value === "object" && !Array.isArray(value) ? mergeWords(words[key], value) : value;
  }
  return /** @type {Words} */ (merged);
}

export const language = findLanguage();
export const S = mergeWords(APP_WORDS, await loadWords(language));
document.documentElement.lang = language;
/** Points to where the reader comes from. */
export const BACK = RIGHT_TO_LEFT.has(language) ? "→" : "←";
document.documentElement.dir = RIGHT_TO_LEFT.has(language) ? "rtl" : "ltr";

/** @param {string} name */
export function chooseLanguage(name) {
  browserStorage.set(CHOSEN, name);
  location.reload();
}

/**
 * Say what is being done for a question.
 * @param {Step} step
 */
export function describeStep({ kind, name, detail, count }) {
  switch (kind) {
    case "asked": return `${S.turn.stepAsked} …`;
    case "scoped": return `${fillIn(S.turn.stepScoped, { detail })} …`;
    case "retrieved": return `${fillIn(S.turn.stepRetrieved, { n: count })} …`;
    case "searching": return detail ? `${fillIn(S.turn.stepSearching, { detail })} …` : "Searching …";
    case "reading": return detail ? `${fillIn(S.turn.stepReading, { detail })} …` : "Reading …";
    case "writing": return `${S.turn.stepWriting} …`;
    case "checking": return `${S.turn.stepChecking} …`;
    default: return detail ? `${name}: ${detail} …` : `${name} …`;
  }
}
