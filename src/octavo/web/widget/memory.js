/* What the browser remembers: the conversation for each book, and what outlives a step to another page of the site.

   Storage may be full, forbidden or filled by somebody else; then nothing is remembered and nothing breaks. */

const TURNS = 20;

export class Memory {
  #name;

  constructor(base, book) {
    this.#name = `octavo:${base}:${book || "*"}`;
  }

  get session() {
    const known = this.#conversation().session;
    return typeof known === "string" && /^[\w-]{8,64}$/.test(known) ? known : null;
  }

  set session(session) {
    this.#keep({ session, turns: this.turns });
  }

  get turns() {
    const turns = this.#conversation().turns;
    return Array.isArray(turns) ? turns.filter((turn) => turn && typeof turn.question === "string") : [];
  }

  set turns(turns) {
    this.#keep({ session: this.session, turns: turns.slice(-TURNS).map(slim) });
  }

  forget() {
    put(localStore(), this.#name, null);
  }

  #conversation() {
    return got(localStore(), this.#name) || {};
  }

  #keep(conversation) {
    put(localStore(), this.#name, conversation);
  }
}

/* Kept for this tab: `open`, and `jump`, the passage that the next page is to show. */
export const tab = {
  get: (name) => got(tabStore(), `octavo:${name}`),
  set: (name, value) => put(tabStore(), `octavo:${name}`, value),
};

export const habits = {
  get: (name) => got(localStore(), `octavo:${name}`),
  set: (name, value) => put(localStore(), `octavo:${name}`, value),
};

/* The evidence is large and is never shown again. */
function slim(turn) {
  return { ...turn, evidence: [] };
}

function localStore() {
  try {
    return window.localStorage;
  } catch {
    return null;
  }
}

function tabStore() {
  try {
    return window.sessionStorage;
  } catch {
    return null;
  }
}

function got(store, name) {
  try {
    return JSON.parse(store.getItem(name));
  } catch {
    return null;
  }
}

function put(store, name, value) {
  try {
    if (value === null) store.removeItem(name);
    else store.setItem(name, JSON.stringify(value));
  } catch {
    /* nothing is remembered, then */
  }
}
