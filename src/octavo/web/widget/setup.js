// @ts-check
/* What is wrong with the set-up, said on the console to whoever maintains the site. Readers see their own words. */

/** @import { Problem } from "../shared/sse.js" */
/** @typedef {{base: string, book: string, key: string}} Setup */

/** @type {Set<string>} */
const said = new Set();

/**
 * Say on the console why a question failed, if the set-up is the reason; each reason once.
 * @param {Problem} problem
 * @param {Setup} setup
 */
export function explainSetup(problem, setup) {
  const text = describeFault(problem, setup);
  if (!text || said.has(text)) return;
  said.add(text);
  console.warn(`Octavo: ${text}`);
}

/**
 * @param {Problem} problem
 * @param {Setup} setup
 */
export function describeFault({ status, code, message }, { base, book, key }) {
  const make = `octavo keys create "my site" --public --origin ${location.origin}${book ? ` --book ${book}` : ""}`;
  if (status === 401)
    return key ? `the key in data-key is not valid at ${base}. Make one with: ${make}`
      : `${base} needs a key, and the script tag has no data-key. Make one with: ${make}`;
  if (status === 403)
    return `the key in data-key may not be used from ${location.origin} (${message}). Make one with: ${make}`;
  if (status === 404 && code === "not_found" && book)
    return `the service at ${base} has no book "${book}" for this key (${message}). data-book is the id that "octavo books" lists.`;
  if (status === 0 && code === "unreachable" && new URL(base).origin !== location.origin)
    return `${base} did not answer this page. Either it is not running, or no key allows the origin ${location.origin}. Make one with: ${make}`;
  return "";
}

/**
 * Read the questions of `data-questions`: a JSON list, or plain text with | between them.
 * @param {string | undefined} text
 * @returns {string[]}
 */
export function readQuestions(text) {
  if (!text) return [];
  let list;
  try {
    list = JSON.parse(text);
  } catch {
    list = text.split("|");
  }
  if (!Array.isArray(list)) {
    console.warn("Octavo: data-questions must be a JSON list of questions, or questions with | between them.");
    return [];
  }
  return list.map((question) => String(question).trim()).filter(Boolean).slice(0, 6);
}
