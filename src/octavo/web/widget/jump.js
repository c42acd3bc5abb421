/* From a citation to the words themselves, lit up in the page.

   On the page that is open the words are found and shown; another page of the site is opened at the heading, and the
   widget there shows them, told by this tab's storage; a page of another site opens in a tab of its own. Words are lit
   with the browser's highlights, or selected where it has none: the page's own elements stay as they are. */

import { tab } from "./memory.js";
import { find } from "./pagetext.js";

const [NAME, HELD] = ["octavo-quote", "octavo-held"];
const LOOK = "background-color: #ffe39a; color: #1d1a16";
let sheet = null;

/* Where a citation leads: "here", "site", "web" or, for a book that has no page, "nowhere". */
export function whereTo(cited) {
  const address = webAddress(cited.link) || webAddress(cited.url);
  if (!address) return { kind: "nowhere", href: "" };
  const same = path(address) === path(location);
  if (address.origin !== location.origin) return { kind: "web", href: address.href, same };
  return { kind: same ? "here" : "site", href: address.href };
}

/* Shows what is cited. True when the words are lit on this page, or another page is on its way. */
export function show(cited) {
  const { kind, href, same } = whereTo(cited);
  if (kind === "site") {
    tab.set("jump", { path: path(new URL(href)), snippet: cited.content_snippet, anchor: anchorOf(href) });
    location.assign(href);
    return true;
  }
  if ((kind !== "web" || same) && light(cited.content_snippet, anchorOf(href))) return true;
  if (kind === "web") window.open(href, "_blank", "noopener,noreferrer");
  else if (kind === "here") toHeading(anchorOf(href));
  return kind !== "nowhere";
}

/* The passage that the page before this one wanted shown. */
export function arrive(done) {
  const wanted = tab.get("jump");
  tab.set("jump", null);
  if (!wanted || typeof wanted.snippet !== "string" || wanted.path !== path(location)) return;
  const waits = [0, 250, 800, 2000];
  const attempt = () => {
    if (light(wanted.snippet, wanted.anchor)) done();
    else if (waits.length) setTimeout(attempt, waits.shift());
  };
  setTimeout(attempt, waits.shift());
}

export function unlight() {
  if (globalThis.CSS?.highlights) CSS.highlights.delete(NAME);
}

/* Keeps what the reader selected to be seen, while the focus is in the panel; without a range, no more. */
export function hold(range) {
  if (!globalThis.CSS?.highlights || !globalThis.Highlight) return;
  CSS.highlights.delete(HELD);
  if (!range) return;
  dress();
  CSS.highlights.set(HELD, new Highlight(range));
}

/* Where the lit words are on the screen; null when none are. */
export function litBox() {
  const lit = globalThis.CSS?.highlights?.get(NAME);
  const range = lit ? [...lit][0] : null;
  return range ? range.getBoundingClientRect() : null;
}

function light(snippet, anchor) {
  const ranges = find(String(snippet || ""), heading(anchor));
  if (!ranges.length) return false;
  reveal(ranges[0].startContainer.parentElement);
  if (globalThis.CSS?.highlights && globalThis.Highlight) {
    dress();
    CSS.highlights.set(NAME, new Highlight(...ranges));
  } else {
    const chosen = getSelection();
    chosen.removeAllRanges();
    chosen.addRange(ranges[0]);
  }
  return true;
}

function reveal(element) {
  for (let node = element; node; node = node.parentElement)
    if (node.localName === "details") node.open = true;
  const calm = window.matchMedia("(prefers-reduced-motion: reduce)").matches;
  element.scrollIntoView({ block: "center", behavior: calm ? "instant" : "smooth" });
}

/* Also dresses what the browser itself lights for `:~:text=`: both look alike. */
function dress() {
  if (!sheet) {
    sheet = new CSSStyleSheet();
    const held = `::highlight(${HELD}) { background-color: rgb(140 120 90 / 28%) }`;
    sheet.replaceSync(`::highlight(${NAME}) { ${LOOK} } ::target-text { ${LOOK} } ${held}`);
  }
  if (!document.adoptedStyleSheets.includes(sheet)) document.adoptedStyleSheets.push(sheet);
}

function toHeading(anchor) {
  const element = heading(anchor);
  if (element) reveal(element);
}

function heading(anchor) {
  return anchor ? document.getElementById(anchor) : null;
}

function anchorOf(href) {
  const [anchor] = (href.split("#")[1] || "").split(":~:");
  try {
    return decodeURIComponent(anchor);
  } catch {
    return anchor;
  }
}

/* The same page has many spellings: with and without index.html, .html and the last slash. */
function path(address) {
  const plain = address.pathname.replace(/\/index\.html?$/, "/").replace(/\.html?$/, "").replace(/\/+$/, "");
  try {
    return decodeURI(plain);
  } catch {
    return plain;
  }
}

function webAddress(text) {
  try {
    const address = new URL(text);
    return /^https?:$/.test(address.protocol) ? address : null;
  } catch {
    return null;
  }
}
