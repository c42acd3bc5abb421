// @ts-check
/* The part of the server that both the app and the widget use: asking, sessions, feedback.

   Every failure is a `Problem` with a sentence that can be shown. The key travels in a header, never in an address. */

import { Problem, stream } from "./sse.js";

/** @import { Answered, AskBody } from "./turn.js" */
/** @typedef {{turns?: Answered[], end_time?: string | null}} Session */

export class Service {
  #base;
  #key;

  /**
   * @param {string} base  the address of the server, with a slash at its end
   * @param {() => string} key
   */
  constructor(base, key) {
    this.#base = base;
    this.#key = key;
  }

  /** @param {string} path */
  address(path) {
    return this.#base + path;
  }

  headers(hasBody = false) {
    const key = this.#key();
    return {
      ...(hasBody ? { "Content-Type": "application/json" } : {}),
      .../** @type {Record<string, string>} */ (key ? { Authorization: `Bearer ${key}` } : {}),
    };
  }

  /**
   * @param {string} method
   * @param {string} path
   * @param {object} [body]
   * @param {{keepalive?: boolean}} how  whether the request may outlive the page
   */
  async call(method, path, body, { keepalive = false } = {}) {
    let response;
    try {
      const headers = this.headers(body !== undefined);
      response = await fetch(this.address(path), { method, headers, keepalive, body: body && JSON.stringify(body) });
    } catch (error) {
      throw Problem.wrap(error);
    }
    if (!response.ok) throw await Problem.read(response);
    return response;
  }

  /**
   * @param {string} method
   * @param {string} path
   * @param {object} [body]
   * @returns {Promise<any>}
   */
  async json(method, path, body) {
    return (await this.call(method, path, body)).json();
  }

  /**
   * Return `missing` where the server does not have what was asked for: an older server, or a record that is gone.
   * @template Missing, Found
   * @param {Missing} missing
   * @param {Promise<Found>} promise
   */
  async unless(missing, promise) {
    try {
      return await promise;
    } catch (error) {
      if (error instanceof Problem && (error.status === 404 || error.status === 405)) return missing;
      throw error;
    }
  }

  /**
   * Ask a question and yield its events as they come.
   * @param {{question: string, session_id?: string} & AskBody} body
   * @param {AbortSignal} signal
   */
  ask(body, signal) {
    return stream(this.address("v1/ask"), { body: JSON.stringify(body), headers: this.headers(true), signal });
  }

  /**
   * Begin a conversation; null where the server keeps none.
   * @returns {Promise<string | null>}
   */
  async startSession() {
    return (await this.unless({ session_id: null }, this.json("POST", "v1/sessions", {}))).session_id || null;
  }

  /**
   * Start a conversation that begins with an answer.
   * @param {string} answer
   * @returns {Promise<string>} its id
   */
  async continueAnswer(answer) {
    return (await this.json("POST", "v1/sessions", { answer_id: answer })).session_id;
  }

  /**
   * @param {string} id
   * @returns {Promise<Session | null>}
   */
  getSession(id) {
    return this.unless(null, this.json("GET", `v1/sessions/${encodeURIComponent(id)}`));
  }

  /**
   * @param {string} answerId
   * @param {object} said
   */
  sendFeedback(answerId, said) {
    return this.call("POST", `v1/answers/${encodeURIComponent(answerId)}/feedback`, said);
  }
}
