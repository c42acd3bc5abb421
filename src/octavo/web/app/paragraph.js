// @ts-check
/* A cited sentence in its paragraph, for the card that a footnote shows. Sections are fetched once. */

import { api } from "./api.js";
import { drawAround, drawPassage, drawRows } from "./passage.js";

/** @import { Place } from "../shared/turn.js" */
/** @import { SectionBody } from "./api.js" */

const MOST_KEPT = 40;
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
 * Load the section of a citation; null where its words stand elsewhere by now.
 * @param {Place} cited
 */
async function findSection({ book_id, section_id, start, end, content_snippet = "" }) {
  if (start === undefined || end === undefined) return null;
  try {
    const section = await loadSection(book_id, section_id);
    return [...section.text].slice(start, end).join("") === content_snippet ? section : null;
  } catch {
    return null;
  }
}

/**
 * Draw a citation as the table, code or list that it is in the book; null where it is none, or its words stand elsewhere.
 * @param {Place} cited
 */
export async function drawQuoted(cited) {
  const section = await findSection(cited);
  return section && drawPassage(section, cited.start || 0, cited.end || 0, cited.book_id);
}

/**
 * Draw the citations of one section that are rows of a table as one table; null where they are none.
 * @param {readonly Place[]} cited
 */
export async function drawQuotedRows(cited) {
  const section = await findSection(cited[0]);
  return section && drawRows(section, cited.map(({ start, end }) => /** @type {const} */ ([start || 0, end || 0])), cited[0].book_id);
}

/**
 * Draw a citation in its paragraph, row, item or code; null where its words stand elsewhere by now.
 * @param {Place} cited
 */
export async function drawInParagraph(cited) {
  const section = await findSection(cited);
  return section && drawAround(section, cited.start || 0, cited.end || 0, cited.book_id);
}
