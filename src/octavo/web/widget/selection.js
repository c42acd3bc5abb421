/* "Ask about this": what the reader has selected in the page, and the small button that appears beside it. */

import { el, icon } from "../shared/dom.js";
import { ICONS } from "./icons.js";

export const MOST = 500;
const LEAST = 3;

/* The selected text of the page, at most 500 characters and cut at a word; null when nothing is selected. */
export function selected() {
  const chosen = getSelection();
  if (!chosen || chosen.isCollapsed || !chosen.rangeCount) return null;
  if (editable(document.activeElement) || editable(chosen.anchorNode?.parentElement)) return null;
  const text = chosen.toString().trim();
  if (text.length < LEAST) return null;
  return { ...trimmed(text), range: chosen.getRangeAt(0) };
}

export function trimmed(text) {
  const signs = Array.from(text);
  if (signs.length <= MOST) return { text, cut: false };
  const held = signs.slice(0, MOST).join("");
  const space = held.search(/\s\S*$/);
  return { text: held.slice(0, space > MOST / 2 ? space : held.length).trim(), cut: true };
}

export function editable(node) {
  return Boolean(node && (node.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(node.nodeName)));
}

/* Shows the button while there is a selection; pressed, it hands the selection to `ask`. */
export function offerOnSelection(root, say, ask) {
  const press = (event) => {
    event.preventDefault();
    const found = selected();
    pill.hidden = true;
    if (found) ask(found);
  };
  const keep = (event) => event.preventDefault(); /* or the press would undo the selection */
  const pill = el("button", { type: "button", class: "pill", hidden: true, on: { click: press, pointerdown: keep } });
  pill.append(icon(ICONS.ask), say("askAbout"));
  root.append(pill);
  let timer = 0;
  const look = () => {
    const found = selected();
    pill.hidden = !found;
    if (found) beside(pill, found.range);
  };
  document.addEventListener("selectionchange", () => {
    clearTimeout(timer);
    timer = setTimeout(look, 180);
  });
  window.addEventListener("scroll", () => (pill.hidden = true), { passive: true, capture: true });
  return pill;
}

function beside(pill, range) {
  const boxes = range.getClientRects();
  const box = boxes[boxes.length - 1] || range.getBoundingClientRect();
  const below = box.bottom + 8 + pill.offsetHeight < innerHeight;
  const top = below ? box.bottom + 8 : Math.max(8, box.top - pill.offsetHeight - 8);
  const most = document.documentElement.clientWidth - pill.offsetWidth - 8;
  pill.style.top = `${Math.round(top)}px`;
  pill.style.left = `${Math.round(Math.max(8, Math.min(box.right - pill.offsetWidth / 2, most)))}px`;
}
