// @ts-check
/* Elements, built safely: text is only ever text.

   `el("p", {class: "quote"}, words)` makes an element. Strings among the children become text nodes, never HTML.
   An attribute that is not in the list below is refused, so data cannot set anything that runs (`on…`, `style`,
   `srcdoc`). Listeners are functions: `{on: {click: …}}`. An address must be one of our own pages or an ordinary web
   address; anything else (`javascript:`, `data:`) is left out. An image is only shown from bytes that the page
   already holds (`data:image/png` and the like), so no element ever loads one from the network. */

import { beginsQuoted } from "./text.js";

/** @typedef {string | number | boolean | null | undefined | Node} Leaf */
/** @typedef {Leaf | readonly (Leaf | readonly (Leaf | readonly Leaf[])[])[]} Child */
/** @typedef {{[Kind in keyof HTMLElementEventMap]?: (event: HTMLElementEventMap[Kind]) => unknown}} Listeners */
/** @typedef {{on?: Listeners, [name: string]: unknown}} Attributes */

const ATTRIBUTES = new Set([
  "accept", "alt", "autocomplete", "checked", "class", "colspan", "cols", "dir", "disabled", "download", "draggable",
  "enterkeyhint", "for", "height", "hidden", "id", "inert", "lang", "max", "maxlength", "method", "min", "multiple",
  "name", "open", "placeholder", "readonly", "rel", "required", "role", "rows", "rowspan", "scope", "selected", "spellcheck", "start",
  "tabindex", "target", "title", "type", "value", "viewBox", "width", "d", "part", "popover",
]);
const RIGHT_TO_LEFT = /[\u0590-\u05ff\u0600-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/g;
const PICTURE = /^data:image\/(png|jpeg|gif|webp);base64,/;
const ADDRESS = /^(https?:\/\/|mailto:|#|\/(?!\/)|\.\/|\?)/i;

/**
 * Make an element.
 * @template {keyof HTMLElementTagNameMap} Name
 * @param {Name} name
 * @param {Attributes} attributes
 * @param {...Child} children
 * @returns {HTMLElementTagNameMap[Name]}
 */
export function el(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  setAttributes(made, attributes);
  append(made, children);
  if (attributes.dir === "auto") settleDirection(made);
  return made;
}

/**
 * Give an element with `dir="auto"` the direction of most of its letters. A browser takes that of the first letter, and many an Arabic
 * sentence begins with a Latin name.
 * @param {Element} node
 */
export function settleDirection(node) {
  const text = node.textContent || "";
  const right = text.match(RIGHT_TO_LEFT)?.length || 0;
  if (right) node.setAttribute("dir", 2 * right > (text.match(/\p{L}/gu)?.length || 0) ? "rtl" : "ltr");
}

/**
 * Set attributes and listeners; `false`, `null` and `undefined` remove an attribute.
 * @param {HTMLElement} node
 * @param {Attributes} attributes
 */
export function setAttributes(node, { on = {}, ...attributes }) {
  for (const [kind, listener] of Object.entries(on))
    node.addEventListener(kind, /** @type {EventListener} */ (listener));
  for (const [key, value] of Object.entries(attributes)) {
    if (key === "href") {
      if (isAddress(value)) node.setAttribute("href", value);
    } else if (key === "src") {
      if (node.localName === "img" && PICTURE.test(String(value))) node.setAttribute("src", String(value));
    } else if (ATTRIBUTES.has(key) || key.startsWith("aria-") || key.startsWith("data-")) {
      if (value === false || value === null || value === undefined) node.removeAttribute(key);
      else node.setAttribute(key, value === true && !key.startsWith("aria-") ? "" : String(value));
    } else {
      throw new Error(`"${key}" is not an attribute that may be set`);
    }
  }
}

/**
 * Append children; `null`, `undefined` and `false` are skipped.
 * @param {Node} node
 * @param {readonly Child[]} children
 */
export function append(node, children) {
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    if (Array.isArray(child)) append(node, child);
    else node.appendChild(child instanceof Node ? child : document.createTextNode(String(child)));
  }
}

/**
 * Replace everything in `node` by `children`.
 * @param {Element} node
 * @param {...Child} children
 */
export function fill(node, ...children) {
  node.replaceChildren();
  append(node, children);
}

/**
 * Draw a small picture from our own code: one path on a 24 by 24 grid, in the colour of the text around it.
 * @param {string} path
 */
export function drawIcon(path) {
  const space = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(space, "svg");
  const stroke = document.createElementNS(space, "path");
  for (const [key, value] of [["viewBox", "0 0 24 24"], ["width", "18"], ["height", "18"], ["class", "icon"]])
    svg.setAttribute(key, value);
  svg.setAttribute("aria-hidden", "true");
  stroke.setAttribute("d", path);
  svg.append(stroke);
  return svg;
}

/**
 * Tell whether `value` may be a link.
 * @param {unknown} value
 * @returns {value is string}
 */
export function isAddress(value) {
  return typeof value === "string" && ADDRESS.test(value.trim()) && !/[\u0000-\u001f]/.test(value);
}

/**
 * Draw a quotation. Where the words begin with a quotation mark of their own, no other is set around them.
 * @param {string} text
 * @param {string} name  the class
 */
export function drawQuotation(text, name = "") {
  return el("q", { class: beginsQuoted(text) ? `${name} bare`.trim() : name || null, dir: "auto" }, text);
}
