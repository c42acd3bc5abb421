// @ts-check
/* Whether an answer helped, and why: two buttons, and a form with reasons. */

import { drawIcon, el, fill } from "../shared/dom.js";
import { openFeedback, sendFeedback } from "../shared/turn.js";
import { api } from "./api.js";
import { drawProblem, showToast } from "./notices.js";
import { S } from "./strings.js";
import { APP_WORDS } from "../strings/app.en.js";

/** @import { Turn, Vote } from "../shared/turn.js" */

const UP = "M7 11v9H4v-9zM7 11l4-7.500c1.600 0 2.500 1.100 2.200 2.700L12.600 10H18a2 2 0 0 1 2 2.400l-1.200 6A2 2 0 0 1 16.800 20H7";
const DOWN = "M17 13V4h3v9zM17 13l-4 7.500c-1.600 0-2.500-1.100-2.200-2.700l.600-3.800H6a2 2 0 0 1-2-2.400l1.200-6A2 2 0 0 1 7.200 4H17";

export class FeedbackView {
  #turn;
  #votes;
  panel = el("div", { class: "feedback", hidden: true });

  /** @param {Turn} turn */
  constructor(turn) {
    this.#turn = turn;
    this.#votes = { up: this.#drawButton("up", UP), down: this.#drawButton("down", DOWN) };
    this.buttons = el("span", { class: "votes" }, this.#votes.up, this.#votes.down);
    this.#draw();
  }

  /**
   * @param {Vote} vote
   * @param {string} path
   */
  #drawButton(vote, path) {
    return el("button", { type: "button", class: "tool vote", "aria-label": S.votes[vote], title: S.votes[vote],
      "aria-pressed": "false", "aria-expanded": "false", "data-vote": vote, on: { click: () => this.#toggle(vote) } }, drawIcon(path));
  }

  /** @param {Vote} vote */
  #toggle(vote) {
    const { feedback } = this.#turn;
    this.#turn = openFeedback(this.#turn, feedback.vote === vote && feedback.isOpen ? "" : vote);
    this.#draw();
    if (this.#turn.feedback.isOpen) this.#drawForm(vote);
  }

  #draw() {
    const { vote, isOpen } = this.#turn.feedback;
    for (const [name, button] of Object.entries(this.#votes)) {
      button.setAttribute("aria-pressed", String(name === vote));
      button.setAttribute("aria-expanded", String(name === vote && isOpen));
    }
    this.panel.hidden = !isOpen;
  }

  /** @param {Vote} vote */
  #drawForm(vote) {
    /* Reasons are stored in English, whatever the reader reads. */
    const boxes = APP_WORDS.reasons[vote].map((reason) => el("input", { type: "checkbox", value: reason }));
    const labels = boxes.map((box, at) => el("label", { class: "reason-box" }, box, el("span", {}, S.reasons[vote][at] || box.value)));
    const comment = el("textarea", { class: "field", rows: "2", maxlength: "1000", "aria-label": S.comment, placeholder: S.comment });
    const send = el("button", { type: "submit", class: "button strong" }, S.send);
    const form = el("form", { on: { submit: (event) => {
      event.preventDefault();
      const reasons = boxes.filter((box) => box.checked).map((box) => box.value);
      this.#send(form, { vote, reasons, comment: comment.value.trim() });
    } } }, el("fieldset", {}, el("legend", {}, S.why[vote]), labels), comment, el("div", { class: "row end" }, send));
    fill(this.panel, form);
    boxes[0].focus();
    this.panel.scrollIntoView({ block: "nearest" });
  }

  /**
   * @param {HTMLFormElement} form
   * @param {{vote: Vote, reasons: string[], comment: string}} said
   */
  async #send(form, said) {
    this.#turn = await sendFeedback(this.#turn, said, (id, body) => api.sendFeedback(id, body));
    const { problem } = this.#turn.feedback;
    if (problem) return form.append(drawProblem(problem));
    this.#draw();
    this.#votes[said.vote].focus();
    return showToast(S.thanks);
  }
}
