/* One question and what became of it, on the page: the steps while it is worked on, the answer as it comes, then its
   passages, how sure it is, and what the reader can do with it. */

import { place, shortened, sureness } from "../shared/cite.js";
import { add, el, fill, icon } from "../shared/dom.js";
import { feedback } from "./feedback.js";
import { ICONS } from "./icons.js";
import { whereTo } from "./jump.js";
import { inline, prose } from "./prose.js";

const STEPS = new Set(["searching", "reading", "writing", "checking"]);
const SURE = { very: "sureVery", fairly: "sureFairly", partly: "surePartly", hardly: "sureHardly" };
const REFUSED = {
  not_in_book: "refused",
  not_in_scope: "refusedScope",
  below_confidence: "refusedUnsure",
  empty_library: "refusedEmpty",
};

/* `desk` is what a turn may do: say(words), show(citation), tip(element, citation), widen(question), retry(turn),
   vote(answer, vote, reasons, comment). */
export class Turn {
  #desk;
  #steps = el("p", { class: "steps", role: "status" });
  #said = el("div", { class: "said" });
  #after = el("div", { class: "after" });
  #note = el("div", { class: "understood" });
  #claims = [];

  constructor(question, selection, desk) {
    this.question = question;
    this.selection = selection;
    this.#desk = desk;
    const about = selection && el("blockquote", { class: "about" }, shortened(selection, 180));
    const asked = el("h3", { class: "asked", dir: "auto" }, question);
    this.element = el("article", { class: "turn" }, asked, about, this.#note, this.#steps, this.#said, this.#after);
  }

  /* At once, before the server has said a word. */
  begin() {
    this.#step(this.#desk.say("stepAsked"));
  }

  /* An event of the stream. */
  take({ event, data }) {
    const say = this.#desk.say;
    if (event === "asked") this.#understood(data.interpreted);
    else if (event === "scoped") this.#step(say("stepScoped", { detail: data.description }));
    else if (event === "retrieved") this.#step(say("stepRetrieved", { n: (data.evidence || []).length }));
    else if (event === "working") this.#step(this.#worded(data));
    else if (event === "claimed") this.#claim(data);
  }

  /* The final object of an ask: from a stream, from the server's record, or from what this browser kept. */
  finish(answered) {
    const citations = Array.isArray(answered.citations) ? answered.citations : [];
    fill(this.#steps);
    this.#understood(answered.interpreted);
    this.element.classList.add("done");
    if (answered.refusal) {
      fill(this.#said, this.#refusal(answered.refusal));
      fill(this.#after);
      return;
    }
    const byNumber = new Map(citations.map((cited) => [cited.number, cited]));
    fill(this.#said, prose(answered.answer, (number) => this.#mark(byNumber.get(number))));
    fill(this.#after, this.#passages(citations), this.#foot(answered, citations), this.#dropped(answered.dropped));
  }

  stop() {
    fill(this.#steps, this.#desk.say("stopped"));
    this.element.classList.add("done");
    fill(this.#after, this.#again());
  }

  fail(problem) {
    const say = this.#desk.say;
    const keyed = problem.status === 401 || problem.status === 403;
    const said = keyed
      ? say("failedKey")
      : problem.status === 429
        ? say("failedBusy", { n: problem.retryAfter || 30 })
        : problem.status === 0
          ? say("failedOffline")
          : say("failed");
    const detail = !keyed && problem.status >= 400 && problem.status !== 429 ? problem.message : "";
    fill(this.#steps);
    this.element.classList.add("done");
    const text = [el("p", { class: "card-title" }, said), detail && el("p", {}, detail)];
    fill(this.#after, el("div", { class: "card failed", role: "alert" }, text, this.#again()));
  }

  #again() {
    const retry = () => this.#desk.retry(this);
    return el("p", {}, el("button", { type: "button", class: "plain", on: { click: retry } }, this.#desk.say("retry")));
  }

  #step(text) {
    fill(this.#steps, el("span", { class: "working", "aria-hidden": "true" }), text, "…");
  }

  #worded({ step, detail }) {
    const key = STEPS.has(step) && `step${step[0].toUpperCase()}${step.slice(1)}`;
    if (key && (detail || !["searching", "reading"].includes(step))) return this.#desk.say(key, { detail });
    return detail ? `${step} ${detail}` : String(step || "");
  }

  #understood(text) {
    if (!text || text === this.question) return;
    fill(this.#note, el("p", {}, this.#desk.say("interpreted", { detail: text })));
  }

  /* A sentence is shown at once; its footnotes come alive with the whole answer. */
  #claim({ text, citations = [] }) {
    this.#claims.push(text);
    const marks = citations.map((number) => el("sup", { class: "cite waiting" }, String(number)));
    add(this.#said, [el("p", { class: "claim" }, inline(String(text), () => null), marks)]);
  }

  #mark(cited) {
    if (!cited) return null;
    const label = this.#desk.say("citation", { n: cited.number, place: this.#place(cited) });
    return el("sup", {}, this.#link(cited, { class: "cite", "aria-label": label }, String(cited.number)));
  }

  /* A true link where there is a page to link to, so that it can be opened and copied like any other. */
  #link(cited, given, ...children) {
    const { kind, href } = whereTo(cited);
    const away = kind === "web" ? { target: "_blank", rel: "noopener noreferrer" } : { rel: "noopener" };
    const node = href
      ? el("a", { ...given, href, ...away }, ...children)
      : el("button", { ...given, type: "button" }, ...children);
    node.addEventListener("click", (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      if (!this.#desk.show(cited)) this.#quote(cited);
    });
    if (cited.content_snippet) this.#desk.tip(node, cited, this.#place(cited));
    return node;
  }

  #place(cited) {
    return shortened(place(cited, { page: (n) => this.#desk.say("page", { n }) }), 140);
  }

  /* The places, each once, with the numbers that stand there. */
  #passages(citations) {
    const places = new Map();
    for (const cited of citations) {
      const key = [cited.section_id, cited.url, this.#place(cited)].join();
      places.set(key, [...(places.get(key) || []), cited]);
    }
    const item = ([first, ...more]) => {
      const number = (cited) => el("span", { class: "number" }, String(cited.number));
      const label = (cited) => this.#desk.say("citation", { n: cited.number, place: this.#place(cited) });
      const others = more.map((cited) =>
        this.#link(cited, { class: "passage", "aria-label": label(cited) }, number(cited)));
      const named = others.length ? { "aria-label": label(first) } : {};
      const main = this.#link(first, { class: "passage", ...named }, number(first), !others.length && this.#named(first));
      const numbers = [first, ...more].map((cited) => cited.number).join(" ");
      return el("li", { "data-passages": numbers }, main, others, others.length > 0 && this.#named(first));
    };
    return el("ol", { class: "passages", "aria-label": this.#desk.say("sources") }, [...places.values()].map(item));
  }

  #named(cited) {
    return el("span", { class: "place" }, this.#place(cited));
  }

  /* A passage of a book without pages: its words are shown here, or put away again. */
  #quote(cited) {
    const number = Number(cited.number);
    const item = this.#after.querySelector(`[data-passages~="${number}"]`);
    const open = item && item.querySelector(`[data-quote="${number}"]`);
    if (open) open.remove();
    else if (item) item.append(el("blockquote", { class: "quote", dir: "auto", "data-quote": number }, cited.content_snippet));
  }

  #foot(answered, citations) {
    const say = this.#desk.say;
    const percent = Math.round(100 * answered.confidence);
    const number = say("sureNumber", { n: percent });
    const sure = el("span", { class: "sure", title: number }, say(SURE[sureness(answered.confidence)]));
    add(sure, [el("span", { class: "unseen" }, ` (${number})`)]);
    const copy = action(say("copy"), ICONS.copy, async () => {
      await navigator.clipboard.writeText(copied(answered.answer, citations, (cited) => this.#place(cited)));
      copy.title = say("copied");
      copy.classList.add("chosen");
      this.#desk.announce(say("copied"));
    });
    const { buttons, form } = feedback(answered.answer_id, this.#desk, action);
    return [el("div", { class: "foot" }, sure, el("span", { class: "actions" }, copy, buttons)), form];
  }

  #dropped(dropped) {
    if (!Array.isArray(dropped) || !dropped.length) return null;
    const say = this.#desk.say;
    const title = dropped.length === 1 ? say("droppedOne") : say("droppedMany", { n: dropped.length });
    const items = dropped.map(({ text, reason }) => el("li", {}, el("s", {}, text), el("small", {}, reason)));
    return el("details", { class: "dropped" }, el("summary", {}, title), el("ul", {}, items));
  }

  #refusal({ reason, message, nearest }) {
    const say = this.#desk.say;
    const near = (Array.isArray(nearest) ? nearest : []).map((item) => ({ ...item, link: item.url }));
    const item = (place) => el("li", {}, this.#link(place, { class: "passage" }, this.#place(place)));
    const widen = () => this.#desk.widen(this.question);
    const key = REFUSED[reason];
    return el("div", { class: "card" }, [
      el("p", { class: "card-title" }, say(key || "refused")),
      el("p", {}, key ? say(`${key}Why`) : message),
      near.length > 0 && [el("p", { class: "label" }, say("nearest")), el("ul", { class: "nearest" }, near.map(item))],
      this.selection && el("button", { type: "button", class: "plain", on: { click: widen } }, say("widen")),
    ].filter(Boolean));
  }
}

function action(label, path, click) {
  return el("button", { type: "button", class: "action", title: label, "aria-label": label, on: { click } }, icon(path));
}

/* The answer for a clipboard: its text, and below it each passage with its place. */
function copied(answer, citations, placed) {
  const notes = citations.map((cited) => {
    const { href } = whereTo(cited);
    return `[${cited.number}] “${shortened(cited.content_snippet, 400)}” (${placed(cited)})${href ? `\n    ${href}` : ""}`;
  });
  return [answer, ...notes].join("\n\n");
}
