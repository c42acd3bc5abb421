/* One turn of the conversation: the question, what is being done, the answer as it comes, and what can be done with it.

   Everything from a book or a model is set as text. Footnotes become buttons; the words that carry the answer are
   emphasised; a refusal is a card of its own. */

import { el, fill, icon } from "../shared/dom.js";
import { claims, place, shortened, stretches, sureness } from "../shared/cite.js";
import { Feedback } from "./feedback.js";
import { copied, problemCard, say } from "./notices.js";
import { previews } from "./preview.js";
import { S } from "./strings.js";

const COPY = "M9 9h10v11H9zM6 15H5V4h10v2";
const SHARE = "M10 14a4 4 0 0 0 6 .4l2.600-2.600a4 4 0 0 0-5.700-5.700l-1.200 1.200M14 10a4 4 0 0 0-6-.4l-2.600 2.600a4 4 0 0 0 5.700 5.700l1.200-1.200";

export class Turn {
  #claims = [];
  #steps = [];

  /* `asked` = {question, where, body}; `open(citation, button)` shows a citation in the reader; `ask(asked)` asks anew. */
  constructor(asked, { open, ask, manyBooks }) {
    Object.assign(this, { asked, open, ask, manyBooks });
    this.steps = el("ul", { class: "steps" });
    this.said = el("div", { class: "said" });
    this.foot = el("div", { class: "foot" });
    this.root = el("article", { class: "turn", tabindex: "-1", "aria-label": shortened(asked.question, 80) },
      el("div", { class: "asked" },
        el("span", { class: "quiet" }, S.you, " "),
        el("p", { class: "question" }, asked.question),
        asked.body.selected_text ? el("q", { class: "about" }, shortened(asked.body.selected_text, 160)) : null,
        asked.where ? el("p", { class: "asked-where" }, asked.where) : null),
      this.steps, this.said, this.foot);
  }

  take({ event, data }) {
    const words = S.working;
    if (event === "asked") this.#step(words.asked, data.interpreted);
    else if (event === "scoped") this.#step(words.scoped(data.description));
    else if (event === "retrieved") this.#step(words.retrieved(data.evidence.length));
    else if (event === "working") this.#step(this.#named(data.step, data.detail));
    else if (event === "claimed") this.#claim(data);
    else if (event === "answered") this.finish(data);
  }

  #named(step, detail) {
    const words = S.working[step];
    if (typeof words === "function") return words(detail);
    return words || S.working.other(step, detail);
  }

  #step(text) {
    if (this.#steps[this.#steps.length - 1] === text) return;
    this.#steps.push(text);
    this.steps.append(el("li", {}, text));
    this.root.dispatchEvent(new CustomEvent("grown", { bubbles: true }));
  }

  #claim(claim) {
    this.#claims.push(claim);
    this.said.append(this.#sentence(claim, []));
    say(claim.text);
    this.root.dispatchEvent(new CustomEvent("grown", { bubbles: true }));
  }

  finish(final) {
    this.final = final;
    this.steps.remove();
    if (final.refusal) this.#refused(final);
    else this.#answered(final);
    this.root.dispatchEvent(new CustomEvent("grown", { bubbles: true }));
  }

  #answered(final) {
    const known = this.#claims.length ? this.#claims : final.claims || [];
    const told = known.length ? known : claims(final.answer, final.citations);
    fill(this.said,
      final.interpreted ? el("p", { class: "interpreted" }, S.interpreted, " ", el("em", {}, final.interpreted)) : null,
      told.map((claim) => this.#sentence(claim, final.citations)));
    fill(this.foot, this.#about(final), this.#sources(final), this.#dropped(final), this.#tools(final));
  }

  /* Before the last event, a footnote is only a number: what it quotes is not known yet. */
  #sentence(claim, citations) {
    const lines = claim.text.trim().includes("\n");
    const shift = claim.text.length - claim.text.trimStart().length;
    const marks = (claim.marks || []).map(([start, end]) => [start - shift, end - shift]);
    const parts = stretches(claim.text.trim(), marks);
    const last = parts.pop() || { text: "", marked: false };
    const cut = last.text.search(/\S{1,24}$/);
    const drawn = ({ text, marked }) => (marked && text ? el("strong", {}, text) : text);
    return el("p", { class: lines ? "claim lines" : "claim" },
      parts.map(drawn), cut > 0 ? drawn({ ...last, text: last.text.slice(0, cut) }) : null,
      el("span", { class: "together" }, drawn({ ...last, text: last.text.slice(Math.max(0, cut)) }),
        claim.citations.map((number) => this.#footnote(number, citations.find((c) => c.number === number)))));
  }

  #footnote(number, cited) {
    if (!cited) return el("sup", { class: "cite waiting" }, number);
    const button = el("button", { type: "button", class: "cite", "aria-label": S.citation(number, place(cited, S)),
      on: { click: () => this.open(cited, button) } }, number);
    previews(button, () => [
      el("q", { class: "preview-quote" }, shortened(cited.content_snippet, 320)),
      el("span", { class: "preview-place" }, [cited.title, place(cited, S)].filter(Boolean).join(" · ")),
    ]);
    return button;
  }

  #about(final) {
    const hint = S.surenessHint(final.confidence);
    return el("p", { class: "about-answer" },
      el("span", { class: `sure sure-${sureness(final.confidence)}`, title: hint },
        S.sureness[sureness(final.confidence)], el("span", { class: "quiet" }, ` (${hint})`)),
      final.answerer ? el("span", { class: "who" }, S.answeredBy(final.answerer)) : null,
      el("span", { class: "time" }, S.seconds(final.processing_time_ms)));
  }

  #sources(final) {
    return el("details", { class: "sources" },
      el("summary", {}, S.sources(final.citations.length)),
      el("ol", {}, final.citations.map((cited) => {
        const button = el("button", { type: "button", class: "source", on: { click: () => this.open(cited, button) } },
          el("q", {}, shortened(cited.content_snippet)),
          el("span", { class: "source-place" }, [cited.title, place(cited, S)].filter(Boolean).join(" · ")));
        const online = /^https?:/.test(cited.link)
          ? el("a", { href: cited.link, target: "_blank", rel: "noopener noreferrer", class: "online" }, S.asOnline, " ↗") : null;
        return el("li", {}, button, online);
      })));
  }

  #dropped(final) {
    if (!final.dropped || !final.dropped.length) return null;
    return el("details", { class: "dropped" },
      el("summary", {}, S.dropped(final.dropped.length)),
      el("ul", {}, final.dropped.map(({ text, reason }) => el("li", {}, el("s", {}, text), el("span", { class: "reason" }, " ", reason)))));
  }

  #tools(final) {
    const feedback = new Feedback(final.answer_id);
    const tool = (text, path, act) => el("button", { type: "button", class: "tool", on: { click: act } }, icon(path), el("span", {}, text));
    const link = `${location.href.split("#")[0]}#/answers/${encodeURIComponent(final.answer_id)}`;
    return el("div", { class: "tools-row" },
      el("div", { class: "row" },
        tool(S.copy, COPY, () => copied(asText(this.asked.question, final), { done: S.copied, title: S.copy })),
        tool(S.share, SHARE, () => copied(link, { done: S.shared, title: S.shareTitle })),
        feedback.buttons),
      feedback.panel);
  }

  #refused(final) {
    const { reason, message, nearest } = final.refusal;
    const near = nearest.map((item) => {
      const target = { ...item, number: 0 };
      const button = el("button", { type: "button", class: "source", on: { click: () => this.open(target, button) } },
        place(item, S), el("span", { class: "source-place" }, item.source_title));
      return el("li", {}, button);
    });
    const heading = S.refusals[reason] || S.refusals.not_in_book;
    fill(this.said,
      final.interpreted ? el("p", { class: "interpreted" }, S.interpreted, " ", el("em", {}, final.interpreted)) : null,
      el("div", { class: "refusal" },
        el("p", { class: "refusal-title" }, heading),
        el("p", {}, message),
        near.length ? [el("p", { class: "refusal-near" }, S.nearest), el("ul", {}, near)] : null,
        this.#wider(final)));
    fill(this.foot, this.#dropped(final), this.#tools(final));
    say(`${heading}. ${message}`);
  }

  /* A way on: from a part of a book to the whole of it, from a book to the shelf. */
  #wider(final) {
    const { body, question } = this.asked;
    const narrow = body.scope || body.selected_text || final.refusal.reason === "not_in_scope";
    const book = body.book_id || (final.refusal.nearest[0] || {}).book_id;
    if (final.refusal.reason === "empty_library") return null;
    const button = (text, wider, where) => el("button", { type: "button", class: "button strong",
      on: { click: () => this.ask({ question, body: wider, where }) } }, text);
    if (narrow) return button(S.widen, book ? { book_id: book } : {}, "the whole book");
    return body.book_id && this.manyBooks() ? button(S.widenShelf, {}, S.scopes.shelf) : null;
  }

  fail(problem) {
    this.steps.remove();
    fill(this.foot, problemCard(problem, () => this.ask(this.asked, this)));
  }

  stopped() {
    this.steps.remove();
    fill(this.foot, el("p", { class: "stopped" }, S.stopped, " ",
      el("button", { type: "button", class: "link", on: { click: () => this.ask(this.asked, this) } }, S.again)));
    say(S.stopped);
  }
}

/* The answer as plain text with its sources, for pasting elsewhere. */
export function asText(question, final) {
  const notes = final.citations.map((c) =>
    `[${c.number}] “${shortened(c.content_snippet, 1000)}” ${[c.title, place(c, S)].filter(Boolean).join(", ")}. ${c.link}`);
  return [question, "", final.answer, "", ...notes].join("\n").trim();
}
