// @ts-check
/* The conversation: asks, shows what comes, stops, remembers, and is there again after a reload.

   The server's record of the session is what counts. What this browser kept is shown meanwhile, and alone when the
   server cannot be asked. */

import { el, fill } from "../shared/dom.js";
import { Problem } from "../shared/sse.js";
import { beginTurn, finishTurn, followTurn } from "../shared/turn.js";
import { clearQuote, findQuoteBox, findTarget, holdSelection, showCited } from "./jump.js";
import { KEYS } from "./panel.js";
import { TurnView } from "./turnview.js";

/** @import { Service } from "../shared/service.js" */
/** @import { StreamEvent } from "../shared/sse.js" */
/** @import { Tooltip } from "../shared/tooltip.js" */
/** @import { Asked, Place, Turn } from "../shared/turn.js" */
/** @import { KeptTurn, Memory } from "./memory.js" */
/** @import { Panel } from "./panel.js" */
/** @import { Selected } from "./selection.js" */
/** @import { Say } from "./strings.js" */

/**
 * @typedef {object} Surroundings
 * @property {string} book
 * @property {Panel} panel
 * @property {Service} service
 * @property {Memory} memory
 * @property {Say} say
 * @property {Tooltip} tooltip
 * @property {readonly string[]} questions  to begin with
 * @property {(problem: Problem) => void} onProblem
 * @property {(name: string, detail?: unknown) => void} tell  tells the page that something has happened
 */

export class Conversation {
  #book;
  #panel;
  #service;
  #memory;
  #say;
  #tooltip;
  #tell;
  #questions;
  #onProblem;
  /** @type {AbortController | null} */
  #asking = null;
  /** @type {Promise<string | null> | null} */
  #starting = null;
  /** @type {Selected | null} */
  #selection = null;
  #isRestored = false;
  /** @type {KeptTurn[]} */
  #finished = [];

  /** @param {Surroundings} surroundings */
  constructor({ book, panel, service, memory, say, tooltip, tell, questions, onProblem }) {
    this.#book = book;
    this.#questions = questions;
    this.#onProblem = onProblem;
    this.#panel = panel;
    this.#service = service;
    this.#memory = memory;
    this.#say = say;
    this.#tooltip = tooltip;
    this.#tell = tell;
    this.#showWelcome();
  }

  /** @param {Selected | null} found */
  set selection(found) {
    this.#selection = found;
    this.#panel.selection = found || { text: "", cut: false };
    holdSelection(found?.range.cloneRange());
  }

  /**
   * Ask a question about a passage, or about the one that the reader has selected.
   * @param {string} question
   */
  ask(question, selection = this.#selection?.text || "") {
    return this.#ask(this.#makeAsked(question, selection));
  }

  /**
   * @param {string} question
   * @param {string | null | undefined} selection
   * @returns {Asked}
   */
  #makeAsked(question, selection) {
    const book = this.#book ? { book_id: this.#book } : {};
    return { question, body: selection ? { ...book, selected_text: selection } : book };
  }

  /** @param {Asked} asked */
  async #ask(asked) {
    this.stop();
    this.selection = null;
    clearQuote();
    const { turn: begun, view } = this.#addTurn(asked);
    view.draw(begun);
    const asking = (this.#asking = new AbortController());
    this.#panel.busy = true;
    this.#tell("asked", { question: asked.question });
    try {
      for await (const turn of followTurn(begun, this.#stream(asked, asking.signal), asking.signal)) {
        view.draw(turn);
        if (turn.state === "asking" || turn.final) this.#panel.scrollTo(view.root);
        this.#recordEnd(turn);
      }
    } finally {
      if (this.#asking === asking) {
        this.#asking = null;
        this.#panel.busy = false;
      }
    }
  }

  /**
   * Ask the server. A session that it no longer knows is replaced by a new one, once.
   * @param {Asked} asked
   * @param {AbortSignal} signal
   * @returns {AsyncGenerator<StreamEvent, void, void>}
   */
  async *#stream(asked, signal) {
    const remembered = this.#memory.session;
    const session = await this.prepare();
    signal.throwIfAborted();
    const { question, body } = asked;
    try {
      yield* this.#service.ask({ question, ...(session ? { session_id: session } : {}), ...body }, signal);
    } catch (error) {
      if (Problem.wrap(error).status !== 404 || !remembered) throw error;
      this.#memory.session = null;
      yield* this.#stream(asked, signal);
    }
  }

  /**
   * Keep a turn that has ended, and tell the page.
   * @param {Turn} turn
   */
  #recordEnd({ asked: { question, body }, final, problem }) {
    if (final) {
      const kept = { ...final, question, selection: body.selected_text || null };
      this.#finished.push(kept);
      this.#memory.turns = this.#finished;
      this.#tell(final.refusal ? "refused" : "answered", kept);
    }
    if (!problem) return;
    this.#onProblem(problem);
    this.#tell("error", { question, message: problem.message });
  }

  /** Start a session while the reader is still typing, so that the question need not wait for it. */
  async prepare() {
    if (this.#memory.session) return this.#memory.session;
    this.#starting ||= this.#service.startSession().finally(() => (this.#starting = null));
    const session = await this.#starting;
    if (session) this.#memory.session = session;
    return session;
  }

  stop() {
    this.#asking?.abort();
  }

  /** Start a new conversation; the old one is forgotten here. */
  startAnew() {
    this.stop();
    this.#memory.forget();
    this.#finished = [];
    this.selection = null;
    clearQuote();
    this.#showWelcome();
  }

  /** Show the conversation again; once, when the panel is first opened. */
  async restore() {
    if (this.#isRestored) return;
    this.#isRestored = true;
    const kept = this.#memory.turns;
    this.#showFinished(kept);
    if (!this.#memory.session || !kept.length) return;
    try {
      const session = await this.#service.getSession(this.#memory.session);
      const turns = session && Array.isArray(session.turns) ? session.turns : [];
      if (this.#asking || !turns.length || isSame(turns, this.#memory.turns)) return;
      const selections = new Map(kept.map((turn) => [turn.answer_id, turn.selection]));
      this.#memory.turns = turns.map((turn) => ({ ...turn, question: turn.question || "", selection: selections.get(turn.answer_id) }));
      this.#showFinished(this.#memory.turns);
    } catch {
      /* What this browser kept is shown already. */
    }
  }

  /** @param {KeptTurn[]} turns */
  #showFinished(turns) {
    if (!turns.length) return;
    /* A screen reader must not read the whole conversation again. */
    this.#panel.log.setAttribute("aria-live", "off");
    fill(this.#panel.log);
    for (const kept of turns) {
      const { turn, view } = this.#addTurn(this.#makeAsked(kept.question, kept.selection));
      view.draw(finishTurn(turn, kept));
    }
    this.#finished = [...turns];
    setTimeout(() => this.#panel.log.setAttribute("aria-live", "polite"), 500);
  }

  /** @param {Asked} asked */
  #addTurn(asked) {
    const turn = beginTurn(asked);
    const view = new TurnView(turn, {
      say: this.#say,
      tooltip: this.#tooltip,
      show: (place) => this.#show(place),
      widen: (wider) => this.#ask(wider),
      retry: (replaced, again) => {
        replaced.root.remove();
        this.#ask(again);
      },
      sendVote: (answerId, said) => this.#service.sendFeedback(answerId, said),
      announce: (text) => this.#panel.announce(text),
    });
    this.#panel.log.querySelector(".welcome")?.remove();
    this.#panel.log.append(view.root);
    this.#panel.scrollTo(view.root);
    return { turn, view };
  }

  /**
   * Show a passage. True when its words are to be seen, here or on the page that opens.
   * @param {Place} place
   */
  #show(place) {
    this.#tooltip.hide();
    const { kind } = findTarget(place);
    const isShown = showCited(place);
    this.#tell("cited", place);
    if (!isShown) this.#panel.announce(this.#say("notHere"));
    else if (kind === "here" || kind === "nowhere") {
      this.#panel.announce(this.#say("shown"));
      if (this.#panel.isFullScreen || this.#isQuoteCovered()) this.#panel.close();
    }
    return isShown;
  }

  #isQuoteCovered() {
    const [quote, panel] = [findQuoteBox(), this.#panel.panel.getBoundingClientRect()];
    if (!quote) return false;
    const hidden = Math.min(quote.right, panel.right) - Math.max(quote.left, panel.left);
    return hidden > quote.width / 3;
  }

  #showWelcome() {
    const hint = el("p", { class: "hint" }, this.#say("welcomeSelect"));
    const keys = el("p", { class: "keys" }, this.#say("welcomeKeys", { keys: KEYS }));
    const starters = this.#questions.map((question) =>
      el("button", { type: "button", class: "starter", dir: "auto", on: { click: () => this.ask(question) } }, question));
    fill(this.#panel.log, el("div", { class: "welcome" }, el("p", {}, this.#say("welcome")), hint,
      starters.length > 0 && el("div", { class: "starters" }, starters), keys));
  }
}

/**
 * @param {{answer_id: string}[]} turns
 * @param {{answer_id: string}[]} others
 */
function isSame(turns, others) {
  return turns.length === others.length && turns.every((turn, i) => turn.answer_id === others[i].answer_id);
}
