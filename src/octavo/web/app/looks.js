// @ts-check
/* How the page looks: colours, the size of the book's type, and which panes are open. All of it stays chosen. */

import { drawIcon, el, fill } from "../shared/dom.js";
import { showToast } from "./notices.js";
import { browserStorage } from "./storage.js";
import { LANGUAGES, S, chooseLanguage, language } from "./strings.js";

/** @typedef {"auto" | "light" | "sepia" | "dark"} Theme */

/** @type {Theme[]} */
const THEMES = ["auto", "light", "sepia", "dark"];
const THEME_SIGNS = { auto: "◐", light: "☀", sepia: "❧", dark: "☾" };
/** theme.js reads the first two before anything is painted. */
const [THEME, SIZE, CLOSED] = ["octavo.theme", "octavo.size", "octavo.closed"];
const [SMALLEST, LARGEST, STEP] = [80, 200, 10];
const SIDE = "M4 5h16v14H4zM10 5v14";
const TALK = "M4 5h16v14H4zM14 5v14";
const root = document.documentElement;

/** Draw the button that goes through the colours. */
export function drawThemeButton() {
  const getTheme = () => /** @type {Theme} */ (root.dataset.theme || "auto");
  const showTheme = () => {
    button.setAttribute("aria-label", S.theme[getTheme()]);
    button.title = S.theme[getTheme()];
    fill(button, THEME_SIGNS[getTheme()]);
  };
  const button = el("button", { type: "button", class: "icon-button theme", on: { click: () => {
    const next = THEMES[(THEMES.indexOf(getTheme()) + 1) % THEMES.length];
    if (next === "auto") delete root.dataset.theme;
    else root.dataset.theme = next;
    browserStorage.set(THEME, next);
    showTheme();
    showToast(S.theme[next]);
  } } });
  showTheme();
  return button;
}

/** Draw the choice of the page's language. */
export function drawLanguages() {
  /** @type {HTMLSelectElement} */
  const select = el("select", { class: "languages", "aria-label": S.language, title: S.language, on: { change: () => chooseLanguage(select.value) } },
    Object.entries(LANGUAGES).map(([name, own]) => el("option", { value: name, lang: name, selected: name === language }, own)));
  return select;
}

/** Draw the two buttons that make the book's type smaller and larger. */
export function drawSizeButtons() {
  const getSize = () => Number(root.dataset.size) || 100;
  const button = (/** @type {number} */ by, /** @type {string} */ label) =>
    el("button", { type: "button", class: by < 0 ? "icon-button size small" : "icon-button size", "aria-label": label, title: label, on: { click: () => {
      const size = Math.min(LARGEST, Math.max(SMALLEST, getSize() + by * STEP));
      root.dataset.size = String(size);
      root.style.setProperty("--type-size", `${size / 100}`);
      browserStorage.set(SIZE, String(size));
      showToast(S.size(size));
    } } }, "A");
  return el("span", { class: "sizes", role: "group", "aria-label": S.sizes }, button(-1, S.smaller), button(1, S.larger));
}

/**
 * Draw a button that closes and opens a pane, for screens that show several at once.
 * @param {"side" | "talk"} pane
 */
export function drawPaneButton(pane) {
  const closed = () => new Set((browserStorage.get(CLOSED) || "").split(" ").filter(Boolean));
  const show = () => {
    const isClosed = closed().has(pane);
    document.body.toggleAttribute(`data-no-${pane}`, isClosed);
    const label = S.panesShown[pane](isClosed);
    button.setAttribute("aria-expanded", String(!isClosed));
    button.setAttribute("aria-label", label);
    button.title = label;
  };
  const button = el("button", { type: "button", class: `icon-button pane-button of-${pane}`, on: { click: () => {
    const now = closed();
    if (!now.delete(pane)) now.add(pane);
    browserStorage.set(CLOSED, [...now].join(" "));
    show();
  } } }, drawIcon(pane === "side" ? SIDE : TALK));
  show();
  return button;
}

/**
 * Open a pane that was closed, because something in it is asked for.
 * @param {"side" | "talk"} pane
 */
export function openPane(pane) {
  /** @type {HTMLElement | null} */
  const button = document.querySelector(`.pane-button.of-${pane}[aria-expanded="false"]`);
  button?.click();
}
