/* What the widget asks of the server. The key travels in a header, never in an address. */

import { Problem, stream } from "../shared/sse.js";

export class Service {
  #base;
  #key;
  #book;

  constructor(base, key, book) {
    this.#base = base;
    this.#key = key;
    this.#book = book;
  }

  /* The events of one question, as they come. */
  ask(question, { selection, session, signal }) {
    const body = { question };
    if (session) body.session_id = session;
    if (this.#book) body.book_id = this.#book;
    if (selection) body.selected_text = selection;
    return stream(`${this.#base}v1/ask`, { body: JSON.stringify(body), headers: this.#headers(), signal });
  }

  /* The id of a new conversation; null where the server keeps none. */
  async start() {
    try {
      const said = await this.#call("POST", "v1/sessions");
      return (await said.json()).session_id || null;
    } catch (problem) {
      if (problem.status === 404 || problem.status === 405) return null;
      throw problem;
    }
  }

  /* The turns of a conversation, oldest first. */
  async turns(session) {
    const said = await this.#call("GET", `v1/sessions/${encodeURIComponent(session)}`);
    const found = await said.json();
    return Array.isArray(found.turns) ? found.turns : [];
  }

  async feedback(answer, vote, reasons, comment) {
    const body = { vote, reasons, comment };
    await this.#call("POST", `v1/answers/${encodeURIComponent(answer)}/feedback`, body);
  }

  async #call(method, path, body) {
    let response;
    try {
      const text = body === undefined ? undefined : JSON.stringify(body);
      response = await fetch(this.#base + path, { method, headers: this.#headers(), body: text });
    } catch (error) {
      throw Problem.from(error);
    }
    if (!response.ok) throw await Problem.of(response);
    return response;
  }

  #headers() {
    const key = this.#key ? { Authorization: `Bearer ${this.#key}` } : {};
    return { "Content-Type": "application/json", ...key };
  }
}
