// @ts-check
/* From a citation to the words themselves, highlighted in the page.

   On the page that is open the words are found and shown. Another page of the site is opened at the heading, and the
   widget there shows them: this tab's storage tells it which. A page of another site opens in a new tab. Words are
   highlighted by the browser, or selected where it cannot: the page's own elements stay as they are. */

import { highlight } from "../shared/selection.js";
import { findQuote } from "./findquote.js";
import { tabStorage } from "./memory.js";

/** @import { Place } from "../shared/turn.js" */
/** @typedef {{kind: "here" | "site" | "web" | "nowhere", href: string, isSamePath: boolean}} Target */

const [QUOTE, HELD, JUMP] = ["octavo-quote", "octavo-held", "octavo:jump"];
const LOOK = "background-color: #ffe39a; color: #1d1a16";
/** @type {CSSStyleSheet | null} */
let sheet = null;

/**
 * Find where a citation leads: "here", "site", "web" or, for a book that has no page, "nowhere".
 * @param {Place} cited
 * @returns {Target}
 */
export function findTarget(cited) {
  const address = readAddress(cited.link) || readAddress(cited.url);
  if (!address) return { kind: "nowhere", href: "", isSamePath: false };
  const isSamePath = simplifyPath(address) === simplifyPath(location);
  if (address.origin !== location.origin) return { kind: "web", href: address.href, isSamePath };
  return { kind: isSamePath ? "here" : "site", href: address.href, isSamePath };
}

/**
 * Show what is cited. True when the words are highlighted on this page, or another page is being opened.
 * @param {Place} cited
 */
export function showCited(cited) {
  const { kind, href, isSamePath } = findTarget(cited);
  const anchor = readAnchor(href);
  if (kind === "site") {
    tabStorage.set(JUMP, { path: simplifyPath(new URL(href)), snippet: cited.content_snippet, anchor });
    location.assign(href);
    return true;
  }
  if ((kind !== "web" || isSamePath) && highlightQuote(cited.content_snippet, anchor)) return true;
  if (kind === "web") window.open(href, "_blank", "noopener,noreferrer");
  else if (kind === "here") showHeading(anchor);
  return kind !== "nowhere";
}

/** Show the passage that the page before this one asked for. */
export function showOnArrival() {
  const wanted = tabStorage.get(JUMP);
  tabStorage.set(JUMP, null);
  if (!wanted || typeof wanted.snippet !== "string" || wanted.path !== simplifyPath(location)) return;
  /* A page may still be drawing itself. */
  const waits = [0, 250, 800, 2000];
  const attempt = () => {
    if (!highlightQuote(wanted.snippet, wanted.anchor) && waits.length) setTimeout(attempt, waits.shift());
  };
  setTimeout(attempt, waits.shift());
}

export function clearQuote() {
  highlight(QUOTE, []);
}

/**
 * Keep the reader's selection visible while the focus is in the panel; without a range, no more.
 * @param {Range | undefined} range
 */
export function holdSelection(range) {
  if (highlight(HELD, range ? [range] : []) && range) addStyles();
}

/** Return where the highlighted words are on the screen; null when there are none. */
export function findQuoteBox() {
  const [range] = globalThis.CSS?.highlights?.get(QUOTE) || [];
  return range instanceof Range ? range.getBoundingClientRect() : null;
}

/**
 * @param {unknown} snippet
 * @param {string} anchor
 */
function highlightQuote(snippet, anchor) {
  const ranges = findQuote(String(snippet || ""), findHeading(anchor));
  if (!ranges.length) return false;
  reveal(ranges[0].startContainer.parentElement);
  if (highlight(QUOTE, ranges)) addStyles();
  else {
    const chosen = getSelection();
    chosen?.removeAllRanges();
    chosen?.addRange(ranges[0]);
  }
  return true;
}

/** @param {Element | null} element */
function reveal(element) {
  for (let node = element; node; node = node.parentElement)
    if (node instanceof HTMLDetailsElement) node.open = true;
  const isCalm = window.matchMedia("(prefers-reduced-motion: reduce)").matches;
  element?.scrollIntoView({ block: "center", behavior: isCalm ? "instant" : "smooth" });
}

/* Also styles what the browser itself highlights for `:~:text=`, so that both look alike. */
function addStyles() {
  if (!sheet) {
    sheet = new CSSStyleSheet();
    const held = `::highlight(${HELD}) { background-color: rgb(140 120 90 / 28%) }`;
    sheet.replaceSync(`::highlight(${QUOTE}) { ${LOOK} } ::target-text { ${LOOK} } ${held}`);
  }
  if (!document.adoptedStyleSheets.includes(sheet)) document.adoptedStyleSheets.push(sheet);
}

/** @param {string} anchor */
function showHeading(anchor) {
  const heading = findHeading(anchor);
  if (heading) reveal(heading);
}

/** @param {string} anchor */
function findHeading(anchor) {
  return anchor ? document.getElementById(anchor) : null;
}

/** @param {string} href */
function readAnchor(href) {
  const [anchor] = (href.split("#")[1] || "").split(":~:");
  try {
    return decodeURIComponent(anchor);
  } catch {
    return anchor;
  }
}

/**
 * Give one spelling to the path of a page: without index.html, .html and the last slash.
 * @param {{pathname: string}} address
 */
function simplifyPath(address) {
  const plain = address.pathname.replace(/\/index\.html?$/, "/").replace(/\.html?$/, "").replace(/\/+$/, "");
  try {
    return decodeURI(plain);
  } catch {
    return plain;
  }
}

/** @param {string | undefined} text */
function readAddress(text) {
  try {
    const address = new URL(text || "");
    return /^https?:$/.test(address.protocol) ? address : null;
  } catch {
    return null;
  }
}
