// @ts-check
/* One turn of the conversation as the widget draws it: the step that is being done, the answer as it comes, then its
   passages, how confident it is, and what the reader can do with it. */

import { drawIcon, drawQuotation, el, fill } from "../shared/dom.js";
import { SURE } from "../shared/strings.js";
import { beginsQuoted, quote, shorten } from "../shared/text.js";
import { describePlace, gradeConfidence, skipShort } from "../shared/turn.js";
import { drawFeedback } from "./feedback.js";
import { ICONS } from "./icons.js";
import { findTarget } from "./jump.js";
import { drawInline, drawProse } from "./prose.js";

/** @import { Attributes, Child } from "../shared/dom.js" */
/** @import { Problem } from "../shared/sse.js" */
/** @import { Tooltip } from "../shared/tooltip.js" */
/** @import { Answered, Asked, Citation, Claim, Place, Step, Turn } from "../shared/turn.js" */
/** @import { SendVote } from "./feedback.js" */
/** @import { Say, Word } from "./strings.js" */

/**
 * @typedef {object} Actions
 * @property {Say} say
 * @property {Tooltip} tooltip
 * @property {(place: Place) => boolean} show  shows a passage in the page; false where no page has it
 * @property {(asked: Asked) => void} widen  asks the whole book
 * @property {(replaced: TurnView, asked: Asked) => void} retry
 * @property {SendVote} sendVote
 * @property {(text: string) => void} announce
 */

const STEPS = /** @type {const} */ ({
  asked: "stepAsked", scoped: "stepScoped", retrieved: "stepRetrieved", searching: "stepSearching", reading: "stepReading",
  writing: "stepWriting", checking: "stepChecking",
});
/** The title and the explanation for each reason. @type {Record<string, [title: Word, why: Word]>} */
const REFUSED = {
  not_in_book: ["refused", "refusedWhy"],
  not_in_scope: ["refusedScope", "refusedScopeWhy"],
  below_confidence: ["refusedUnsure", "refusedUnsureWhy"],
  empty_library: ["refusedEmpty", "refusedEmptyWhy"],
};

export class TurnView {
  #turn;
  #actions;
  #step = "";
  #interpreted = el("div", { class: "understood" });
  #steps = el("p", { class: "steps", role: "status" });
  #said = el("div", { class: "said" });
  #after = el("div", { class: "after" });

  /**
   * @param {Turn} turn  a turn that has just begun
   * @param {Actions} actions
   */
  constructor(turn, actions) {
    const { question, body } = turn.asked;
    this.#turn = turn;
    this.#actions = actions;
    const about = body.selected_text && el("blockquote", { class: "about" }, shorten(body.selected_text, 180));
    const asked = el("h3", { class: "asked", dir: "auto" }, question);
    this.root = el("article", { class: "turn" }, asked, about, this.#interpreted, this.#steps, this.#said, this.#after);
  }

  /**
   * Draw what has changed since the last call.
   * @param {Turn} turn
   */
  draw(turn) {
    const before = this.#turn;
    this.#turn = turn;
    if (turn.interpreted && turn.interpreted !== before.interpreted)
      fill(this.#interpreted, el("p", {}, this.#actions.say("interpreted", { detail: turn.interpreted })));
    if (turn.state === "asking") {
      this.#drawStep(turn.steps.at(-1));
      for (const claim of turn.claims.slice(before.claims.length)) this.#said.append(this.#drawClaim(claim));
      return;
    }
    this.root.classList.add("done");
    fill(this.#steps, turn.state === "stopped" && this.#actions.say("stopped"));
    if (turn.refusal) this.#drawRefusal();
    else if (turn.final) this.#drawAnswer(turn.final);
    else fill(this.#after, turn.problem ? this.#drawProblem(turn.problem) : this.#drawRetry());
  }

  /** @param {Step | undefined} step */
  #drawStep(step) {
    const text = step ? this.#describeStep(step) : this.#actions.say("stepAsked");
    if (text === this.#step) return;
    this.#step = text;
    fill(this.#steps, el("span", { class: "working", "aria-hidden": "true" }), text, "…");
  }

  /** @param {Step} step */
  #describeStep({ kind, name, detail, count }) {
    const needsDetail = kind === "searching" || kind === "reading";
    if (kind === "other" || (needsDetail && !detail)) return detail ? `${name} ${detail}` : name;
    return this.#actions.say(STEPS[kind], { detail, n: count });
  }

  /**
   * Draw a sentence. Its footnotes become links when the answer is complete.
   * @param {Claim} claim
   */
  #drawClaim({ text, citations }) {
    const notes = citations.map((number) => el("sup", { class: "cite waiting" }, String(number)));
    return el("p", { class: "claim" }, drawInline(text, () => null), notes);
  }

  /** @param {Answered} final */
  #drawAnswer(final) {
    const { citations, short } = this.#turn;
    const byNumber = new Map(citations.map((cited) => [cited.number, cited]));
    const footnote = (/** @type {number} */ number) => this.#drawFootnote(byNumber.get(number));
    fill(this.#said, short && el("p", { class: "short", dir: "auto" }, short.text, footnote(short.citation)),
      drawProse(skipShort(final.answer, short), footnote),
      this.#drawOriginals());
    fill(this.#after, this.#drawPassages(citations), this.#drawFoot(final), this.#drawDropped());
  }

  /** Say that sentences are translated, and show the words of the book that they cite. */
  #drawOriginals() {
    const numbers = new Set(this.#turn.claims.flatMap(({ translated, citations }) => (translated ? citations : [])));
    const cited = this.#turn.citations.filter(({ number }) => numbers.has(number));
    return cited.length ? el("div", { class: "translated" }, el("p", {}, this.#actions.say("translatedHint")),
      cited.map(({ number, content_snippet }) => el("p", { dir: "auto" }, `${number} `, drawQuotation(shorten(content_snippet, 320))))) : null;
  }

  /** @param {Citation | undefined} cited */
  #drawFootnote(cited) {
    if (!cited) return null;
    return el("sup", {}, this.#drawLink(cited, { class: "cite", "aria-label": this.#label(cited) }, String(cited.number)));
  }

  /**
   * Draw a true link where there is a page to link to, so that it can be opened and copied like any other.
   * @param {Place & {number?: number}} cited
   * @param {Attributes} attributes
   * @param {...Child} children
   */
  #drawLink(cited, attributes, ...children) {
    const { kind, href } = findTarget(cited);
    const away = kind === "web" ? { target: "_blank", rel: "noopener noreferrer" } : { rel: "noopener" };
    const click = (/** @type {MouseEvent} */ event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      if (!this.#actions.show(cited)) this.#toggleQuote(cited);
    };
    const node = href
      ? el("a", { ...attributes, href, ...away, on: { click } }, ...children)
      : el("button", { ...attributes, type: "button", on: { click } }, ...children);
    const snippet = cited.content_snippet;
    if (snippet)
      this.#actions.tooltip.attach(node, () => [
        el("blockquote", { dir: "auto", class: beginsQuoted(snippet) ? "bare" : null }, shorten(snippet, 420)), el("p", {}, this.#describe(cited)),
      ]);
    return node;
  }

  /** @param {Place} place */
  #describe(place) {
    return shorten(describePlace(place, (n) => this.#actions.say("page", { n })), 140);
  }

  /** @param {Citation} cited */
  #label(cited) {
    return this.#actions.say("citation", { n: cited.number, place: this.#describe(cited) });
  }

  /**
   * Draw the places, each once, with the numbers that stand there.
   * @param {readonly Citation[]} citations
   */
  #drawPassages(citations) {
    /** @type {Map<string, Citation[]>} */
    const places = new Map();
    for (const cited of citations) {
      const key = [cited.section_id, cited.url, this.#describe(cited)].join();
      places.set(key, [...(places.get(key) || []), cited]);
    }
    const number = (/** @type {Citation} */ cited) => el("span", { class: "number" }, String(cited.number));
    const items = [...places.values()].map((group) => {
      const place = el("span", { class: "place" }, this.#describe(group[0]));
      const links = group.length === 1
        ? this.#drawLink(group[0], { class: "passage" }, number(group[0]), place)
        : [group.map((cited) => this.#drawLink(cited, { class: "passage", "aria-label": this.#label(cited) }, number(cited))), place];
      return el("li", { "data-passages": group.map((cited) => cited.number).join(" ") }, links);
    });
    if (!items.length) return null;
    return el("ol", { class: "passages", "aria-label": this.#actions.say("sources") }, items);
  }

  /**
   * Show or hide the words of a passage that is on no page.
   * @param {Place & {number?: number}} cited
   */
  #toggleQuote(cited) {
    const number = Number(cited.number);
    const item = this.#after.querySelector(`[data-passages~="${number}"]`);
    const open = item?.querySelector(`[data-quote="${number}"]`);
    if (open) open.remove();
    else item?.append(el("blockquote", { class: "quote", dir: "auto", "data-quote": number }, cited.content_snippet));
  }

  /** @param {Answered} final */
  #drawFoot(final) {
    const { say, announce } = this.#actions;
    const number = say("sureNumber", { n: Math.round(100 * final.confidence) });
    const sure = el("span", { class: "sure", title: number }, say(SURE[gradeConfidence(final.confidence)]),
      el("span", { class: "unseen" }, ` (${number})`));
    const copy = drawAction(say("copy"), ICONS.copy, async () => {
      await navigator.clipboard.writeText(this.#writeAnswer(final));
      copy.title = say("copied");
      copy.classList.add("chosen");
      announce(say("copied"));
    });
    const { buttons, form } = drawFeedback(this.#turn, this.#actions, drawAction);
    return [el("div", { class: "foot" }, sure, el("span", { class: "actions" }, copy, buttons)), form];
  }

  /**
   * Write the answer for the clipboard: its text, and below it each passage with its place.
   * @param {Answered} final
   */
  #writeAnswer(final) {
    const notes = this.#turn.citations.map((cited) => {
      const { href } = findTarget(cited);
      return `[${cited.number}] ${quote(shorten(cited.content_snippet, 400))} (${this.#describe(cited)})${href ? `\n    ${href}` : ""}`;
    });
    return [final.answer, ...notes].join("\n\n");
  }

  #drawDropped() {
    const { dropped } = this.#turn;
    if (!dropped.length) return null;
    const { say } = this.#actions;
    const title = dropped.length === 1 ? say("droppedOne") : say("droppedMany", { n: dropped.length });
    const items = dropped.map(({ text, reason }) => el("li", {}, el("s", {}, text), el("small", {}, reason)));
    return el("details", { class: "dropped" }, el("summary", {}, title), el("ul", {}, items));
  }

  #drawRefusal() {
    const { say, widen } = this.#actions;
    const { asked: { question, body: { selected_text, ...body } }, refusal } = this.#turn;
    const { reason = "", message = "", nearest = [] } = refusal || {};
    const [title, why] = REFUSED[reason] || ["refused", null];
    const near = nearest.map((place) => {
      const target = { ...place, link: place.url };
      const excerpt = place.excerpt && drawQuotation(shorten(place.excerpt, 320), "excerpt");
      return el("li", {}, this.#drawLink(target, { class: "passage" }, excerpt, el("span", { class: "place" }, this.#describe(target))));
    });
    fill(this.#said, el("div", { class: "card" },
      el("p", { class: "card-title" }, say(title)),
      el("p", {}, why ? say(why) : message),
      near.length > 0 && [el("p", { class: "label" }, say("nearest")), el("ul", { class: "nearest" }, near)],
      selected_text && el("button", { type: "button", class: "plain", on: { click: () => widen({ question, body }) } }, say("widen"))));
    const { buttons, form } = drawFeedback(this.#turn, this.#actions, drawAction);
    fill(this.#after, el("div", { class: "rate" }, buttons), form);
  }

  #drawRetry() {
    const retry = () => this.#actions.retry(this, this.#turn.asked);
    return el("p", {}, el("button", { type: "button", class: "plain", on: { click: retry } }, this.#actions.say("retry")));
  }

  /** @param {Problem} problem */
  #drawProblem({ status, retryAfter, message }) {
    const { say } = this.#actions;
    const title = status === 401 || status === 403 ? say("failedKey")
      : status === 429 ? say("failedBusy", { n: retryAfter || 30 })
        : status === 0 ? say("failedOffline") : say("failed");
    const detail = status >= 400 && ![401, 403, 429].includes(status) ? message : "";
    return el("div", { class: "card failed", role: "alert" },
      el("p", { class: "card-title" }, title), detail && el("p", {}, detail), this.#drawRetry());
  }
}

/** @type {import("./feedback.js").DrawAction} */
function drawAction(label, path, click) {
  return el("button", { type: "button", class: "action", title: label, "aria-label": label, on: { click } }, drawIcon(path));
}
