// @ts-check
/* The passage that a question is about: how long it may be, and how it stays visible in the page. */

import { countCharacters } from "./text.js";

export const SELECTION_MOST = 500;

/** @param {string} text */
export function isTooLong(text) {
  return countCharacters(text) > SELECTION_MOST;
}

/**
 * Cut a text to what may be selected, at a word.
 * @param {string} text
 */
export function cutSelection(text) {
  if (!isTooLong(text)) return { text, cut: false };
  const held = Array.from(text).slice(0, SELECTION_MOST).join("");
  const space = held.search(/\s\S*$/);
  return { text: held.slice(0, space > SELECTION_MOST / 2 ? space : held.length).trim(), cut: true };
}

/**
 * Highlight ranges of the page under a name, or nothing any more; false where the browser cannot.
 * @param {string} name
 * @param {readonly Range[]} ranges
 */
export function highlight(name, ranges) {
  if (!globalThis.CSS?.highlights || !globalThis.Highlight) return false;
  if (ranges.length) CSS.highlights.set(name, new Highlight(...ranges));
  else CSS.highlights.delete(name);
  return true;
}
