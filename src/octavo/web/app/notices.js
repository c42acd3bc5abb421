// @ts-check
/* What the page says besides its content: a short message, words for screen readers, a problem with a way out. */

import { el, fill } from "../shared/dom.js";
import { getPart } from "./parts.js";
import { S } from "./strings.js";

/** @import { Child } from "../shared/dom.js" */

const TOAST_MS = 4000;
const UNDO_MS = 20_000;
let toastTimer = 0;

/**
 * Show a message for a few seconds; screen readers read it too. With `undo`, it stays longer and has a button.
 * @param {string} text
 * @param {{text: string, act: () => unknown} | null} undo
 */
export function showToast(text, undo = null) {
  const toast = getPart("toast");
  const hide = () => toast.classList.remove("shown", "has-action");
  const press = () => {
    hide();
    fill(toast);
    undo?.act();
  };
  fill(toast, text, undo ? el("button", { type: "button", class: "toast-action", on: { click: press } }, undo.text) : null);
  toast.classList.add("shown");
  toast.classList.toggle("has-action", Boolean(undo));
  clearTimeout(toastTimer);
  toastTimer = setTimeout(hide, undo ? UNDO_MS : TOAST_MS);
}

/**
 * Have screen readers read a text when they are ready, without moving anything on the page.
 * @param {string} text
 */
export function announce(text) {
  const live = getPart("live");
  live.append(el("p", {}, text));
  while (live.childElementCount > 8) live.firstElementChild?.remove();
}

/**
 * Have screen readers read a text at once.
 * @param {string} text
 */
export function announceNow(text) {
  fill(getPart("alert"), text);
}

/**
 * Draw a failure in words, with the server's advice and a button where trying again makes sense.
 * @param {{message: string, hint?: string}} problem
 * @param {(() => unknown) | null} retry
 */
export function drawProblem(problem, retry = null) {
  announceNow(problem.message);
  return el("div", { class: "problem" },
    el("p", { class: "problem-what" }, problem.message || S.problem),
    problem.hint ? el("p", { class: "problem-hint" }, problem.hint) : null,
    retry ? el("button", { type: "button", class: "button", on: { click: retry } }, S.retry) : null);
}

/**
 * Ask for a decision before anything else happens. Resolves to true for yes.
 * @param {{title: string, text: string, yes: string, no: string}} words
 * @returns {Promise<boolean>}
 */
export function confirm({ title, text, yes, no }) {
  return new Promise((resolve) => {
    /** @type {HTMLDialogElement} */
    const dialog = el("dialog", { class: "dialog", "aria-labelledby": "dialog-title" },
      el("h2", { id: "dialog-title" }, title),
      el("p", {}, text),
      el("div", { class: "row end" },
        el("button", { type: "button", class: "button", on: { click: () => dialog.close("no") } }, no),
        el("button", { type: "button", class: "button strong", on: { click: () => dialog.close("yes") } }, yes)));
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(dialog.returnValue === "yes");
    });
    document.body.append(dialog);
    dialog.showModal();
  });
}

/**
 * Show something to be read or copied, with one button that closes it.
 * @param {{title: string, content: Child}} what
 */
export function showDialog({ title, content }) {
  /** @type {HTMLDialogElement} */
  const dialog = el("dialog", { class: "dialog", "aria-labelledby": "dialog-title" },
    el("h2", { id: "dialog-title" }, title), content,
    el("div", { class: "row end" },
      el("button", { type: "button", class: "button", on: { click: () => dialog.close() } }, S.close)));
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

/**
 * Copy a text; where the browser does not allow it, show the text for copying by hand.
 * @param {string} text
 * @param {{done: string, title: string}} words
 */
export async function copyText(text, { done, title }) {
  try {
    await navigator.clipboard.writeText(text);
    showToast(done);
  } catch {
    const field = el("textarea", { readonly: true, rows: "6", class: "field", "aria-label": title }, text);
    showDialog({ title, content: field });
    field.select();
  }
}

/**
 * Have the browser save a file.
 * @param {Blob} blob
 * @param {string} name
 */
export function saveFile(blob, name) {
  const address = URL.createObjectURL(blob);
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
