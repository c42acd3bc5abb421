/* A small card beside a citation: the quotation, its section and its page. Shown on hover and on focus, gone with
   Escape, and it can be entered with the mouse. */

import { el, fill } from "../shared/dom.js";

const card = el("div", { class: "preview", id: "preview", role: "tooltip", hidden: true });
let owner = null;
let leaving = 0;

export function previews(button, content) {
  const show = () => {
    clearTimeout(leaving);
    owner = button;
    if (!card.isConnected) document.body.append(card);
    fill(card, content());
    card.hidden = false;
    button.setAttribute("aria-describedby", card.id);
    place(button);
  };
  const hide = () => { leaving = setTimeout(close, 160); };
  button.addEventListener("mouseenter", show);
  button.addEventListener("focus", () => button.matches(":focus-visible") && show());
  button.addEventListener("mouseleave", hide);
  button.addEventListener("blur", close);
  button.addEventListener("click", close);
}

function close() {
  card.hidden = true;
  if (owner) owner.removeAttribute("aria-describedby");
  owner = null;
}

function place(button) {
  const at = button.getBoundingClientRect();
  const { offsetWidth: width, offsetHeight: height } = card;
  const left = Math.max(8, Math.min(at.left + at.width / 2 - width / 2, innerWidth - width - 8));
  const below = at.bottom + 8;
  card.style.left = `${left}px`;
  card.style.top = `${below + height < innerHeight - 8 ? below : Math.max(8, at.top - height - 8)}px`;
}

card.addEventListener("mouseenter", () => clearTimeout(leaving));
card.addEventListener("mouseleave", close);
addEventListener("keydown", (event) => event.key === "Escape" && close());
addEventListener("scroll", () => owner && place(owner), { capture: true, passive: true });
