// @ts-check
/* Whether an answer helped: one press for yes; for no, a form with reasons and a comment. */

import { el, fill } from "../shared/dom.js";
import { openFeedback, sendFeedback } from "../shared/turn.js";
import { ICONS } from "./icons.js";

/** @import { Turn, Vote } from "../shared/turn.js" */
/** @import { Say } from "./strings.js" */
/** @typedef {(answerId: string, said: object) => Promise<unknown>} SendVote */
/** @typedef {(label: string, path: string, click: () => unknown) => HTMLButtonElement} DrawAction */

const REASONS = /** @type {const} */ ({
  wrong: "reasonWrong", missing: "reasonMissing", passage: "reasonPassage", unclear: "reasonUnclear",
});

/**
 * Draw the two buttons, and the form that the second one opens.
 * @param {Turn} turn
 * @param {{say: Say, sendVote: SendVote}} actions
 * @param {DrawAction} drawAction
 */
export function drawFeedback(turn, { say, sendVote }, drawAction) {
  const form = el("div", { class: "why" });
  const send = async (/** @type {Vote} */ vote, /** @type {string[]} */ reasons, /** @type {string} */ comment) => {
    turn = await sendFeedback(turn, { vote, reasons, comment }, sendVote);
    const { problem, sent } = turn.feedback;
    showChosen(up, sent === "up");
    showChosen(down, sent === "down");
    fill(form, problem ? el("p", { role: "alert" }, say("notSent")) : el("p", { role: "status" }, say("thanks")));
  };
  const up = drawAction(say("good"), ICONS.up, () => send("up", [], ""));
  const down = drawAction(say("bad"), ICONS.down, () => {
    turn = openFeedback(turn, "down");
    fill(form, drawForm(say, (reasons, comment) => send("down", reasons, comment)));
    form.querySelector("input")?.focus();
  });
  showChosen(up, turn.feedback.sent === "up");
  showChosen(down, turn.feedback.sent === "down");
  return { buttons: [up, down], form };
}

/**
 * @param {HTMLElement} button
 * @param {boolean} isChosen
 */
function showChosen(button, isChosen) {
  button.classList.toggle("chosen", isChosen);
  button.setAttribute("aria-pressed", String(isChosen));
}

/**
 * @param {Say} say
 * @param {(reasons: string[], comment: string) => void} send
 */
function drawForm(say, send) {
  const boxes = Object.entries(REASONS).map(([name, key]) => ({ box: el("input", { type: "checkbox", name }), key }));
  const labels = boxes.map(({ box, key }) => el("label", {}, box, say(key)));
  const comment = el("textarea", { rows: 2, maxlength: 1000, "aria-label": say("comment"), placeholder: say("comment") });
  const submit = (/** @type {Event} */ event) => {
    event.preventDefault();
    send(boxes.filter(({ box }) => box.checked).map(({ box }) => box.name), comment.value.trim());
  };
  const button = el("button", { type: "submit", class: "plain" }, say("sendFeedback"));
  return el("form", { on: { submit } }, el("fieldset", {}, el("legend", {}, say("why")), labels), comment, button);
}
