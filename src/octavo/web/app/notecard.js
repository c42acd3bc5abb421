// @ts-check
/* A note, opened beside its reference. Escape, a click elsewhere or its button closes it. */

import { el, fill } from "../shared/dom.js";
import { api } from "./api.js";
import { sectionAddress } from "./contents.js";
import { SectionText } from "./sectiontext.js";
import { S } from "./strings.js";

/** @import { Element as Marked, SectionBody } from "./api.js" */
/** @typedef {{book: string, section: string, offset: number}} Place */

const HOLDS = ["note", "item", "definition", "paragraph", "term", "cell"];
/** @type {HTMLElement | null} */
let shown = null;

/**
 * Open the note at a place beside the link that refers to it.
 * @param {HTMLElement} reference
 * @param {Place} place
 */
export async function openNote(reference, { book, section, offset }) {
  closeNote();
  const body = el("div", { class: "note-body" }, S.loading);
  const close = el("button", { type: "button", class: "close", "aria-label": S.close, on: { click: () => closeNote(reference) } }, "×");
  const whole = el("a", { href: sectionAddress(book, section), class: "note-place" }, S.markup.toNote);
  const card = el("aside", { class: "note-card", role: "note", "aria-label": S.markup.note, tabindex: "-1" }, close, body, whole);
  shown = card;
  const host = /** @type {HTMLElement} */ (reference.closest(".reader") || document.body);
  host.append(card);
  placeBeside(card, reference, host);
  card.focus({ preventScroll: true });
  card.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    event.stopPropagation();
    closeNote(reference);
  });
  document.addEventListener("pointerdown", onOutside);
  try {
    fill(body, drawNote(await api.getSection(book, section), offset, book));
  } catch {
    fill(body, S.markup.noteGone);
  }
  placeBeside(card, reference, host);
}

/** @param {PointerEvent} event */
function onOutside(event) {
  if (shown && !shown.contains(/** @type {Node} */ (event.target))) closeNote();
}

/** @param {HTMLElement} [back] */
function closeNote(back) {
  document.removeEventListener("pointerdown", onOutside);
  shown?.remove();
  shown = null;
  back?.focus();
}

/**
 * @param {HTMLElement} card
 * @param {HTMLElement} reference
 * @param {HTMLElement} host
 */
function placeBeside(card, reference, host) {
  const [at, frame] = [reference.getBoundingClientRect(), host.getBoundingClientRect()];
  const left = Math.max(8, Math.min(at.left - frame.left, host.clientWidth - card.offsetWidth - 8));
  card.style.setProperty("left", `${left}px`);
  card.style.setProperty("top", `${at.bottom - frame.top + host.scrollTop + 6}px`);
}

/**
 * Draw the note that an offset of a section is in.
 * @param {SectionBody} section
 * @param {number} offset
 * @param {string} book
 */
function drawNote(section, offset, book) {
  const markup = section.markup || [];
  const around = markup.filter(({ kind, start, end }) => HOLDS.includes(kind) && start <= offset && offset < Math.max(end, start + 1));
  const held = around.find(({ kind }) => kind === "note") || around.findLast(({ kind }) => kind === "item") || around.at(-1);
  const points = [...section.text];
  const [start, end] = held ? [held.start, held.end] : [offset, offset + 400];
  const first = held ? markup.indexOf(held) : 0;
  const after = held ? markup.slice(first + 1) : [];
  const next = after.findIndex(({ depth }) => depth <= (held?.depth ?? 0));
  const inner = next < 0 ? after : after.slice(0, next);
  const part = { ...section, text: points.slice(start, end).join(""), blocks: [], pages: [],
    markup: inner.map((element) => shift(element, start, held ? held.depth + 1 : 0)) };
  return new SectionText(part, null, book).root;
}

/**
 * @param {Marked} element
 * @param {number} start
 * @param {number} depth
 */
function shift(element, start, depth) {
  return { ...element, start: element.start - start, end: element.end - start, depth: element.depth - depth };
}
