// @ts-check
/* Questions to begin with and to go on with: from the map of the book (people, places, terms) and from its headings.

   They are made of names that stand in the book and of nothing else. Where the answer may only come from what was
   read so far, only names from there are used. */

import { shorten } from "../shared/text.js";
import { api } from "./api.js";
import { S } from "./strings.js";

/** @import { Answered } from "../shared/turn.js" */
/** @import { Book, Entity, Section } from "./api.js" */

const MOST = 4;
const LONGEST = 48;
const OF_EACH_KIND = 12;
/** How many books the questions of the shelf are made from. */
const OF_SHELF = 2;
/** Headings that say nothing about what stands under them. */
const EMPTY = /^(?:contents|table of contents|index|preface|foreword|introduction|overview|summary|conclusions?|appendix|glossary|notes|references|bibliography|further reading|exercises|acknowledge?ments|learning objectives|title page|cover|copyright|about.*|\W*\d*\W*|(?:chapter|part|section|book)\W+[\divxlc]+\W*)$/i;

/** A kind of names is asked about if its first has this share of the mentions of the book's first name. */
const LEAST_SHARE = 0.1;
/** A term that is worth a question: of several words, or written unlike an everyday word. */
const SPECIAL = /[\s\d\p{Lu}_.-]/u;
/** A number before a heading, and signs that are no words. */
const NUMBERED = /^[\d.]+\s+/;
const SIGNS = /[*_`<>{}|\\]/;
const ROMAN = /^[IVXLC]+\W*$/;

/** @type {Map<string, Promise<Entity[]>>} */
const maps = new Map();

/**
 * @param {Book} book
 * @param {string} upTo
 * @returns {Promise<Entity[]>}
 */
function loadEntities(book, upTo) {
  const key = JSON.stringify([book.id, book.content_hash, upTo]);
  const known = maps.get(key) || api.getMap(book.id, upTo, OF_EACH_KIND).then(({ entities }) => entities, () => {
    maps.delete(key);
    return [];
  });
  maps.set(key, known);
  return known;
}

/** @param {Entity} entity */
function askAbout({ name, kind }) {
  return kind === "person" ? S.suggest.who(name) : kind === "place" ? S.suggest.where(name) : S.suggest.what(name);
}

/**
 * Whether a name is worth a question: the book has it more than once, and a term is no everyday word.
 * @param {Entity} entity
 */
function isWorth({ name, kind, mention_count }) {
  return mention_count > 1 && isUsable(name) && (kind !== "term" || SPECIAL.test(name));
}

/** @param {string} title */
function askAboutHeading(title) {
  const line = shorten(title.replace(NUMBERED, ""), 200);
  return line.endsWith("?") ? line : S.suggest.heading(line);
}

/** @param {string} text */
function isUsable(text) {
  return text.length >= 3 && text.length <= LONGEST && !EMPTY.test(text.trim()) && !ROMAN.test(text.trim());
}

/**
 * Suggest first questions for a book: by turns a name and a heading.
 * @param {Book} book
 * @param {Section[]} sections
 * @param {string} upTo  "" for the whole book
 */
export async function suggestFirst(book, sections, upTo) {
  const entities = await loadEntities(book, upTo);
  const least = LEAST_SHARE * Math.max(0, ...entities.map(({ mention_count }) => mention_count));
  const worth = entities.filter((entity) => entity.mention_count >= least && isWorth(entity));
  const kinds = ["person", "term", "thing", "place"].map((kind) => worth.find((entity) => entity.kind === kind));
  const names = kinds.filter((entity) => entity !== undefined).map(askAbout);
  const last = upTo ? sections.findIndex((section) => section.id === upTo) : sections.length - 1;
  const headings = sections.slice(0, last + 1 || sections.length)
    .filter(({ title, characters }) => characters > 0 && isUsable(title) && !SIGNS.test(title) && title !== book.title)
    .map(({ title }) => askAboutHeading(title));
  const mixed = [names[0], headings[0], names[1], headings[Math.floor(headings.length / 2)], names[2], headings.at(-1)];
  return [...new Set(mixed.filter((question) => question !== undefined))].slice(0, MOST);
}

/**
 * Suggest a first question for each of some books.
 * @param {Book[]} books
 */
export async function suggestForShelf(books) {
  const firsts = await Promise.all(books.slice(0, OF_SHELF).map((book) => suggestFirst(book, [], "")));
  return [...new Set(firsts.flatMap((questions) => questions.slice(0, 2)))];
}

/**
 * Suggest how to go on after an answer: names in it that the question did not have, and the section it quotes.
 * @param {Answered} final
 * @param {Book | undefined} book
 * @param {string} upTo
 */
export async function suggestNext(final, book, upTo) {
  if (!book || final.refusal || !final.citations.length) return [];
  const asked = (final.question || "").toLowerCase();
  const said = `${final.answer} ${final.citations.map((cited) => cited.content_snippet).join(" ")}`.toLowerCase();
  const isNew = (/** @type {string} */ name) => !asked.includes(name.toLowerCase().replace(/\?$/, ""));
  const names = (await loadEntities(book, upTo))
    .filter((entity) => isWorth(entity) && isNew(entity.name) && said.includes(entity.name.toLowerCase()))
    .slice(0, 2).map(askAbout);
  const section = (final.citations[0].section || "").replace(NUMBERED, "");
  const heading = isUsable(section) && isNew(section) && section !== book.title ? [askAboutHeading(section)] : [];
  return [...new Set([...names, ...heading])].slice(0, 3);
}
