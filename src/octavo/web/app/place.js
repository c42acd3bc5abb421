// @ts-check
/* Where the reader stopped in each book: kept by the server for a reader with a key of their own, else in this browser.

   Only reading moves the place. Opening a citation or a search result does not, until the reader goes on from there. */

import { api, key } from "./api.js";
import { browserStorage } from "./storage.js";

/** @import { ReadingPlace, Section } from "./api.js" */

const KEPT = "octavo.places";
const SAVE_MS = 900;
const MOST = 500;

/**
 * Measure how much of a book lies before a place, from 0 to 1.
 * @param {readonly Section[]} sections
 * @param {string} section
 * @param {number} offset
 */
export function measureShare(sections, section, offset) {
  const at = sections.findIndex((other) => other.id === section);
  const count = (/** @type {readonly Section[]} */ some) => some.reduce((sum, { characters }) => sum + characters, 0);
  const all = count(sections);
  return at < 0 || !all ? 0 : Math.min(1, (count(sections.slice(0, at)) + offset) / all);
}

export class Places {
  /** @type {Map<string, ReadingPlace>} */
  #places = new Map();
  #isOnServer = false;
  #timer = 0;
  /** @type {(() => void) | null} */
  #waiting = null;

  constructor() {
    addEventListener("pagehide", () => this.#saveNow());
  }

  async load() {
    this.#isOnServer = false;
    let found = readKept();
    if (key.get()) {
      const places = await api.listPlaces().catch(() => null);
      this.#isOnServer = places !== null;
      /* The one that was read last is the last one here. */
      if (places) found = places.reverse();
    }
    this.#places = new Map(found.map((place) => [place.book_id, place]));
  }

  /**
   * Sort books: those that were read last come first.
   * @template {{id: string}} Item
   * @param {readonly Item[]} books
   */
  sortByReading(books) {
    const order = [...this.#places.keys()].reverse();
    const rank = (/** @type {Item} */ book) => (order.includes(book.id) ? order.indexOf(book.id) : order.length);
    return [...books].sort((a, b) => rank(a) - rank(b));
  }

  /** @param {string} book */
  get(book) {
    return this.#places.get(book) || null;
  }

  /** @param {ReadingPlace} place */
  save(place) {
    this.#places.delete(place.book_id);
    this.#places.set(place.book_id, place);
    this.#waiting = () => {
      if (this.#isOnServer) api.savePlace(place).catch(() => {});
      else browserStorage.set(KEPT, JSON.stringify([...this.#places.values()].slice(-MOST)));
    };
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#saveNow(), SAVE_MS);
  }

  #saveNow() {
    clearTimeout(this.#timer);
    this.#waiting?.();
    this.#waiting = null;
  }
}

/** @returns {ReadingPlace[]} */
function readKept() {
  try {
    const kept = JSON.parse(browserStorage.get(KEPT) || "[]");
    return Array.isArray(kept) ? kept.filter((place) => typeof place?.book_id === "string" && typeof place.section_id === "string") : [];
  } catch {
    return [];
  }
}
