// @ts-check
/* One turn of the conversation as the app draws it: the question, the steps, the answer as it comes, and its tools.

   Everything from a book or a model is set as text. Footnotes become buttons, the words that carry the answer are
   emphasised, and a refusal is a card of its own. */

import { drawIcon, drawQuotation, el, fill } from "../shared/dom.js";
import { quote, shorten, splitAtMarks } from "../shared/text.js";
import { Tooltip } from "../shared/tooltip.js";
import { describePlace, gradeConfidence } from "../shared/turn.js";
import { FeedbackView } from "./feedback.js";
import { announce, copyText, drawProblem } from "./notices.js";
import { drawInParagraph, drawQuoted, drawQuotedRows } from "./paragraph.js";
import { S, describeStep } from "./strings.js";

/** @import { Answered, Asked, Citation, Claim, Place, Turn } from "../shared/turn.js" */

/**
 * @typedef {object} Actions
 * @property {(place: Place, from: HTMLElement) => void} open  shows a place in the reader
 * @property {(asked: Asked, replaced?: TurnView) => void} ask  asks a question, in place of a turn where one is given
 * @property {() => boolean} hasManyBooks
 */

const NO_SPACES = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}]/u;
const COPY = "M9 9h10v11H9zM6 15H5V4h10v2";
const SHARE = "M10 14a4 4 0 0 0 6 .4l2.600-2.600a4 4 0 0 0-5.700-5.700l-1.200 1.200M14 10a4 4 0 0 0-6-.4l-2.600 2.600a4 4 0 0 0 5.700 5.700l1.200-1.200";

const tooltip = new Tooltip(document.querySelector("main") || document.body, "preview", (card, owner) => {
  const at = owner.getBoundingClientRect();
  const { offsetWidth: width, offsetHeight: height } = card;
  const left = Math.max(8, Math.min(at.left + at.width / 2 - width / 2, innerWidth - width - 8));
  const below = at.bottom + 8;
  card.style.left = `${left}px`;
  card.style.top = `${below + height < innerHeight - 8 ? below : Math.max(8, at.top - height - 8)}px`;
});
addEventListener("scroll", () => tooltip.follow(), { capture: true, passive: true });

export class TurnView {
  #turn;
  #actions;
  /* Something moves from the first moment, before the server has said anything. */
  #begun = el("li", {}, S.begun);
  #steps = el("ul", { class: "steps" }, this.#begun);
  #said = el("div", { class: "said" });
  #foot = el("div", { class: "foot" });

  /**
   * @param {Turn} turn  a turn that has just begun
   * @param {Actions} actions
   */
  constructor(turn, actions) {
    const { question, where, body } = turn.asked;
    this.#turn = turn;
    this.#actions = actions;
    this.root = el("article", { class: "turn", tabindex: "-1", "aria-label": shorten(question, 80) },
      el("div", { class: "asked" },
        el("span", { class: "quiet" }, S.you, " "),
        el("p", { class: "question", dir: "auto" }, question),
        body.selected_text ? drawQuotation(shorten(body.selected_text, 160), "about") : null,
        where ? el("p", { class: "asked-where" }, where) : null),
      this.#steps, this.#said, this.#foot);
    this.root.addEventListener("keydown", (event) => walkSources(this.root, event));
  }

  /**
   * Draw what has changed since the last call.
   * @param {Turn} turn
   */
  draw(turn) {
    const before = this.#turn;
    this.#turn = turn;
    if (turn.state === "asking") {
      const steps = turn.steps.slice(before.steps.length);
      const claims = turn.claims.slice(before.claims.length);
      if (steps.length) this.#begun.remove();
      for (const step of steps) this.#steps.append(el("li", {}, describeStep(step)));
      for (const claim of claims) {
        this.#said.append(this.#drawClaim(claim));
        announce(claim.text);
      }
    } else {
      this.#steps.remove();
      if (turn.final && turn.refusal) this.#drawRefusal(turn.final);
      else if (turn.final) this.#drawAnswer(turn.final);
      else if (turn.problem) fill(this.#foot, drawProblem(turn.problem, () => this.#askAgain()));
      else this.#drawStopped();
    }
    this.root.dispatchEvent(new CustomEvent("grown", { bubbles: true }));
  }

  #askAgain() {
    this.#actions.ask(this.#turn.asked, this);
  }

  #drawStopped() {
    fill(this.#foot, el("p", { class: "stopped" }, S.stopped, " ",
      el("button", { type: "button", class: "link", on: { click: () => this.#askAgain() } }, S.again)));
    announce(S.stopped);
  }

  /** @param {Answered} final */
  #drawAnswer(final) {
    fill(this.#said, this.#drawInterpreted(), this.#drawShort(), this.#turn.claims.map((claim) => this.#drawClaim(claim)));
    fill(this.#foot, this.#drawConfidence(final), this.#drawSources(), this.#drawDropped(), this.#drawTools(final));
  }

  #drawInterpreted() {
    const { interpreted } = this.#turn;
    return interpreted ? el("p", { class: "interpreted" }, S.interpreted, " ", el("em", {}, interpreted)) : null;
  }

  /** Draw the words that answer, in large letters, with their footnote. */
  #drawShort() {
    const { short } = this.#turn;
    return short ? el("p", { class: "short", dir: "auto" }, short.text, " ", this.#drawFootnote(short.citation)) : null;
  }

  /**
   * Draw a sentence. Until the answer is complete, a footnote is only a number: what it quotes is not known yet.
   * @param {Claim} claim
   */
  #drawClaim(claim) {
    const drawn = this.#drawSentence(claim);
    const cited = this.#turn.citations.filter(({ number }) => claim.citations.includes(number));
    const here = cited.every((place) => place.book_id === cited[0].book_id && place.section_id === cited[0].section_id &&
      place.start !== undefined && place.end !== undefined && claim.text.includes(place.content_snippet.trim()));
    if (this.#turn.final && cited.length && here) {
      const start = Math.min(...cited.map((place) => Number(place.start)));
      const end = Math.max(...cited.map((place) => Number(place.end)));
      drawQuoted({ ...cited[0], start, end, content_snippet: claim.text.trim() }).then(async (whole) => {
        const passage = whole || (cited.length > 1 && await drawQuotedRows(cited));
        if (passage) drawn.replaceWith(el("div", { class: "claim quoted", dir: getComputedStyle(drawn).direction }, passage,
          claim.citations.map((number) => this.#drawFootnote(number))));
      });
    }
    return drawn;
  }

  /** @param {Claim} claim */
  #drawSentence(claim) {
    const text = claim.text.trim();
    const shift = claim.text.length - claim.text.trimStart().length;
    const parts = splitAtMarks(text, claim.marks.map(([start, end]) => [start - shift, end - shift]));
    const last = parts.pop() || { text: "", marked: false };
    /* The last word and its footnotes stay on one line; where words have no spaces between them, the last character. */
    const cut = last.text.search(NO_SPACES.test(last.text.slice(-24)) ? /\S\p{P}*$/u : /\S{1,24}$/);
    const drawPiece = (/** @type {{text: string, marked: boolean}} */ piece) =>
      (piece.marked && piece.text ? el("strong", {}, piece.text) : piece.text);
    return el("p", { class: text.includes("\n") ? "claim lines" : "claim", dir: "auto" },
      parts.map(drawPiece), cut > 0 ? drawPiece({ ...last, text: last.text.slice(0, cut) }) : null,
      el("span", { class: "together" }, drawPiece({ ...last, text: last.text.slice(Math.max(0, cut)) }),
        claim.citations.map((number) => this.#drawFootnote(number))),
      claim.translated ? this.#drawOriginal(claim) : null);
  }

  /**
   * Say that a sentence is translated, and show the words of the book that it cites.
   * @param {Claim} claim
   */
  #drawOriginal({ citations }) {
    const cited = this.#turn.citations.filter(({ number }) => citations.includes(number));
    return el("span", { class: "original" }, el("span", { class: "translated", title: S.translatedHint }, S.translated),
      cited.map(({ content_snippet }) => [" ", drawQuotation(shorten(content_snippet, 320))]));
  }

  /** @param {number} number */
  #drawFootnote(number) {
    const cited = this.#turn.citations.find((other) => other.number === number);
    if (!cited) return el("sup", { class: "cite waiting" }, number);
    /** @type {HTMLButtonElement} */
    const button = el("button", { type: "button", class: "cite", "aria-label": S.citation(number, describe(cited)),
      on: { click: () => this.#actions.open(cited, button) } }, number);
    tooltip.attach(button, () => drawCard(cited));
    return button;
  }

  /** @param {Answered} final */
  #drawConfidence(final) {
    const grade = gradeConfidence(final.confidence);
    return el("details", { class: "about-answer" },
      el("summary", { class: `sure sure-${grade}`, title: S.details }, S.confidence(grade)),
      el("p", { class: "hint" }, S.confidenceHint(final.confidence)),
      el("p", {}, final.answerer ? el("span", { class: "who" }, S.answeredBy(final.answerer), ", ") : null,
        el("span", { class: "time" }, S.seconds(final.processing_time_ms))));
  }

  #drawSources() {
    const { citations } = this.#turn;
    if (!citations.length) return null;
    return el("details", { class: "sources" },
      el("summary", {}, S.sources(citations.length)),
      el("ol", {}, citations.map((cited) => {
        /** @type {HTMLButtonElement} */
        const button = el("button", { type: "button", class: "source", on: { click: () => this.#actions.open(cited, button) } },
          drawQuotation(shorten(cited.content_snippet)),
          el("span", { class: "source-place" }, describeWithTitle(cited, " · ")));
        const online = /^https?:/.test(cited.link || "")
          ? el("a", { href: cited.link, target: "_blank", rel: "noopener noreferrer", class: "online" }, S.asOnline, " ↗") : null;
        return el("li", {}, button, online);
      })));
  }

  #drawDropped() {
    const { dropped } = this.#turn;
    if (!dropped.length) return null;
    return el("details", { class: "dropped" },
      el("summary", {}, S.dropped(dropped.length)),
      el("ul", {}, dropped.map(({ text, reason }) => el("li", {}, el("s", {}, text), el("span", { class: "reason" }, " ", reason)))));
  }

  /** @param {Answered} final */
  #drawTools(final) {
    const feedback = new FeedbackView(this.#turn);
    const tool = (/** @type {string} */ text, /** @type {string} */ path, /** @type {() => void} */ act) =>
      el("button", { type: "button", class: "tool", on: { click: act } }, drawIcon(path), el("span", {}, text));
    const link = `${location.href.split("#")[0]}#/answers/${encodeURIComponent(final.answer_id)}`;
    return el("div", { class: "tools-row" },
      el("div", { class: "row" },
        tool(S.copy, COPY, () => copyText(writeAnswer(this.#turn), { done: S.copied, title: S.copy })),
        tool(S.share, SHARE, () => copyText(link, { done: S.shared, title: S.shareTitle })),
        feedback.buttons),
      feedback.panel);
  }

  /** @param {Answered} final */
  #drawRefusal(final) {
    const { reason = "", message = "", nearest = [] } = this.#turn.refusal || {};
    const near = nearest.map((place) => {
      /** @type {HTMLButtonElement} */
      const button = el("button", { type: "button", class: "source", on: { click: () => this.#actions.open(place, button) } },
        place.excerpt ? drawQuotation(shorten(place.excerpt, 320), "excerpt") : null,
        el("span", { class: place.excerpt ? "source-place" : "" }, [describe(place), place.source_title].filter(Boolean).join(" · ")));
      return el("li", {}, button);
    });
    const heading = S.refusals[reason] || S.refused;
    // The server writes English.
    const why = S.refusalReasons[reason] || message;
    fill(this.#said,
      this.#drawInterpreted(),
      el("div", { class: "refusal" },
        el("p", { class: "refusal-title" }, heading),
        el("p", { dir: "auto" }, why),
        near.length ? [el("p", { class: "refusal-near" }, S.nearest), el("ul", {}, near)] : null,
        this.#drawWider(reason, nearest)));
    fill(this.#foot, this.#drawDropped(), this.#drawTools(final));
    announce(`${heading}. ${why}`);
  }

  /**
   * Offer a way on: from a part of a book to the whole of it, from a book to all books.
   * @param {string} reason
   * @param {readonly Place[]} nearest
   */
  #drawWider(reason, nearest) {
    const { body, question } = this.#turn.asked;
    const isNarrow = body.scope || body.selected_text || reason === "not_in_scope";
    const book = body.book_id || nearest[0]?.book_id;
    if (reason === "empty_library") return null;
    const button = (/** @type {string} */ text, /** @type {Asked} */ wider) =>
      el("button", { type: "button", class: "button strong", on: { click: () => this.#actions.ask(wider) } }, text);
    if (isNarrow) return button(S.widen, { question, body: book ? { book_id: book } : {}, where: S.scopes.wholeBook });
    return body.book_id && this.#actions.hasManyBooks() ? button(S.widenAll, { question, body: {}, where: S.scopes.all }) : null;
  }
}

/**
 * Draw the card of a footnote: the sentence at once, and around it its paragraph when that has come.
 * @param {Citation} cited
 */
function drawCard(cited) {
  const words = el("div", { class: "preview-quote", dir: "auto" }, drawQuotation(shorten(cited.content_snippet, 320)));
  drawInParagraph(cited).then((drawn) => {
    if (!drawn || !words.isConnected) return;
    fill(words, drawn);
    tooltip.follow();
  });
  return [words, el("span", { class: "preview-place" }, describeWithTitle(cited, " · "))];
}

/**
 * Move the focus with the arrow keys from one footnote, or one source of the list, to the next.
 * @param {HTMLElement} root
 * @param {KeyboardEvent} event
 */
function walkSources(root, event) {
  const onward = getComputedStyle(root).direction === "rtl" ? -1 : 1;
  const step = { ArrowRight: onward, ArrowDown: 1, ArrowLeft: -onward, ArrowUp: -1 }[event.key];
  const kind = event.target instanceof HTMLElement && ["cite", "source"].find((name) => event.target instanceof HTMLElement && event.target.matches(`button.${name}`));
  if (!step || !kind) return;
  /** @type {HTMLElement[]} */
  const all = [...root.querySelectorAll(`button.${kind}`)].filter((node) => node instanceof HTMLElement);
  const next = all[all.findIndex((node) => node === event.target) + step];
  event.preventDefault();
  next?.focus();
}

/** @param {Place} place */
function describe(place) {
  return describePlace(place, S.page);
}

/**
 * @param {Citation} cited
 * @param {string} separator
 */
function describeWithTitle(cited, separator) {
  return [cited.title, describe(cited)].filter(Boolean).join(separator);
}

/**
 * Write a turn as plain text with its sources, for pasting elsewhere.
 * @param {Turn} turn
 */
export function writeAnswer({ asked, final, citations }) {
  const notes = citations.map((cited) =>
    `[${cited.number}] ${quote(shorten(cited.content_snippet, 1000))} ${describeWithTitle(cited, ", ")}. ${cited.link}`);
  return [asked.question, "", final?.answer, "", ...notes].join("\n").trim();
}
