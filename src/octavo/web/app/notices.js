/* What the page says besides its content: a line that passes by, words for screen readers, a problem with a way out. */

import { el, fill } from "../shared/dom.js";
import { S } from "./strings.js";

const node = (id) => document.getElementById(id);
let passing = 0;

/* A line that is seen for a few seconds; screen readers read it too. */
export function toast(text) {
  fill(node("toast"), text);
  node("toast").classList.add("shown");
  clearTimeout(passing);
  passing = setTimeout(() => node("toast").classList.remove("shown"), 4000);
}

/* Read out politely, sentence by sentence, without moving anything on the page. */
export function say(text) {
  const live = node("live");
  live.append(el("p", {}, text));
  while (live.childElementCount > 8) live.firstElementChild.remove();
}

export function alarm(text) {
  fill(node("alert"), text);
}

/* A failure in words, with the server's advice and a button where trying again makes sense. */
export function problemCard(problem, retry) {
  alarm(problem.message);
  return el("div", { class: "problem" },
    el("p", { class: "problem-what" }, problem.message || S.problem),
    problem.hint ? el("p", { class: "problem-hint" }, problem.hint) : null,
    retry ? el("button", { type: "button", class: "button", on: { click: retry } }, S.retry) : null);
}

/* A question that must be decided before anything else happens. Resolves to true for yes. */
export function confirmed({ title, text, yes, no = S.cancel }) {
  return new Promise((done) => {
    const dialog = el("dialog", { class: "dialog", "aria-labelledby": "dialog-title" },
      el("h2", { id: "dialog-title" }, title),
      el("p", {}, text),
      el("div", { class: "row end" },
        el("button", { type: "button", class: "button", on: { click: () => dialog.close("no") } }, no),
        el("button", { type: "button", class: "button strong", on: { click: () => dialog.close("yes") } }, yes)));
    dialog.addEventListener("close", () => {
      dialog.remove();
      done(dialog.returnValue === "yes");
    });
    document.body.append(dialog);
    dialog.showModal();
  });
}

/* Something to be read or copied, with one button that closes it. */
export function shown({ title, content }) {
  const dialog = el("dialog", { class: "dialog", "aria-labelledby": "dialog-title" },
    el("h2", { id: "dialog-title" }, title), content,
    el("div", { class: "row end" },
      el("button", { type: "button", class: "button", on: { click: () => dialog.close() } }, S.close)));
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}

/* Copies text; where the browser does not allow it, shows it for copying by hand. */
export async function copied(text, { done, title }) {
  try {
    await navigator.clipboard.writeText(text);
    toast(done);
  } catch {
    const field = el("textarea", { readonly: true, rows: "6", class: "field", "aria-label": title }, text);
    shown({ title, content: field });
    field.select();
  }
}
