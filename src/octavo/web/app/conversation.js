// @ts-check
/* The conversation: questions go out, answers stream in, and all of it is there again after a reload. Earlier
   conversations are in a list, from which each can be opened again. */

import { el, fill, setAttributes } from "../shared/dom.js";
import { Problem } from "../shared/sse.js";
import { QUESTION_MOST, beginTurn, finishTurn, followTurn, readAsked } from "../shared/turn.js";
import { api } from "./api.js";
import { drawProblem, saveFile, showDialog, showToast } from "./notices.js";
import { browserStorage } from "./storage.js";
import { S } from "./strings.js";
import { TalkList } from "./talks.js";
import { TurnView } from "./turnview.js";

/** @import { StreamEvent } from "../shared/sse.js" */
/** @import { Answered, Asked, Place } from "../shared/turn.js" */
/** @import { Book } from "./api.js" */
/** @import { ScopeBar } from "./scope.js" */

/**
 * @typedef {object} Surroundings
 * @property {ScopeBar} scope
 * @property {(place: Place, from: HTMLElement) => void} open
 * @property {() => boolean} hasManyBooks
 * @property {() => void} onKeyRefused
 * @property {() => Book | null} getBook
 * @property {() => void} onContinued  the shared answer that was shown is part of a conversation now
 * @property {(final: Answered) => Promise<string[]>} suggestNext
 */

const SESSION = "octavo.session";

export class Conversation {
  #scope;
  #surroundings;
  /** @type {AbortController | null} */
  #asking = null;
  /** @type {TurnView[]} */
  #turns = [];
  /* The id of the shared answer that is shown by itself. */
  #shared = "";
  /** @type {Promise<void>} */
  #restored = Promise.resolve();
  /* Whether turns were loaded while the conversation was not on the screen. */
  #isUnseen = false;
  /** @type {Promise<unknown>} */
  ready = Promise.resolve();
  #list = el("div", { class: "turns-list" });
  #starters = el("div", { class: "starters" });
  #scroller = el("div", { class: "talk-scroll", tabindex: "0", role: "log", "aria-live": "off", "aria-label": S.said }, this.#list);
  field = el("textarea", { id: "question", class: "field", rows: "2", maxlength: QUESTION_MOST, placeholder: S.placeholders.all,
    enterkeyhint: "send", autocomplete: "off", on: { input: () => this.#growField(), keydown: (event) => this.#pressKey(event) } });
  #button = el("button", { type: "submit", class: "button strong ask" }, S.ask);
  #fresh = el("button", { type: "button", class: "link", on: { click: () => this.#startAnew() } }, S.fresh);
  #export = el("button", { type: "button", class: "link", on: { click: () => this.#offerExport() } }, S.exportTalk);
  #toList = el("button", { type: "button", class: "link talks-button", "aria-expanded": "false",
    on: { click: () => this.#showTalks(Boolean(this.#talks.root.hidden)) } }, S.talks.button);
  /** @type {TalkList} */
  #talks;

  /**
   * @param {HTMLElement} root
   * @param {Surroundings} surroundings
   */
  constructor(root, surroundings) {
    this.#surroundings = surroundings;
    this.#scope = surroundings.scope;
    this.#talks = new TalkList({
      getBook: surroundings.getBook,
      getCurrent: () => this.#session,
      open: (session) => this.openTalk(session),
      onDeleted: (session) => session === this.#session && this.#forgetSession(),
    });
    const form = el("form", { class: "composer", on: { submit: (event) => { event.preventDefault(); this.#submit(); } } },
      this.#scope.root, el("label", { for: "question", class: "quiet" }, S.question),
      el("div", { class: "composer-row" }, this.field, this.#button));
    this.#scope.root.addEventListener("scope", () => {
      setAttributes(this.field, { placeholder: S.placeholders[this.#scope.kind] || S.placeholder });
      this.#talks.follow();
    });
    this.#scroller.addEventListener("grown", () => this.#follow());
    const head = el("div", { class: "talk-head" }, el("h2", { class: "quiet" }, S.talk), this.#toList,
      el("div", { class: "row" }, this.#export, this.#fresh));
    fill(root, head, this.#talks.root, this.#scroller, form);
    root.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || this.#talks.root.hidden || event.defaultPrevented) return;
      this.#showTalks(false);
      this.#toList.focus();
    });
    this.#showWelcome();
  }

  get #session() {
    return browserStorage.get(SESSION);
  }

  #showWelcome() {
    this.#turns = [];
    fill(this.#list, el("p", { class: "welcome" }, S.welcome), this.#starters);
    this.#showTools();
    this.#list.dispatchEvent(new CustomEvent("emptied", { bubbles: true }));
  }

  /** Whether nothing has been asked yet. */
  get isEmpty() {
    return !this.#turns.length;
  }

  /**
   * Offer questions to begin with.
   * @param {readonly string[]} questions
   */
  offerStarters(questions) {
    fill(this.#starters, this.#drawSuggestions(questions, S.suggest.first));
  }

  /**
   * @param {readonly string[]} questions
   * @param {string} label
   */
  #drawSuggestions(questions, label) {
    if (!questions.length) return null;
    const button = (/** @type {string} */ question) =>
      el("button", { type: "button", class: "chip suggestion", on: { click: () => this.#askSuggested(question) } }, question);
    return el("div", { class: "suggestions", role: "group", "aria-label": label },
      el("p", { class: "suggestions-label" }, label), questions.map(button));
  }

  /** @param {string} question */
  async #askSuggested(question) {
    await this.ready;
    return this.ask({ question, where: this.#scope.describe(), body: this.#scope.toBody() });
  }

  /** @param {boolean} isShown */
  #showTalks(isShown) {
    this.#talks.show(isShown);
    this.#scroller.hidden = isShown;
    this.#toList.setAttribute("aria-expanded", String(isShown));
    fill(this.#toList, isShown ? S.talks.back : S.talks.button);
  }

  /**
   * Open an earlier conversation; the next question goes on with it.
   * @param {string} session
   */
  async openTalk(session) {
    this.stop();
    this.#showTalks(false);
    this.#shared = "";
    browserStorage.set(SESSION, session);
    this.#turns = [];
    fill(this.#list, el("p", { class: "loading" }, S.loading));
    this.#restored = this.#loadTurns(session);
    await this.#restored;
    this.#scroller.focus();
  }

  #showTools() {
    this.#export.hidden = this.#fresh.hidden = !this.#turns.length;
  }

  /** Show what was said before, from the server, unless the reader was quicker and has asked already. */
  restore() {
    if (this.#session && !this.#turns.length) this.#restored = this.#loadTurns(this.#session);
    return this.#restored;
  }

  /** Show the newest answer of a conversation that comes on the screen for the first time. */
  appear() {
    if (this.#isUnseen) this.#follow(true);
    this.#isUnseen = false;
  }

  /** @param {string} session */
  async #loadTurns(session) {
    try {
      const talk = await api.getSession(session);
      if (session !== this.#session) return undefined;
      if (!talk) return this.#forgetSession();
      const turns = talk.turns || [];
      fill(this.#list);
      for (const final of turns) this.#addFinished(final);
      if (!turns.length) this.#showWelcome();
      this.#follow(true);
      this.#isUnseen = !this.#scroller.clientHeight;
    } catch (error) {
      fill(this.#list, drawProblem(Problem.wrap(error), () => this.restore()));
    }
    return undefined;
  }

  /**
   * Show one shared answer by itself.
   * @param {string} id
   * @returns {Promise<Answered | null>}
   */
  async showShared(id) {
    this.stop();
    this.#turns = [];
    try {
      const final = await api.getAnswer(id);
      fill(this.#list, el("p", { class: "shared" }, S.sharedAnswer, " · ", el("a", { href: "#/" }, S.backToTalk)));
      this.#addFinished(final);
      this.#shared = final.answer_id;
      this.#showTools();
      return final;
    } catch (error) {
      fill(this.#list, drawProblem(Problem.wrap(error), () => this.showShared(id)));
      return null;
    }
  }

  async leaveShared() {
    if (!this.#shared) return;
    this.#shared = "";
    this.#showWelcome();
    await this.restore();
  }

  /** Go on from the shared answer in a conversation of one's own, which begins with a copy of it. */
  async #continueShared() {
    if (!this.#shared) return;
    const session = await api.continueAnswer(this.#shared);
    this.#shared = "";
    browserStorage.set(SESSION, session);
    this.#list.querySelector(":scope > .shared")?.remove();
    this.#surroundings.onContinued();
  }

  /** @param {Asked} asked */
  #addTurn(asked) {
    if (!this.#talks.root.hidden) this.#showTalks(false);
    this.#starters.remove();
    for (const old of this.#list.querySelectorAll(":scope > .welcome, :scope > .suggestions")) old.remove();
    const turn = beginTurn(asked);
    const { open, hasManyBooks } = this.#surroundings;
    const view = new TurnView(turn, { open, hasManyBooks, ask: (next, replaced) => this.ask(next, replaced) });
    this.#turns.push(view);
    this.#list.append(view.root);
    this.#showTools();
    return { turn, view };
  }

  /** @param {Answered} final */
  #addFinished(final) {
    const { turn, view } = this.#addTurn(readAsked(final));
    view.draw(finishTurn(turn, final));
  }

  #forgetSession() {
    browserStorage.forget(SESSION);
    this.#showWelcome();
  }

  #startAnew() {
    this.stop();
    const before = this.#session;
    if (before) api.endSession(before).catch(() => {});
    this.#showTalks(false);
    this.#forgetSession();
    this.field.focus();
    if (before) showToast(S.talks.begun, { text: S.undo, act: () => this.openTalk(before) });
  }

  stop() {
    this.#asking?.abort();
  }

  /* A question that comes before the book is open waits for it: the scope is the one that is then shown. */
  async #submit() {
    if (this.#asking) return this.stop();
    const question = this.field.value.trim();
    if (!question) return this.field.focus();
    this.field.value = "";
    this.#growField();
    /* On a phone, the keyboard makes room for the answer. */
    if (matchMedia("(pointer: coarse)").matches) this.field.blur();
    await this.ready;
    return this.ask({ question, where: this.#scope.describe(), body: this.#scope.toBody() });
  }

  /**
   * Ask, and show what comes. A turn that is asked again makes room for the new one.
   * @param {Asked} asked
   * @param {TurnView} [replaced]
   */
  async ask(asked, replaced) {
    this.stop();
    await this.#restored;
    await this.#continueShared().catch(() => this.leaveShared());
    if (replaced) {
      this.#turns = this.#turns.filter((view) => view !== replaced);
      replaced.root.remove();
    }
    const { turn: begun, view } = this.#addTurn(asked);
    const asking = (this.#asking = new AbortController());
    this.#showBusy(true);
    this.#follow(true);
    try {
      for await (const turn of followTurn(begun, this.#stream(asked, asking.signal), asking.signal)) {
        view.draw(turn);
        if (turn.problem?.status === 401) this.#surroundings.onKeyRefused();
        if (turn.final) this.#offerNext({ ...turn.final, question: asked.question });
      }
    } finally {
      if (this.#asking === asking) {
        this.#asking = null;
        this.#showBusy(false);
      }
    }
  }

  /**
   * @param {Asked} asked
   * @param {AbortSignal} signal
   * @returns {AsyncGenerator<StreamEvent, void, void>}
   */
  async *#stream({ question, body }, signal) {
    const remembered = this.#session;
    if (!remembered) browserStorage.set(SESSION, (await api.startSession()) || makeSessionId());
    try {
      yield* api.ask({ question, session_id: this.#session || "", ...body }, signal);
    } catch (error) {
      /* The conversation may have been deleted elsewhere. */
      if (!remembered || Problem.wrap(error).status !== 404 || (await api.getSession(remembered))) throw error;
      browserStorage.forget(SESSION);
      yield* this.#stream({ question, body }, signal);
    }
  }

  /** @param {Answered} final */
  async #offerNext(final) {
    const last = this.#turns.at(-1);
    const questions = await this.#surroundings.suggestNext(final);
    if (last !== this.#turns.at(-1)) return;
    const drawn = this.#drawSuggestions(questions, S.suggest.next);
    if (drawn) this.#list.append(drawn);
  }

  /** @param {boolean} isBusy */
  #showBusy(isBusy) {
    fill(this.#button, isBusy ? S.stop : S.ask);
    this.#button.classList.toggle("stop", isBusy);
    this.#scroller.setAttribute("aria-busy", String(isBusy));
  }

  /** @param {KeyboardEvent} event */
  #pressKey(event) {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    if (!this.#asking) this.#submit();
  }

  #growField() {
    this.field.style.height = "auto";
    this.field.style.height = `${Math.min(this.field.scrollHeight + 2, 220)}px`;
  }

  /* Keeps the newest words in sight, unless the reader has scrolled up to read. */
  #follow(always = false) {
    const far = this.#scroller.scrollHeight - this.#scroller.scrollTop - this.#scroller.clientHeight;
    const last = this.#turns.at(-1);
    if (!last || (far > 600 && !always)) return;
    const top = last.root.offsetTop - this.#list.offsetTop;
    const end = this.#scroller.scrollHeight - this.#scroller.clientHeight;
    this.#scroller.scrollTop = Math.min(top, end);
  }

  #offerExport() {
    const save = async (/** @type {"md" | "json"} */ format) => {
      try {
        await this.#continueShared();
        saveFile(await api.exportSession(this.#session || "", format), `${S.exportName}.${format}`);
      } catch (error) {
        showToast(Problem.wrap(error).message);
      }
    };
    const button = (/** @type {"md" | "json"} */ format, /** @type {string} */ name) =>
      el("button", { type: "button", class: "button", on: { click: () => save(format) } }, name);
    const row = el("div", { class: "row" }, button("md", "Markdown"), button("json", "JSON"));
    showDialog({ title: S.exportTitle, content: el("div", {}, el("p", {}, S.exportText), row) });
  }
}

function makeSessionId() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
