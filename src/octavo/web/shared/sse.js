/* Server-sent events over fetch: with a POST body, with headers, and with a Stop that works.

   `stream(address, {method, body, headers, signal})` yields `{event, data}` for each event, `data` parsed from JSON.
   A response that is no stream is a `Problem` with the server's own words. Aborting the signal ends the loop with an
   `AbortError`, and the server sees the client go. A stream that breaks off is a `Problem` with the code
   "interrupted"; the caller knows from its last event whether the stream was over. */

export class Problem extends Error {
  constructor(status, code, detail, hint = "", retryAfter = 0) {
    super(detail);
    this.name = "Problem";
    Object.assign(this, { status, code, hint, retryAfter });
  }

  static async of(response) {
    const body = await response.json().catch(() => ({}));
    const said = body.detail || body.message || `The server answered with ${response.status}.`;
    const after = Number(response.headers.get("Retry-After")) || 0;
    return new Problem(response.status, body.code || "http", String(said), String(body.hint || ""), after);
  }

  static from(error) {
    if (error instanceof Problem || error.name === "AbortError") return error;
    return new Problem(0, "unreachable", "The server cannot be reached.", "Is it running, and are you online?");
  }
}

export async function* stream(address, { method = "POST", body, headers = {}, signal } = {}) {
  let response;
  try {
    response = await fetch(address, {
      method, signal, headers: { Accept: "text/event-stream", ...headers },
      body: body === undefined ? undefined : body,
    });
  } catch (error) {
    throw Problem.from(error);
  }
  if (!response.ok) throw await Problem.of(response);
  const type = response.headers.get("Content-Type") || "";
  if (!type.startsWith("text/event-stream"))
    throw new Problem(response.status, "no_stream", "The server did not answer with a stream.");
  yield* parsed(response.body, signal);
}

async function* parsed(source, signal) {
  const reader = source.pipeThrough(new TextDecoderStream()).getReader();
  const feed = new Feed();
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      yield* feed.take(value);
    }
  } catch (error) {
    if (signal && signal.aborted) throw new DOMException("Stopped", "AbortError");
    throw new Problem(0, "interrupted", "The connection broke off.", "Try again in a moment.");
  } finally {
    reader.cancel().catch(() => {});
  }
}

/* Text in whatever pieces it comes, events out. Comments (heartbeats) and half events yield nothing. */
export class Feed {
  #rest = "";
  #event = "";
  #data = [];

  take(text) {
    const out = [];
    this.#rest += text;
    let end;
    while ((end = this.#rest.search(/\r\n|\n|\r(?!$)/)) >= 0) {
      const line = this.#rest.slice(0, end);
      this.#rest = this.#rest.slice(end + (this.#rest.startsWith("\r\n", end) ? 2 : 1));
      const event = this.#line(line);
      if (event) out.push(event);
    }
    return out;
  }

  #line(line) {
    if (line === "") {
      const made = this.#data.length ? { event: this.#event || "message", data: value(this.#data) } : null;
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

function value(lines) {
  const text = lines.join("\n");
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
