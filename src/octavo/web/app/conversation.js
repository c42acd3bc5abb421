/* The conversation: questions go out, answers stream in, and all of it is there again after a reload. */

import { el, fill, set } from "../shared/dom.js";
import { api } from "./api.js";
import { Turn } from "./answer.js";
import { problemCard, shown, toast } from "./notices.js";
import { lasting } from "./storage.js";
import { S } from "./strings.js";

const SESSION = "octavo.session";
const QUESTION_MOST = 1000;

export class Conversation {
  #stop = null;
  #turns = [];
  #restored = Promise.resolve();
  ready = Promise.resolve();

  constructor(root, { scope, open, manyBooks, onAsk }) {
    Object.assign(this, { root, scope, open, manyBooks, onAsk });
    this.list = el("div", { class: "turns-list" });
    this.scroller = el("div", { class: "talk-scroll", tabindex: "0", role: "log", "aria-live": "off", "aria-label": S.said }, this.list);
    this.field = el("textarea", { id: "question", class: "field", rows: "2", maxlength: QUESTION_MOST, placeholder: S.placeholders.shelf,
      enterkeyhint: "send", autocomplete: "off", on: { input: () => this.#grow(), keydown: (e) => this.#key(e) } });
    this.button = el("button", { type: "submit", class: "button strong ask" }, S.ask);
    this.form = el("form", { class: "composer", on: { submit: (event) => { event.preventDefault(); this.#submit(); } } },
      scope.root, el("label", { for: "question", class: "quiet" }, S.question),
      el("div", { class: "composer-row" }, this.field, this.button));
    scope.root.addEventListener("scope", ({ detail }) => set(this.field, { placeholder: S.placeholders[detail] || S.placeholder }));
    this.fresh = el("button", { type: "button", class: "link", on: { click: () => this.startAnew() } }, S.fresh);
    this.export = el("button", { type: "button", class: "link", on: { click: () => this.#export() } }, S.exportTalk);
    this.head = el("div", { class: "talk-head" }, el("h2", {}, S.talk), el("div", { class: "row" }, this.export, this.fresh));
    this.scroller.addEventListener("grown", () => this.#follow());
    fill(root, this.head, this.scroller, this.form);
    this.#welcome();
  }

  get session() {
    return lasting.get(SESSION);
  }

  #welcome() {
    this.#turns = [];
    fill(this.list, el("p", { class: "welcome" }, S.welcome));
    this.#tools();
  }

  #tools() {
    this.export.hidden = this.fresh.hidden = !this.#turns.length;
  }

  /* What was said before, from the server; unless the reader was quicker and has asked already. */
  restore() {
    if (this.session && !this.#turns.length) this.#restored = this.#recall();
    return this.#restored;
  }

  async #recall() {
    try {
      const talk = await api.session(this.session);
      if (!talk || talk.end_time) return this.#forget();
      const turns = (talk.turns || []).map((final) => this.#add({ question: final.question || "", where: "", body: {} }, final));
      if (!turns.length) this.#welcome();
      this.#follow();
    } catch (problem) {
      fill(this.list, problemCard(problem, () => this.restore()));
    }
    return undefined;
  }

  /* An answer that somebody shared, by itself. */
  async showShared(id) {
    this.stop();
    this.#turns = [];
    try {
      const final = await api.answer(id);
      fill(this.list, el("p", { class: "shared" }, S.shownAnswer, " · ", el("a", { href: "#/" }, S.backToTalk)));
      this.#add({ question: final.question || "", where: "", body: {} }, final);
      this.shared = true;
      this.#tools();
      return final;
    } catch (problem) {
      fill(this.list, problemCard(problem, () => this.showShared(id)));
      return null;
    }
  }

  async leaveShared() {
    if (!this.shared) return;
    this.shared = false;
    this.#welcome();
    await this.restore();
  }

  #add(asked, final = null) {
    if (!this.#turns.length && !this.shared) this.list.querySelector(".welcome")?.remove();
    const turn = new Turn(asked, { open: this.open, manyBooks: this.manyBooks, ask: (next, old) => this.ask(next, old) });
    this.#turns.push(turn);
    this.list.append(turn.root);
    if (final) turn.finish(final);
    this.#tools();
    return turn;
  }

  #forget() {
    lasting.forget(SESSION);
    this.#welcome();
  }

  startAnew() {
    this.stop();
    if (this.session) api.endSession(this.session).catch(() => {});
    this.#forget();
    this.field.focus();
  }

  stop() {
    if (this.#stop) this.#stop.abort();
  }

  /* A question that comes before the book is open waits for it: the scope is the one that is then shown. */
  async #submit() {
    if (this.#stop) return this.stop();
    const question = this.field.value.trim();
    if (!question) return this.field.focus();
    this.field.value = "";
    this.#grow();
    if (matchMedia("(pointer: coarse)").matches) this.field.blur(); /* the keyboard makes room for the answer */
    await this.ready;
    return this.ask({ question, where: this.scope.words(), body: this.scope.body() });
  }

  /* Asks, and shows what comes. A turn that is asked again makes room for the new one. */
  async ask(asked, old = null) {
    this.stop();
    await this.#restored;
    await this.leaveShared();
    if (old) {
      this.#turns = this.#turns.filter((turn) => turn !== old);
      old.root.remove();
    }
    const turn = this.#add(asked);
    const stop = (this.#stop = new AbortController());
    this.#busy(true);
    this.#follow(true);
    try {
      if (!this.session) lasting.set(SESSION, await api.startSession());
      await this.#stream(asked, turn, stop.signal);
    } catch (problem) {
      if (stop.signal.aborted) turn.stopped();
      else turn.fail(problem);
      if (problem.status === 401) this.onAsk(problem);
    }
    if (this.#stop === stop) {
      this.#stop = null;
      this.#busy(false);
    }
  }

  async #stream(asked, turn, signal) {
    const body = { question: asked.question, session_id: this.session, ...asked.body };
    for await (const event of api.ask(body, signal)) {
      if (event.event === "error") throw Object.assign(new Error(event.data.message || event.data.detail), { hint: event.data.hint, code: event.data.code });
      turn.take(event);
    }
    if (!turn.final) throw Object.assign(new Error(S.brokenOff), { hint: "" });
  }

  #busy(now) {
    fill(this.button, now ? S.stop : S.ask);
    this.button.classList.toggle("stop", now);
    this.scroller.setAttribute("aria-busy", String(now));
  }

  #key(event) {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      if (!this.#stop) this.#submit();
    }
  }

  #grow() {
    this.field.style.height = "auto";
    this.field.style.height = `${Math.min(this.field.scrollHeight + 2, 220)}px`;
  }

  /* Keeps the newest words in sight, unless the reader has scrolled up to read. */
  #follow(always = false) {
    const far = this.scroller.scrollHeight - this.scroller.scrollTop - this.scroller.clientHeight;
    const last = this.#turns[this.#turns.length - 1];
    if (!last || (far > 600 && !always)) return;
    const top = last.root.offsetTop - this.list.offsetTop;
    const end = this.scroller.scrollHeight - this.scroller.clientHeight;
    this.scroller.scrollTop = Math.min(top, end);
  }

  #export() {
    const save = (format) => el("button", { type: "button", class: "button", on: { click: async () => {
      try {
        download(await api.exported(this.session, format), `${S.exportName}.${format}`);
      } catch (problem) {
        toast(problem.message);
      }
    } } }, format === "md" ? "Markdown" : "JSON");
    shown({ title: S.exportTitle, content: el("div", {}, el("p", {}, S.exportText), el("div", { class: "row" }, save("md"), save("json"))) });
  }
}

function download(blob, name) {
  const address = URL.createObjectURL(blob);
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
