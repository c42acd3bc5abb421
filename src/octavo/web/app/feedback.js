/* Whether an answer helped, and why: two buttons and a few words. */

import { el, fill, icon } from "../shared/dom.js";
import { api } from "./api.js";
import { problemCard, toast } from "./notices.js";
import { S } from "./strings.js";

const UP = "M7 11v9H4v-9zM7 11l4-7.500c1.600 0 2.500 1.100 2.200 2.700L12.600 10H18a2 2 0 0 1 2 2.400l-1.200 6A2 2 0 0 1 16.800 20H7";
const DOWN = "M17 13V4h3v9zM17 13l-4 7.500c-1.600 0-2.500-1.100-2.200-2.700l.600-3.800H6a2 2 0 0 1-2-2.400l1.200-6A2 2 0 0 1 7.200 4H17";

export class Feedback {
  constructor(answer) {
    this.answer = answer;
    this.panel = el("div", { class: "feedback", hidden: true });
    const button = (vote, path) => el("button", { type: "button", class: "tool vote", "aria-label": S[vote], title: S[vote],
      "aria-pressed": "false", "aria-expanded": "false", "data-vote": vote, on: { click: () => this.#open(vote) } }, icon(path));
    this.votes = { up: button("up", UP), down: button("down", DOWN) };
    this.buttons = el("span", { class: "votes" }, this.votes.up, this.votes.down);
  }

  #open(vote) {
    const again = this.vote === vote && !this.panel.hidden;
    this.vote = vote;
    for (const [name, button] of Object.entries(this.votes)) {
      button.setAttribute("aria-pressed", String(name === vote && !again));
      button.setAttribute("aria-expanded", String(name === vote && !again));
    }
    this.panel.hidden = again;
    if (!again) this.#draw(vote);
  }

  #draw(vote) {
    const boxes = S.reasons[vote].map((reason) => el("label", { class: "reason-box" },
      el("input", { type: "checkbox", value: reason }), el("span", {}, reason)));
    const words = el("textarea", { class: "field", rows: "2", maxlength: "1000", "aria-label": S.comment, placeholder: S.comment });
    const send = el("button", { type: "submit", class: "button strong" }, S.send);
    const form = el("form", { on: { submit: (event) => { event.preventDefault(); this.#send(form, words); } } },
      el("fieldset", {}, el("legend", {}, vote === "up" ? S.whyGood : S.why), boxes), words, el("div", { class: "row end" }, send));
    fill(this.panel, form);
    form.querySelector("input").focus();
    this.panel.scrollIntoView({ block: "nearest" });
  }

  async #send(form, words) {
    const reasons = [...form.querySelectorAll("input:checked")].map((box) => box.value);
    try {
      await api.feedback(this.answer, { vote: this.vote, reasons, comment: words.value.trim() });
      this.panel.hidden = true;
      this.votes[this.vote].setAttribute("aria-expanded", "false");
      this.votes[this.vote].focus();
      toast(S.thanks);
    } catch (problem) {
      form.append(problemCard(problem, null));
    }
  }
}
