// @ts-check
/* One turn of a conversation: a question and what became of it.

   A turn is a value that never changes; each function returns the next one. The app and the widget keep no state of
   their own about a question: `followTurn` yields the turn whenever it changes, and they draw it. */

import { Problem } from "./sse.js";

/** @import { StreamEvent } from "./sse.js" */
/** @import { Span } from "./text.js" */

/* The shapes that the server sends. Any of them may come from a server gone wrong, or from storage that somebody
   spoilt: what has the wrong type is left out in `finishTurn`. */

/**
 * @typedef {object} Place  where something stands in a book
 * @property {string} book_id
 * @property {string} section_id
 * @property {string} section
 * @property {string} title
 * @property {string | number | null} [page]
 * @property {string} [page_label]
 * @property {number} [page_number]
 * @property {string} [source_title]
 * @property {string} [content_snippet]
 * @property {string} [excerpt]  the words of a nearest passage
 * @property {number} [start]
 * @property {number} [end]
 * @property {string} [url]
 * @property {string} [link]
 */
/** @typedef {Place & {number: number, content_snippet: string}} Citation */
/** @typedef {{text: string, citations: readonly number[], marks: readonly Span[], translated?: boolean}} Claim */
/** @typedef {{text: string, citation: number}} Short  the words that answer, and the number of their citation */
/** @typedef {{text: string, reason: string}} DroppedClaim */
/** @typedef {{reason: string, message: string, nearest: readonly Place[]}} Refusal */

/**
 * @typedef {object} Answered  the last event of a stream, and what the server keeps of an answer
 * @property {string} [question]
 * @property {string} answer_id
 * @property {string} answer  opens with the short answer, if there is one
 * @property {Short | null} [short]
 * @property {number} confidence
 * @property {readonly Citation[]} citations
 * @property {readonly {text: string, book_id: string}[]} [catalogue]  the sentences without a citation
 * @property {readonly Claim[]} [claims]
 * @property {readonly DroppedClaim[]} [dropped]
 * @property {Refusal | null} refusal
 * @property {string | null} [interpreted]
 * @property {string | null} [answerer]
 * @property {number} processing_time_ms
 * @property {string} [book_id]  what the question was about, and how the reader rated the answer
 * @property {string} [selected_text]
 * @property {{type: string, identifier: string | null, description?: string}} [scope]
 * @property {string} [vote]
 */

/* The turn itself. */

/**
 * @typedef {object} AskBody  what goes to the server besides the question and the session
 * @property {string} [book_id]
 * @property {string} [selected_text]
 * @property {{type: string, identifier: string}} [scope]
 */
/** @typedef {{question: string, body: AskBody, where?: string}} Asked */
/** @typedef {"asked" | "scoped" | "retrieved" | "searching" | "reading" | "writing" | "checking" | "other"} StepKind */
/** @typedef {{kind: StepKind, name: string, detail: string, count: number}} Step */
/** @typedef {"up" | "down"} Vote */
/** @typedef {{vote: Vote | "", isOpen: boolean, sent: Vote | "", problem: Problem | null}} Feedback */

/**
 * @typedef {object} Turn
 * @property {Asked} asked
 * @property {"asking" | "answered" | "refused" | "stopped" | "failed"} state
 * @property {string} interpreted  what was looked for, where it differs from the question
 * @property {readonly Step[]} steps
 * @property {Short | null} short
 * @property {readonly Claim[]} claims
 * @property {readonly Citation[]} citations
 * @property {readonly DroppedClaim[]} dropped
 * @property {Refusal | null} refusal
 * @property {Answered | null} final
 * @property {Problem | null} problem
 * @property {Feedback} feedback
 */

export const QUESTION_MOST = 1000;
const WORK = new Set(["searching", "reading", "writing", "checking"]);
const WITHOUT_DETAIL = new Set(["writing", "checking"]);

/**
 * @param {Asked} asked
 * @returns {Turn}
 */
export function beginTurn(asked) {
  return {
    asked, state: "asking", interpreted: "", steps: [], short: null, claims: [], citations: [], dropped: [], refusal: null,
    final: null, problem: null, feedback: { vote: "", isOpen: false, sent: "", problem: null },
  };
}

/**
 * Yield the turn after each event. The last one is answered, refused, stopped or failed; nothing is thrown.
 * @param {Turn} turn
 * @param {AsyncIterable<StreamEvent>} events
 * @param {AbortSignal} signal
 */
export async function* followTurn(turn, events, signal) {
  try {
    for await (const event of events) {
      turn = takeEvent(turn, event);
      yield turn;
      if (turn.state !== "asking") return;
    }
    yield failTurn(turn, new Problem(0, "interrupted", "The answer broke off before its end."));
  } catch (error) {
    yield signal.aborted ? stopTurn(turn) : failTurn(turn, Problem.wrap(error));
  }
}

/**
 * @param {Turn} turn
 * @param {StreamEvent} event
 * @returns {Turn}
 */
export function takeEvent(turn, { event, data }) {
  switch (event) {
    case "asked": return { ...addStep(turn, "asked"), interpreted: readInterpreted(turn, data.interpreted) };
    case "scoped": return addStep(turn, "scoped", { detail: data.description });
    case "retrieved": return addStep(turn, "retrieved", { count: listOf(data.evidence).length });
    case "working": return takeWork(turn, data);
    case "claimed": return { ...turn, claims: [...turn.claims, readClaim(data)] };
    case "answered": return finishTurn(turn, data);
    case "error": return failTurn(turn, new Problem(data.status || 500, data.code, data.detail || data.message || "", data.hint || ""));
    default: return turn;
  }
}

/**
 * @param {Turn} turn
 * @param {{step?: unknown, detail?: unknown}} data
 */
function takeWork(turn, { step, detail }) {
  const name = String(step || "");
  const kind = /** @type {StepKind} */ (WORK.has(name) ? name : "other");
  return addStep(turn, kind, { name, detail: WITHOUT_DETAIL.has(kind) ? "" : detail });
}

/**
 * Add a step, unless it is the one that is being done already.
 * @param {Turn} turn
 * @param {StepKind} kind
 * @param {{name?: string, detail?: unknown, count?: number}} more
 * @returns {Turn}
 */
function addStep(turn, kind, { name = kind, detail = "", count = 0 } = {}) {
  const step = { kind, name, detail: String(detail || ""), count };
  const last = turn.steps.at(-1);
  const same = last && last.name === name && last.kind === kind && last.detail === step.detail && last.count === count;
  return same ? turn : { ...turn, steps: [...turn.steps, step] };
}

/**
 * End a turn with the answer or the refusal: from a stream, from the server's record, or from the browser's storage.
 * @param {Turn} turn
 * @param {Answered} final
 * @returns {Turn}
 */
export function finishTurn(turn, final) {
  const citations = /** @type {Citation[]} */ (listOf(final.citations));
  const dropped = /** @type {DroppedClaim[]} */ (listOf(final.dropped));
  const interpreted = readInterpreted(turn, final.interpreted) || turn.interpreted;
  const refusal = final.refusal ? { ...final.refusal, nearest: listOf(final.refusal.nearest) } : null;
  const known = turn.claims.length ? turn.claims : listOf(final.claims).map(readClaim);
  const short = readShort(final, citations);
  const claims = known.length ? known : splitClaims(skipShort(String(final.answer || ""), short), citations);
  const rated = final.vote === "up" || final.vote === "down" ? final.vote : "";
  const feedback = rated ? { ...turn.feedback, vote: /** @type {Vote} */ (rated), sent: /** @type {Vote} */ (rated) } : turn.feedback;
  return { ...turn, state: refusal ? "refused" : "answered", final, citations, dropped, interpreted, refusal, short, claims, feedback };
}

/**
 * Read what was asked from what the server keeps of an answer.
 * @param {Answered} final
 * @returns {Asked}
 */
export function readAsked({ question = "", book_id, selected_text, scope }) {
  return {
    question,
    where: scope?.description || "",
    body: {
      ...(book_id ? { book_id } : {}),
      ...(selected_text ? { selected_text } : {}),
      ...(scope ? { scope: { type: scope.type, identifier: scope.identifier || "" } } : {}),
    },
  };
}

/**
 * @param {Turn} turn
 * @returns {Turn}
 */
export const stopTurn = (turn) => ({ ...turn, state: "stopped" });

/**
 * @param {Turn} turn
 * @param {Problem} problem
 * @returns {Turn}
 */
export const failTurn = (turn, problem) => ({ ...turn, state: "failed", problem });

/* Feedback: a vote may ask for reasons first, and is sent once. */

/**
 * Open the form for a vote, or close it when `vote` is empty.
 * @param {Turn} turn
 * @param {Vote | ""} vote
 * @returns {Turn}
 */
export function openFeedback(turn, vote) {
  return { ...turn, feedback: { ...turn.feedback, vote, isOpen: vote !== "", problem: null } };
}

/**
 * Send a vote. The turn that comes back says whether that worked.
 * @param {Turn} turn
 * @param {{vote: Vote, reasons: string[], comment: string}} said
 * @param {(answerId: string, said: object) => Promise<unknown>} send
 * @returns {Promise<Turn>}
 */
export async function sendFeedback(turn, said, send) {
  try {
    await send(turn.final?.answer_id || "", said);
    return { ...turn, feedback: { vote: said.vote, isOpen: false, sent: said.vote, problem: null } };
  } catch (error) {
    return { ...turn, feedback: { ...turn.feedback, problem: Problem.wrap(error) } };
  }
}

/* What the parts of a turn mean. */

/**
 * Split an answer into claims, where its footnotes stand. Only numbers that are cited count as footnotes.
 * @param {string} answer
 * @param {readonly {number: number}[]} citations
 * @returns {Claim[]}
 */
export function splitClaims(answer, citations) {
  const known = new Set(citations.map((cited) => cited.number));
  const claims = [];
  let from = 0;
  for (const found of answer.matchAll(/[ \t]?((?:\[\d+\])+)/g)) {
    const numbers = [...found[1].matchAll(/\d+/g)].map((digits) => Number(digits[0]));
    if (!numbers.every((number) => known.has(number))) continue;
    claims.push({ text: answer.slice(from, found.index), citations: numbers, marks: [] });
    from = found.index + found[0].length;
  }
  if (answer.slice(from).trim()) claims.push({ text: answer.slice(from), citations: [], marks: [] });
  return claims;
}

/**
 * Return the text of an answer after its short answer.
 * @param {string} answer
 * @param {Short | null} short
 */
export function skipShort(answer, short) {
  const mark = short ? `[${short.citation}]` : "";
  const isOpening = short && answer.startsWith(short.text) && answer.includes(mark);
  return isOpening ? answer.slice(answer.indexOf(mark) + mark.length).trimStart() : answer;
}

/**
 * Describe where something stands, for people: section and page.
 * @param {Place} place
 * @param {(page: string | number) => string} wordPage
 */
export function describePlace(place, wordPage) {
  const page = place.page ?? place.page_label ?? place.page_number;
  const parts = [place.section || place.title];
  if (page !== null && page !== undefined && page !== "") parts.push(wordPage(page));
  return parts.filter(Boolean).join(", ");
}

/**
 * Grade a confidence: "very" from 0.9, "fairly" from 0.7, "partly" from 0.4, else "hardly".
 * @param {number} confidence
 * @returns {"very" | "fairly" | "partly" | "hardly"}
 */
export function gradeConfidence(confidence) {
  if (confidence >= 0.9) return "very";
  if (confidence >= 0.7) return "fairly";
  return confidence >= 0.4 ? "partly" : "hardly";
}

/**
 * @param {Partial<Claim>} claim
 * @returns {Claim}
 */
function readClaim({ text, citations, marks, translated }) {
  return { text: String(text), citations: listOf(citations), marks: listOf(marks), ...(translated ? { translated: true } : {}) };
}

/**
 * @param {Answered} final
 * @param {readonly Citation[]} citations
 * @returns {Short | null}
 */
function readShort({ short }, citations) {
  if (typeof short?.text !== "string" || !short.text.trim()) return null;
  return citations.some((cited) => cited.number === short.citation) ? short : null;
}

/**
 * @param {Turn} turn
 * @param {unknown} text
 */
function readInterpreted(turn, text) {
  return text && text !== turn.asked.question ? String(text) : "";
}

/**
 * @param {unknown} value
 * @returns {any[]}
 */
function listOf(value) {
  return Array.isArray(value) ? value : [];
}
