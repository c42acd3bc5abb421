// @ts-check
/* The server, as the app sees it: what it shares with the widget, and books, jobs and exports besides. */

import { Problem } from "../shared/sse.js";
import { Service } from "../shared/service.js";
import { tabStorage } from "./storage.js";

/** @import { Answered } from "../shared/turn.js" */

/** @typedef {{keys_required: boolean, model: string | null, upload_mb: number, may: string[]}} Config */
/**
 * @typedef {object} Book
 * @property {string} id
 * @property {string} title
 * @property {string[]} authors
 * @property {string} [language]
 * @property {string} content_hash
 * @property {string | null} [base_url]
 * @property {number} page_count
 * @property {number} section_count
 * @property {boolean} [cover]
 * @property {boolean} [printed]  whether its pages can be drawn
 */
/**
 * @typedef {object} Section
 * @property {string} id
 * @property {string} title
 * @property {number} level
 * @property {number} characters
 * @property {string} [page_start]
 * @property {string | null} [page_label]  as it is printed
 * @property {string} url
 */
/** @typedef {{offset: number, number: number, label?: string}} PageStart */
/** @typedef {Section & {text: string, language: string, heading_path: string[], blocks: {start: number, end: number}[], pages: PageStart[], markup?: Element[]}} SectionBody */
/** @typedef {{left: number, top: number, right: number, bottom: number}} PageBox  shares of the page's width and height */
/** @typedef {{number: number, label: string | null, width: number, height: number, boxes: PageBox[]}} PrintedPage */
/** @typedef {{kind: string, start: number, end: number, depth: number, attributes?: Record<string, string | number>}} Element */
/**
 * @typedef {object} Job
 * @property {string} job_id
 * @property {string} state
 * @property {string} name
 * @property {string} [book_id]
 * @property {{step?: string, done?: number, total?: number}} [progress]
 * @property {string | {detail?: string, message?: string, hint?: string}} [error]
 */

/** @typedef {{book_id: string, section_id: string, offset: number, share: number}} ReadingPlace */
/** @typedef {"bookmark" | "highlight" | "note"} NoteKind */
/**
 * @typedef {object} Note
 * @property {string} id
 * @property {NoteKind} kind
 * @property {string} section_id
 * @property {string} section
 * @property {string} page
 * @property {number} start
 * @property {number} end
 * @property {string} text
 * @property {string} comment
 * @property {boolean} found
 */
/** @typedef {{session_id: string, start_time: string, query_count: number, title?: string}} SessionEntry */
/**
 * @typedef {object} Passage  what a search found
 * @property {string} book_id
 * @property {string} section_id
 * @property {string} section
 * @property {string} source_title
 * @property {string | null} page_label
 * @property {number | null} page_number
 * @property {string} content
 * @property {number} start
 * @property {number} end
 */
/** @typedef {{section_id: string, section: string, start: number, end: number, text: string}} Quote */
/** @typedef {{name: string, kind: string, aliases: string[], mention_count: number}} Entity */
/** @typedef {Entity & {introduction: Quote, definition: Quote | null, statements: Quote[]}} EntityDetails */
/** @typedef {{week: string, count: number}} WeekCount */
/**
 * @typedef {object} Gap
 * @property {string} question
 * @property {string[]} questions
 * @property {number} refused
 * @property {number} unsure
 * @property {number} disliked
 * @property {WeekCount[]} weeks
 * @property {string} last_asked
 * @property {{section_id: string, heading_path: string[]}[]} sections
 */
/** @typedef {{book_id: string, question_count: number, open_count: number, gap_count: number, gaps: Gap[]}} GapReport */

const BASE = new URL("../../", import.meta.url).pathname;
const KEY = "octavo.key";
const escape = encodeURIComponent;

export const key = {
  get: () => tabStorage.get(KEY) || "",
  set: (/** @type {string} */ value) => tabStorage.set(KEY, value),
  forget: () => tabStorage.forget(KEY),
};

/** How often the page asks again for what a busy server has not drawn, and how long it waits at most, in seconds. */
const ASKED_AGAIN = 3, LONGEST_WAIT = 10;

/**
 * Ask the server, and again after the time that it names where it is busy.
 * @template T
 * @param {() => Promise<T>} ask
 * @returns {Promise<T>}
 */
async function askAgainIfBusy(ask) {
  for (let left = ASKED_AGAIN; ; left -= 1)
    try {
      return await ask();
    } catch (error) {
      const { status, retryAfter } = Problem.wrap(error);
      if (status !== 503 || !retryAfter || !left) throw error;
      await new Promise((resolve) => setTimeout(resolve, 1000 * Math.min(LONGEST_WAIT, retryAfter)));
    }
}

class Api extends Service {
  /** @returns {Promise<Config>} */
  getConfig() {
    const older = { keys_required: false, model: null, upload_mb: 100, may: ["ask", "ingest", "admin"] };
    return this.unless(older, this.json("GET", "v1/config"));
  }

  async listBooks() {
    /** @type {Book[]} */
    const all = [];
    for (let after = ""; after !== null;) {
      const page = await this.json("GET", `v1/books?limit=100${after && `&after=${escape(after)}`}`);
      all.push(...page.books);
      after = page.next || null;
    }
    return all;
  }

  /**
   * @param {string} book
   * @returns {Promise<Section[]>}
   */
  async getContents(book) {
    return (await this.json("GET", `v1/books/${escape(book)}/contents`)).sections;
  }

  /**
   * @param {string} book
   * @param {string} section
   * @returns {Promise<SectionBody>}
   */
  getSection(book, section) {
    return this.json("GET", `v1/books/${escape(book)}/sections/${escape(section)}`);
  }

  /**
   * @param {string} book
   * @param {number} weeks
   * @returns {Promise<GapReport>}
   */
  getGaps(book, weeks) {
    return this.json("GET", `v1/books/${escape(book)}/gaps?weeks=${weeks}`);
  }

  /**
   * Fetch who and what is in a book, up to a section or page where one is given.
   * @param {string} book
   * @param {string} upTo
   * @param {number} limit  how many of each kind
   * @returns {Promise<{entities: Entity[]}>}
   */
  getMap(book, upTo, limit = 8) {
    return this.json("GET", `v1/books/${escape(book)}/map?limit=${limit}${upTo && `&up_to=${escape(upTo)}`}`);
  }

  /**
   * @param {string} book
   * @param {string} name
   * @param {string} upTo
   * @returns {Promise<EntityDetails>}
   */
  lookUp(book, name, upTo) {
    return this.json("GET", `v1/books/${escape(book)}/map/${escape(name)}?mentions=1${upTo && `&up_to=${escape(upTo)}`}`);
  }

  /**
   * Change what is given of a book; an empty address or cover (base64) takes it away.
   * @param {string} book
   * @param {{title?: string, base_url?: string, cover?: string}} changes
   * @returns {Promise<Book>}
   */
  changeBook(book, changes) {
    return this.json("PATCH", `v1/books/${escape(book)}`, changes);
  }

  /** @param {string} book */
  removeBook(book) {
    return this.call("DELETE", `v1/books/${escape(book)}`);
  }

  /**
   * Fetch a cover as bytes that the page can show by itself; null where there is none.
   * @param {string} book
   * @returns {Promise<string | null>}
   */
  getCover(book) {
    return this.#readPicture(`v1/books/${escape(book)}/cover`);
  }

  /**
   * Fetch a picture of a book in the same way.
   * @param {string} book
   * @param {string} image
   */
  getImage(book, image) {
    return this.#readPicture(`v1/books/${escape(book)}/images/${escape(image)}`);
  }

  /**
   * Fetch a page of a PDF as it is printed.
   * @param {string} book
   * @param {number} number
   * @param {number} width
   */
  getPage(book, number, width) {
    return this.#readPicture(`v1/books/${escape(book)}/pages/${number}?width=${width}`);
  }

  /**
   * Fetch the sizes of a section's pages, and where on them its characters from `start` to `end` are printed.
   * @param {string} book
   * @param {string} section
   * @param {import("../shared/text.js").Span | null} span
   * @returns {Promise<PrintedPage[]>}
   */
  async getPrintedPages(book, section, span) {
    const words = span ? `?start=${span[0]}&end=${span[1]}` : "";
    const path = `v1/books/${escape(book)}/sections/${escape(section)}/pages${words}`;
    return (await askAgainIfBusy(() => this.json("GET", path))).pages;
  }

  /**
   * @param {string} path
   * @returns {Promise<string | null>}
   */
  async #readPicture(path) {
    try {
      const blob = await (await askAgainIfBusy(() => this.call("GET", path))).blob();
      return await new Promise((resolve) => {
        const reader = new FileReader();
        reader.onload = () => resolve(String(reader.result));
        reader.onerror = () => resolve(null);
        reader.readAsDataURL(blob);
      });
    } catch {
      return null;
    }
  }

  /**
   * Send a file and return the job that reads it. `onProgress` gets the share that has been sent, from 0 to 1.
   * @param {File} file
   * @param {(share: number) => void} onProgress
   * @param {AbortSignal} signal
   * @returns {Promise<Job>}
   */
  upload(file, onProgress, signal) {
    return new Promise((resolve, reject) => {
      const request = new XMLHttpRequest();
      const form = new FormData();
      form.append("file", file, file.name);
      request.open("POST", this.address("v1/books"));
      for (const [name, value] of Object.entries(this.headers())) request.setRequestHeader(name, value);
      request.upload.onprogress = (event) => event.lengthComputable && onProgress(event.loaded / event.total);
      signal.addEventListener("abort", () => request.abort());
      request.onabort = () => reject(new Problem(0, "aborted", "Stopped."));
      request.onerror = () => reject(Problem.wrap(new TypeError("network")));
      request.onload = async () => {
        const response = new Response(request.responseText, { status: Math.max(200, request.status) });
        if (response.ok) resolve((await response.json()).job);
        else reject(await Problem.read(response));
      };
      request.send(form);
    });
  }

  /** @returns {Promise<Job[]>} */
  async listJobs() {
    return (await this.unless({ jobs: [] }, this.json("GET", "v1/jobs?limit=100"))).jobs || [];
  }

  /**
   * @param {string} id
   * @returns {Promise<Job>}
   */
  getJob(id) {
    return this.json("GET", `v1/jobs/${escape(id)}`);
  }

  /** @param {string} id */
  cancelJob(id) {
    return this.call("DELETE", `v1/jobs/${escape(id)}`);
  }

  /**
   * @param {string} id
   * @returns {Promise<Answered>}
   */
  getAnswer(id) {
    return this.json("GET", `v1/answers/${escape(id)}`);
  }

  /**
   * List the conversations of this reader, the newest first; of one book, or of all.
   * @param {string} book
   * @returns {Promise<SessionEntry[]>}
   */
  async listSessions(book) {
    return (await this.json("GET", `v1/sessions?limit=100${book && `&book_id=${escape(book)}`}`)).sessions;
  }

  /**
   * @param {string} id
   * @param {string} title
   */
  renameSession(id, title) {
    return this.json("PATCH", `v1/sessions/${escape(id)}`, { title });
  }

  /** @param {string} id */
  deleteSession(id) {
    return this.call("DELETE", `v1/sessions/${escape(id)}`);
  }

  /** @returns {Promise<ReadingPlace[]>} */
  async listPlaces() {
    return (await this.json("GET", "v1/places")).places;
  }

  /** @param {ReadingPlace} place */
  savePlace({ book_id, section_id, offset, share }) {
    return this.call("PUT", `v1/books/${escape(book_id)}/place`, { section_id, offset, share }, { keepalive: true });
  }

  /**
   * @param {string} book
   * @returns {Promise<Note[]>}
   */
  async listNotes(book) {
    return (await this.json("GET", `v1/books/${escape(book)}/notes`)).notes;
  }

  /**
   * @param {string} book
   * @param {{kind: NoteKind, section_id: string, start: number, end: number, comment: string}} note
   */
  addNote(book, note) {
    return this.json("POST", `v1/books/${escape(book)}/notes`, note);
  }

  /**
   * @param {string} id
   * @param {{kind?: NoteKind, comment?: string}} changes
   */
  changeNote(id, changes) {
    return this.json("PATCH", `v1/notes/${escape(id)}`, changes);
  }

  /** @param {string} id */
  deleteNote(id) {
    return this.call("DELETE", `v1/notes/${escape(id)}`);
  }

  /**
   * @param {string} book
   * @param {"md" | "csv" | "json"} format
   */
  async exportNotes(book, format) {
    return (await this.call("GET", `v1/export/notes?format=${format}&book_id=${escape(book)}`)).blob();
  }

  /**
   * Find passages, best first.
   * @param {string} query
   * @param {string} book  "" for all books
   * @returns {Promise<Passage[]>}
   */
  async search(query, book) {
    const body = { query, top_k: 12, rerank: false, ...(book ? { book_id: book } : {}) };
    return (await this.json("POST", "v1/search", body)).results;
  }

  /** @param {string} id */
  endSession(id) {
    return this.unless(null, this.call("POST", `v1/sessions/${escape(id)}/end`));
  }

  /**
   * @param {string} id
   * @param {"md" | "json"} format
   */
  async exportSession(id, format) {
    return (await this.call("GET", `v1/sessions/${escape(id)}/export?format=${format}`)).blob();
  }
}

export const api = new Api(BASE, key.get);
