/* The conversation: asks, shows what comes, stops, remembers, and finds its way back after a reload.

   The server's record of the session is what counts; what this browser kept is shown meanwhile, and alone when the
   server cannot be asked. */

import { el, fill } from "../shared/dom.js";
import { Problem } from "../shared/sse.js";
import { hold, litBox, show, unlight, whereTo } from "./jump.js";
import { KEYS } from "./panel.js";
import { Turn } from "./turn.js";

export class Conversation {
  #panel;
  #service;
  #memory;
  #say;
  #tip;
  #tell;
  #asking = null;
  #starting = null;
  #selection = null;
  #restored = false;
  #shown = [];

  constructor({ panel, service, memory, say, tip, tell }) {
    this.#panel = panel;
    this.#service = service;
    this.#memory = memory;
    this.#say = say;
    this.#tip = tip;
    this.#tell = tell;
    this.#welcome();
  }

  set selection(found) {
    this.#selection = found;
    this.#panel.selection = found || { text: "" };
    hold(found?.range.cloneRange());
  }

  async ask(question, selection = this.#selection?.text || null) {
    this.stop();
    this.selection = null;
    unlight();
    const turn = this.#begin(question, selection);
    turn.begin();
    const asking = (this.#asking = new AbortController());
    this.#panel.busy = true;
    this.#tell("asked", { question });
    try {
      const answered = await this.#answered(turn, asking.signal);
      this.#settle(turn, { ...answered, question, selection });
    } catch (problem) {
      if (problem.name === "AbortError") turn.stop();
      else turn.fail(problem);
      if (problem.name !== "AbortError") this.#tell("error", { question, message: problem.message });
    } finally {
      if (this.#asking === asking) {
        this.#asking = null;
        this.#panel.busy = false;
      }
    }
  }

  /* Follows the stream to its end. A conversation that the server no longer knows is begun anew, once. */
  async #answered(turn, signal) {
    const remembered = this.#memory.session;
    const session = await this.prepare();
    signal.throwIfAborted();
    try {
      for await (const { event, data } of this.#service.ask(turn.question, { selection: turn.selection, session, signal })) {
        if (event === "answered") return data;
        if (event === "error") throw new Problem(data.status || 500, data.code, data.detail || data.message || "");
        turn.take({ event, data });
        this.#panel.scrollTo(turn.element);
      }
    } catch (problem) {
      if (problem.status !== 404 || !remembered) throw problem;
      this.#memory.session = null;
      return this.#answered(turn, signal);
    }
    throw new Problem(0, "interrupted", "");
  }

  /* The session's id: begun while the reader is still typing, so that the question need not wait for it. */
  async prepare() {
    if (this.#memory.session) return this.#memory.session;
    this.#starting ||= this.#service.start().finally(() => (this.#starting = null));
    const session = await this.#starting;
    if (session) this.#memory.session = session;
    return session;
  }

  stop() {
    if (this.#asking) this.#asking.abort();
  }

  /* A new conversation; the old one is forgotten here. */
  again() {
    this.stop();
    this.#memory.forget();
    this.#shown = [];
    this.selection = null;
    unlight();
    this.#welcome();
  }

  /* Once, when the panel is first opened. */
  async restore() {
    if (this.#restored) return;
    this.#restored = true;
    const kept = this.#memory.turns;
    this.#replay(kept);
    if (!this.#memory.session || !kept.length) return;
    try {
      const turns = await this.#service.turns(this.#memory.session);
      if (this.#asking || !turns.length || same(turns, this.#memory.turns)) return;
      const selections = new Map(kept.map((turn) => [turn.answer_id, turn.selection]));
      const merged = turns.map((turn) => ({ ...turn, selection: selections.get(turn.answer_id) }));
      this.#memory.turns = merged;
      this.#replay(this.#memory.turns);
    } catch {
      /* what this browser kept is shown already */
    }
  }

  #replay(turns) {
    if (!turns.length) return;
    this.#panel.log.setAttribute("aria-live", "off");
    fill(this.#panel.log);
    this.#shown = [];
    for (const answered of turns) {
      const turn = this.#begin(answered.question, answered.selection);
      turn.finish(answered);
      this.#shown.push(answered);
    }
    setTimeout(() => this.#panel.log.setAttribute("aria-live", "polite"), 500);
  }

  #begin(question, selection) {
    const turn = new Turn(question, selection, {
      say: this.#say,
      show: (cited) => this.#show(cited),
      tip: (node, cited, place) => this.#tip.over(node, cited, place),
      widen: (words) => this.ask(words, null),
      retry: (old) => {
        old.element.remove();
        this.ask(old.question, old.selection || null);
      },
      vote: (...said) => this.#service.feedback(...said),
      announce: (text) => this.#panel.announce(text),
    });
    const welcome = this.#panel.log.querySelector(".welcome");
    if (welcome) welcome.remove();
    this.#panel.log.append(turn.element);
    this.#panel.scrollTo(turn.element);
    return turn;
  }

  #settle(turn, answered) {
    turn.finish(answered);
    this.#shown.push(answered);
    this.#memory.turns = this.#shown;
    this.#panel.scrollTo(turn.element);
    this.#tell(answered.refusal ? "refused" : "answered", answered);
  }

  /* True when the words are to be seen, here or on the page that opens. */
  #show(cited) {
    this.#tip.hide();
    const { kind } = whereTo(cited);
    const done = show(cited);
    this.#tell("cited", cited);
    if (!done) this.#panel.announce(this.#say("notHere"));
    else if (kind === "here" || kind === "nowhere") {
      this.#panel.announce(this.#say("shown"));
      if (this.#panel.fullScreen || this.#covered()) this.#panel.close();
    }
    return done;
  }

  #covered() {
    const [lit, panel] = [litBox(), this.#panel.panel.getBoundingClientRect()];
    if (!lit) return false;
    const hidden = Math.min(lit.right, panel.right) - Math.max(lit.left, panel.left);
    return hidden > lit.width / 3;
  }

  #welcome() {
    const hint = el("p", { class: "hint" }, this.#say("welcomeSelect"));
    const keys = el("p", { class: "keys" }, this.#say("welcomeKeys", { keys: KEYS }));
    fill(this.#panel.log, el("div", { class: "welcome" }, el("p", {}, this.#say("welcome")), hint, keys));
  }
}

function same(turns, others) {
  return turns.length === others.length && turns.every((turn, i) => turn.answer_id === others[i].answer_id);
}
