// @ts-check
/* "Ask about this": what the reader has selected in the page, and the small button that appears beside it. */

import { drawIcon, el } from "../shared/dom.js";
import { cutSelection } from "../shared/selection.js";
import { ICONS } from "./icons.js";

/** @import { Say } from "./strings.js" */
/** @typedef {{text: string, cut: boolean, range: Range}} Selected */

const LEAST = 3;
const LOOK_MS = 180;

/**
 * Find the selected text of the page, cut to what a question may be about; null when nothing is selected.
 * @returns {Selected | null}
 */
export function findSelection() {
  const chosen = getSelection();
  if (!chosen || chosen.isCollapsed || !chosen.rangeCount) return null;
  if (isEditable(document.activeElement) || isEditable(chosen.anchorNode?.parentElement)) return null;
  const text = chosen.toString().trim();
  if (text.length < LEAST) return null;
  return { ...cutSelection(text), range: chosen.getRangeAt(0) };
}

/** @param {unknown} node */
export function isEditable(node) {
  return node instanceof HTMLElement && (node.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(node.nodeName));
}

/**
 * Show the button while there is a selection; pressed, it hands the selection to `ask`.
 * @param {HTMLElement} root
 * @param {Say} say
 * @param {(selected: Selected) => void} ask
 */
export function offerOnSelection(root, say, ask) {
  const press = (/** @type {Event} */ event) => {
    event.preventDefault();
    const found = findSelection();
    pill.hidden = true;
    if (found) ask(found);
  };
  /* Otherwise pressing the button would undo the selection. */
  const keep = (/** @type {Event} */ event) => event.preventDefault();
  const pill = el("button", { type: "button", class: "pill", hidden: true, on: { click: press, pointerdown: keep } });
  pill.append(drawIcon(ICONS.ask), say("askAbout"));
  root.append(pill);
  let timer = 0;
  const look = () => {
    const found = findSelection();
    pill.hidden = !found;
    if (found) placeBeside(pill, found.range);
  };
  document.addEventListener("selectionchange", () => {
    clearTimeout(timer);
    timer = setTimeout(look, LOOK_MS);
  });
  window.addEventListener("scroll", () => (pill.hidden = true), { passive: true, capture: true });
}

/**
 * @param {HTMLElement} pill
 * @param {Range} range
 */
function placeBeside(pill, range) {
  const boxes = range.getClientRects();
  const box = boxes[boxes.length - 1] || range.getBoundingClientRect();
  const fitsBelow = box.bottom + 8 + pill.offsetHeight < innerHeight;
  const top = fitsBelow ? box.bottom + 8 : Math.max(8, box.top - pill.offsetHeight - 8);
  const most = document.documentElement.clientWidth - pill.offsetWidth - 8;
  pill.style.top = `${Math.round(top)}px`;
  pill.style.left = `${Math.round(Math.max(8, Math.min(box.right - pill.offsetWidth / 2, most)))}px`;
}
