// @ts-check
/* A cited sentence in its paragraph, for the card that a footnote shows. Sections are fetched once. */

import { measure } from "../shared/text.js";
import { api } from "./api.js";
import { drawPassage } from "./passage.js";

/** @import { Place } from "../shared/turn.js" */
/** @import { SectionBody } from "./api.js" */
/** @typedef {{before: string, words: string, after: string}} Paragraph */

const MOST_KEPT = 40;
/** How much of a long paragraph is shown on each side. */
const AROUND = 260;
/** @type {Map<string, Promise<SectionBody>>} */
const sections = new Map();

/**
 * @param {string} book
 * @param {string} section
 */
function loadSection(book, section) {
  const key = JSON.stringify([book, section]);
  const known = sections.get(key) || api.getSection(book, section);
  known.catch(() => sections.delete(key));
  sections.delete(key);
  sections.set(key, known);
  for (const oldest of sections.keys()) {
    if (sections.size <= MOST_KEPT) break;
    sections.delete(oldest);
  }
  return known;
}

/**
 * Draw a citation as the table, code or list that it is in the book; null where it is none, or its words stand elsewhere.
 * @param {Place} cited
 * @param {{around?: boolean}} how
 */
export async function drawQuoted({ book_id, section_id, start, end, content_snippet = "" }, how = {}) {
  if (start === undefined || end === undefined) return null;
  try {
    const section = await loadSection(book_id, section_id);
    if ([...section.text].slice(start, end).join("") !== content_snippet) return null;
    return drawPassage(section, start, end, book_id, how);
  } catch {
    return null;
  }
}

/**
 * Find the paragraph around a citation; null where its words stand elsewhere by now.
 * @param {Place} cited
 * @returns {Promise<Paragraph | null>}
 */
export async function findParagraph({ book_id, section_id, start, end, content_snippet = "" }) {
  if (start === undefined || end === undefined) return null;
  try {
    return cutParagraph((await loadSection(book_id, section_id)).text, start, end, content_snippet);
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
