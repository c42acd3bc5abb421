// @ts-check
/* What the browser remembers: the conversation for each book, and what must survive a step to another page.

   Storage may be full, forbidden or filled by somebody else; then nothing is remembered and nothing breaks. */

/** @import { Answered } from "../shared/turn.js" */
/** @typedef {Answered & {question: string, selection?: string | null}} KeptTurn  an answer, and what was asked */

const MOST_TURNS = 20;

/**
 * Open the browser's storage under a name; a storage that is forbidden holds nothing.
 * @param {"localStorage" | "sessionStorage"} store
 */
function openStorage(store) {
  return {
    /**
     * @param {string} name
     * @returns {any}
     */
    get(name) {
      try {
        return JSON.parse(window[store].getItem(name) || "null");
      } catch {
        return null;
      }
    },
    /**
     * @param {string} name
     * @param {unknown} value  null removes it
     */
    set(name, value) {
      try {
        if (value === null) window[store].removeItem(name);
        else window[store].setItem(name, JSON.stringify(value));
      } catch {
        /* Nothing is remembered, then. */
      }
    },
  };
}

/** Kept after the browser is closed. */
export const browserStorage = openStorage("localStorage");
/** Kept for this tab. */
export const tabStorage = openStorage("sessionStorage");

export class Memory {
  #name;

  /**
   * @param {string} base
   * @param {string} book
   */
  constructor(base, book) {
    this.#name = `octavo:${base}:${book || "*"}`;
  }

  /** @returns {string | null} */
  get session() {
    const known = this.#read().session;
    return typeof known === "string" && /^[\w-]{8,64}$/.test(known) ? known : null;
  }

  set session(session) {
    browserStorage.set(this.#name, { session, turns: this.turns });
  }

  /** @returns {KeptTurn[]} */
  get turns() {
    const { turns } = this.#read();
    return Array.isArray(turns) ? turns.filter((turn) => turn && typeof turn.question === "string") : [];
  }

  set turns(turns) {
    /* The evidence is large and is never shown again. */
    const kept = turns.slice(-MOST_TURNS).map((turn) => ({ ...turn, evidence: [] }));
    browserStorage.set(this.#name, { session: this.session, turns: kept });
  }

  forget() {
    browserStorage.set(this.#name, null);
  }

  #read() {
    return browserStorage.get(this.#name) || {};
  }
}
