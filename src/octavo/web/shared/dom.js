/* Elements, built safely: text is only ever text.

   `el("p", {class: "quote"}, words)` makes an element. Strings among the children become text nodes, never HTML;
   an attribute that is not in the list below is refused, so nothing that runs (`on…`, `style`, `srcdoc`) can be
   set by data. Listeners are given as functions: `{on: {click: …}}`. An address must be one of our own pages or an
   ordinary web address; anything else (`javascript:`, `data:`) is left out. An image is only shown from bytes that
   the page holds already (`data:image/png` and the like), so no element ever loads one from the network. */

const KNOWN = new Set([
  "accept", "alt", "autocomplete", "checked", "class", "colspan", "cols", "dir", "disabled", "download", "draggable",
  "enterkeyhint", "for", "height", "hidden", "id", "inert", "lang", "max", "maxlength", "method", "min", "multiple",
  "name", "open", "placeholder", "readonly", "rel", "required", "role", "rows", "scope", "selected", "spellcheck",
  "tabindex", "target", "title", "type", "value", "viewBox", "width", "d", "part", "popover",
]);
const PICTURE = /^data:image\/(png|jpeg|gif|webp);base64,/;
const ADDRESSES = /^(https?:\/\/|mailto:|#|\/(?!\/)|\.\/|\?)/i;

export function el(name, given = {}, ...children) {
  const made = document.createElement(name);
  set(made, given);
  add(made, children);
  return made;
}

export function set(node, given) {
  for (const [key, value] of Object.entries(given)) {
    if (key === "on") {
      for (const [kind, listener] of Object.entries(value)) node.addEventListener(kind, listener);
    } else if (key === "href") {
      if (isAddress(value)) node.setAttribute("href", value);
    } else if (key === "src") {
      if (node.localName === "img" && PICTURE.test(value)) node.setAttribute("src", value);
    } else if (KNOWN.has(key) || key.startsWith("aria-") || key.startsWith("data-")) {
      if (value === false || value === null || value === undefined) node.removeAttribute(key);
      else node.setAttribute(key, value === true && !key.startsWith("aria-") ? "" : String(value));
    } else {
      throw new Error(`"${key}" is not an attribute that may be set`);
    }
  }
  return node;
}

export function add(node, children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    node.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return node;
}

export function fill(node, ...children) {
  node.replaceChildren();
  return add(node, children);
}

/* A small drawing from our own code: one path on a 24 by 24 grid, in the colour of the text around it. */
export function icon(path) {
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

export function isAddress(value) {
  return typeof value === "string" && ADDRESSES.test(value.trim()) && !/[\u0000-\u001f]/.test(value);
}
