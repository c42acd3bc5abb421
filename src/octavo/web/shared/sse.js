// @ts-check
/* Server-sent events over fetch, with a POST body, headers and a way to stop.

   `stream(address, {method, body, headers, signal})` yields `{event, data}` for each event, with `data` parsed from
   JSON. Every failure is a `Problem`. A response that is no stream carries the server's own words. Aborting the signal
   gives the code "aborted", and the server sees the client go. A stream that breaks off gives the code "interrupted";
   the caller knows from its last event whether the stream was over. */

/** @typedef {{event: string, data: any}} StreamEvent */

export class Problem extends Error {
  /**
   * @param {number} status
   * @param {string} code
   * @param {string} detail
   */
  constructor(status, code, detail, hint = "", retryAfter = 0) {
    super(detail);
    this.name = "Problem";
    this.status = status;
    this.code = code;
    this.hint = hint;
    this.retryAfter = retryAfter;
  }

  /**
   * Read the problem that the server describes.
   * @param {Response} response
   */
  static async read(response) {
    const body = await response.json().catch(() => ({}));
    const detail = body.detail || body.message || `The server answered with status ${response.status}.`;
    const after = Number(response.headers.get("Retry-After")) || 0;
    return new Problem(response.status, body.code || "http", String(detail), String(body.hint || ""), after);
  }

  /**
   * Make a problem of anything that was thrown.
   * @param {unknown} error
   */
  static wrap(error) {
    if (error instanceof Problem) return error;
    if (error instanceof Error && error.name === "AbortError") return new Problem(0, "aborted", "Stopped.");
    return new Problem(0, "unreachable", "The server cannot be reached.", "Check that it is running and that you are online.");
  }
}

/**
 * @param {string} address
 * @param {{method?: string, body?: string, headers?: Record<string, string>, signal?: AbortSignal}} request
 * @returns {AsyncGenerator<StreamEvent, void, void>}
 */
export async function* stream(address, { method = "POST", body, headers = {}, signal } = {}) {
  let response;
  try {
    response = await fetch(address, { method, signal, body, headers: { Accept: "text/event-stream", ...headers } });
  } catch (error) {
    throw Problem.wrap(error);
  }
  if (!response.ok) throw await Problem.read(response);
  const type = response.headers.get("Content-Type") || "";
  if (!response.body || !type.startsWith("text/event-stream"))
    throw new Problem(response.status, "no_stream", "The server did not answer with a stream.");
  yield* readEvents(response.body, signal);
}

/**
 * @param {ReadableStream<BufferSource>} source
 * @param {AbortSignal} [signal]
 * @returns {AsyncGenerator<StreamEvent, void, void>}
 */
async function* readEvents(source, signal) {
  const reader = source.pipeThrough(new TextDecoderStream()).getReader();
  const parser = new EventParser();
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      yield* parser.parse(value);
    }
  } catch {
    if (signal?.aborted) throw new Problem(0, "aborted", "Stopped.");
    throw new Problem(0, "interrupted", "The connection was lost.", "Try again in a moment.");
  } finally {
    reader.cancel().catch(() => {});
  }
}

/* Turns text in whatever pieces it comes into events. Comments (heartbeats) and half events yield nothing. */
export class EventParser {
  #rest = "";
  #event = "";
  /** @type {string[]} */
  #data = [];

  /**
   * Return the events that `text` completes.
   * @param {string} text
   */
  parse(text) {
    const events = [];
    this.#rest += text;
    let end;
    while ((end = this.#rest.search(/\r\n|\n|\r(?!$)/)) >= 0) {
      const line = this.#rest.slice(0, end);
      this.#rest = this.#rest.slice(end + (this.#rest.startsWith("\r\n", end) ? 2 : 1));
      const event = this.#readLine(line);
      if (event) events.push(event);
    }
    return events;
  }

  /**
   * @param {string} line
   * @returns {StreamEvent | null}
   */
  #readLine(line) {
    if (line === "") {
      const made = this.#data.length ? { event: this.#event || "message", data: parseData(this.#data.join("\n")) } : null;
      this.#event = "";
      this.#data = [];
      return made;
    }
    if (line.startsWith(":")) return null;
    const colon = line.indexOf(":");
    const field = colon < 0 ? line : line.slice(0, colon);
    const text = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (field === "event") this.#event = text;
    if (field === "data") this.#data.push(text);
    return null;
  }
}

/** @param {string} text */
function parseData(text) {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
