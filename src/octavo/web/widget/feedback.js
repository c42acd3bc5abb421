/* Was it right? One press for yes; for no, reasons to tick and room for a word. */

import { el, fill } from "../shared/dom.js";
import { ICONS } from "./icons.js";

const REASONS = { wrong: "reasonWrong", missing: "reasonMissing", passage: "reasonPassage", unclear: "reasonUnclear" };

/* The two buttons, and the form that the second one opens. */
export function feedback(answer, desk, action) {
  const { say } = desk;
  const form = el("div", { class: "why" });
  const sent = async (vote, reasons, comment) => {
    try {
      await desk.vote(answer, vote, reasons, comment);
      choose(vote === "up" ? up : down, vote === "up" ? down : up);
      fill(form, el("p", { role: "status" }, say("thanks")));
    } catch {
      fill(form, el("p", { role: "alert" }, say("notSent")));
    }
  };
  const up = action(say("good"), ICONS.up, () => sent("up", [], ""));
  const down = action(say("bad"), ICONS.down, () => {
    fill(form, reasonsForm(say, (reasons, comment) => sent("down", reasons, comment)));
    form.querySelector("input").focus();
  });
  for (const button of [up, down]) button.setAttribute("aria-pressed", "false");
  return { buttons: [up, down], form };
}

function choose(one, other) {
  one.classList.add("chosen");
  one.setAttribute("aria-pressed", "true");
  other.classList.remove("chosen");
  other.setAttribute("aria-pressed", "false");
}

function reasonsForm(say, send) {
  const boxes = Object.entries(REASONS).map(([name, key]) => {
    const box = el("input", { type: "checkbox", name });
    return [box, el("label", {}, box, say(key))];
  });
  const comment = el("textarea", { rows: 2, maxlength: 1000, "aria-label": say("comment"), placeholder: say("comment") });
  const submit = (event) => {
    event.preventDefault();
    send(boxes.filter(([box]) => box.checked).map(([box]) => box.name), comment.value.trim());
  };
  const legend = el("legend", {}, say("why"));
  const button = el("button", { type: "submit", class: "plain" }, say("sendFeedback"));
  return el("form", { on: { submit } }, el("fieldset", {}, legend, boxes.map(([, label]) => label)), comment, button);
}
