// @ts-check
/* Finds a quotation in the page, exact but forgiving: a page may break lines where the book did not, set its quotes and
   dashes typographically, and wrap words in elements. White space is not compared at all; quotes, dashes and dots count
   as what they stand for. The page is only read, never changed. */

const SKIPPED = new Set(["SCRIPT", "STYLE", "NOSCRIPT", "TEMPLATE", "TEXTAREA", "SELECT", "SVG", "IFRAME"]);
const SAME = new Map(
  Object.entries({
    "‘": "'", "’": "'", "‚": "'", "‛": "'", "′": "'", "`": "'",
    "“": '"', "”": '"', "„": '"', "‟": '"', "″": '"', "«": '"', "»": '"',
    "‐": "-", "‑": "-", "‒": "-", "–": "-", "—": "-", "―": "-", "−": "-",
    "…": "...", "\u00ad": "", "\u200b": "", "\u200c": "", "\u200d": "", "\u2060": "", "\ufeff": "",
  }),
);
const MARKER = /^\s*(?:[-*•▪]|\d{1,3}[.)])\s+/;
const FAR = 4000;

/**
 * Find `snippet` in the page: one range, or one for each line where the page sets a list or a table between them. Of
 * several places the first one after `anchor` is meant. Where nothing is found, there are no ranges.
 * @param {string} snippet
 * @param {Element | null} anchor
 */
export function findQuote(snippet, anchor = null) {
  const main = document.querySelector("main, [role=main], article, #content");
  for (const root of [main, document.body]) {
    if (!root) continue;
    const page = foldPage(root);
    const from = anchor ? page.startAfter(anchor) : 0;
    const found = findWhole(page, snippet, from) || findInParts(page, snippet, from) || findInParts(page, snippet, 0);
    if (found) return found;
  }
  return [];
}

/**
 * @param {FoldedPage} page
 * @param {string} snippet
 * @param {number} from
 */
function findWhole(page, snippet, from) {
  const wanted = fold(snippet);
  if (!wanted) return null;
  let at = page.text.indexOf(wanted, from);
  if (at < 0) at = page.text.indexOf(wanted);
  return at < 0 ? null : [page.makeRange(at, at + wanted.length)];
}

/**
 * @param {FoldedPage} page
 * @param {string} snippet
 * @param {number} from
 */
function findInParts(page, snippet, from) {
  const parts = snippet.split(/\n+| \| /).map((part) => fold(part.replace(MARKER, ""))).filter(Boolean);
  const ranges = [];
  let [at, matched] = [from, 0];
  for (const part of parts) {
    const next = page.text.indexOf(part, at);
    if (next < 0 || (ranges.length && next - at > FAR)) continue;
    ranges.push(page.makeRange(next, next + part.length));
    at = next + part.length;
    matched += part.length;
  }
  const all = parts.reduce((sum, part) => sum + part.length, 0);
  return ranges.length && matched >= 0.7 * all ? ranges : null;
}

/**
 * Turn a text into what is compared.
 * @param {string} text
 */
export function fold(text) {
  /** @type {string[]} */
  const made = [];
  for (const sign of text) {
    const same = foldSign(sign, made);
    if (same) made.push(same);
  }
  return made.join("");
}

/**
 * Return what a sign counts as; nothing when it is a dash after a dash, for "--" is one dash, too.
 * @param {string} sign
 * @param {string[]} before
 */
function foldSign(sign, before) {
  if (/\s/.test(sign)) return "";
  let same = SAME.get(sign);
  if (same === undefined) same = sign > "\u007f" ? sign.normalize("NFKC").replace(/\s/g, "") : sign;
  return same === "-" && before.at(-1) === "-" ? "" : same;
}

/* A page's text as it is compared, with the place in the page of each of its characters. */
class FoldedPage {
  #nodes;
  #starts;
  #offsets;

  /**
   * @param {string} text
   * @param {Text[]} nodes  the text nodes, in order
   * @param {number[]} starts  where the text of each node begins
   * @param {number[]} offsets  for each character, its offset in its node
   */
  constructor(text, nodes, starts, offsets) {
    this.text = text;
    this.#nodes = nodes;
    this.#starts = starts;
    this.#offsets = offsets;
  }

  /**
   * Return where the text begins that follows `element`, or stands in it.
   * @param {Element} element
   */
  startAfter(element) {
    const follows = Node.DOCUMENT_POSITION_FOLLOWING | Node.DOCUMENT_POSITION_CONTAINED_BY;
    const index = this.#nodes.findIndex((node) => element.compareDocumentPosition(node) & follows);
    return index < 0 ? 0 : this.#starts[index];
  }

  /**
   * @param {number} from
   * @param {number} to
   */
  makeRange(from, to) {
    const [first, last] = [this.#locate(from), this.#locate(to - 1)];
    const width = Number(last.node.data.codePointAt(last.offset)) > 0xffff ? 2 : 1;
    const range = document.createRange();
    range.setStart(first.node, first.offset);
    range.setEnd(last.node, last.offset + width);
    return range;
  }

  /** @param {number} at */
  #locate(at) {
    let [low, high] = [0, this.#starts.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.#starts[middle] <= at) low = middle;
      else high = middle - 1;
    }
    return { node: this.#nodes[low], offset: this.#offsets[at] };
  }
}

/** @param {Element} root */
function foldPage(root) {
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT | NodeFilter.SHOW_ELEMENT, (node) => {
    if (node.nodeType === Node.TEXT_NODE) return NodeFilter.FILTER_ACCEPT;
    return SKIPPED.has(node.nodeName.toUpperCase()) ? NodeFilter.FILTER_REJECT : NodeFilter.FILTER_SKIP;
  });
  /** @type {[Text[], number[], number[], string[]]} */
  const [nodes, starts, offsets, signs] = [[], [], [], []];
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    if (!(node instanceof Text)) continue;
    const before = offsets.length;
    let offset = 0;
    for (const sign of node.data) {
      const same = foldSign(sign, signs);
      if (same) signs.push(same);
      for (let units = same.length; units > 0; units -= 1) offsets.push(offset);
      offset += sign.length;
    }
    if (offsets.length > before) {
      nodes.push(node);
      starts.push(before);
    }
  }
  return new FoldedPage(signs.join(""), nodes, starts, offsets);
}
