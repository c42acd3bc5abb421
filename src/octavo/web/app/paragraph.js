// @ts-check
/* A cited sentence in its paragraph, for the card that a footnote shows. Sections are fetched once. */

import { measure } from "../shared/text.js";
import { api } from "./api.js";

/** @import { Place } from "../shared/turn.js" */
/** @typedef {{before: string, words: string, after: string}} Paragraph */

const MOST_KEPT = 40;
/** How much of a long paragraph is shown on each side. */
const AROUND = 260;
/** @type {Map<string, Promise<string>>} */
const texts = new Map();

/**
 * @param {string} book
 * @param {string} section
 */
function loadText(book, section) {
  const key = JSON.stringify([book, section]);
  const known = texts.get(key) || api.getSection(book, section).then(({ text }) => text);
  known.catch(() => texts.delete(key));
  texts.delete(key);
  texts.set(key, known);
  for (const oldest of texts.keys()) {
    if (texts.size <= MOST_KEPT) break;
    texts.delete(oldest);
  }
  return known;
}

/**
 * Find the paragraph around a citation; null where its words stand elsewhere by now.
 * @param {Place} cited
 * @returns {Promise<Paragraph | null>}
 */
export async function findParagraph({ book_id, section_id, start, end, content_snippet = "" }) {
  if (start === undefined || end === undefined) return null;
  try {
    return cutParagraph(await loadText(book_id, section_id), start, end, content_snippet);
  } catch {
    return null;
  }
}

/**
 * @param {string} text
 * @param {number} start
 * @param {number} end
 * @param {string} snippet
 * @returns {Paragraph | null}
 */
export function cutParagraph(text, start, end, snippet) {
  const { toUnits } = measure(text);
  const [from, to] = [toUnits(start), toUnits(end)];
  const words = text.slice(from, to);
  if (words !== snippet) return null;
  const opening = text.lastIndexOf("\n\n", from - 1);
  const closing = text.indexOf("\n\n", to);
  const before = text.slice(opening < 0 ? 0 : opening + 2, from);
  const after = text.slice(to, closing < 0 ? text.length : closing);
  return {
    before: before.length > AROUND ? `… ${before.slice(-AROUND).replace(/^\S*\s/, "")}` : before,
    words,
    after: after.length > AROUND ? `${after.slice(0, AROUND).replace(/\s\S*$/, "")} …` : after,
  };
}
