/* Finds a quotation in the page, to the letter and yet forgiving: a page may break lines where the book did not, set
   its quotes and dashes typographically, and wrap words in elements. White space is not compared at all; quotes,
   dashes and dots count as what they stand for. The page is only read, never changed. */

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

/* The ranges of `snippet` in the page: one, or one for each line where the page sets a list or a table between them.
   Of several places the first one after `anchor` is meant. Nothing found, no ranges. */
export function find(snippet, anchor = null) {
  const main = document.querySelector("main, [role=main], article, #content");
  for (const root of [main, document.body]) {
    if (!root) continue;
    const page = folded(root);
    const from = anchor ? page.after(anchor) : 0;
    const found = whole(page, snippet, from) || inParts(page, snippet, from) || inParts(page, snippet, 0);
    if (found) return found;
  }
  return [];
}

function whole(page, snippet, from) {
  const wanted = fold(snippet);
  if (!wanted) return null;
  let at = page.text.indexOf(wanted, from);
  if (at < 0) at = page.text.indexOf(wanted);
  return at < 0 ? null : [page.range(at, at + wanted.length)];
}

function inParts(page, snippet, from) {
  const parts = snippet.split(/\n+| \| /).map((part) => fold(part.replace(MARKER, ""))).filter(Boolean);
  const ranges = [];
  let [at, matched] = [from, 0];
  for (const part of parts) {
    const next = page.text.indexOf(part, at);
    if (next < 0 || (ranges.length && next - at > FAR)) continue;
    ranges.push(page.range(next, next + part.length));
    at = next + part.length;
    matched += part.length;
  }
  const all = parts.reduce((sum, part) => sum + part.length, 0);
  return ranges.length && matched >= 0.7 * all ? ranges : null;
}

/* A text as it is compared. */
export function fold(text) {
  const made = [];
  for (const sign of text) {
    const same = folding(sign, made);
    if (same) made.push(same);
  }
  return made.join("");
}

/* What a sign counts as; nothing when it is a dash after a dash, for "--" is one, too. */
function folding(sign, before) {
  if (/\s/.test(sign)) return "";
  let same = SAME.get(sign);
  if (same === undefined) same = sign > "\u007f" ? sign.normalize("NFKC").replace(/\s/g, "") : sign;
  return same === "-" && before.at(-1) === "-" ? "" : same;
}

class Folded {
  constructor(text, nodes, starts, places) {
    Object.assign(this, { text, nodes, starts, places });
  }

  /* Where the text that follows `element`, or stands in it, begins. */
  after(element) {
    const follows = Node.DOCUMENT_POSITION_FOLLOWING | Node.DOCUMENT_POSITION_CONTAINED_BY;
    const index = this.nodes.findIndex((node) => element.compareDocumentPosition(node) & follows);
    return index < 0 ? 0 : this.starts[index];
  }

  range(from, to) {
    const [first, last] = [this.#place(from), this.#place(to - 1)];
    const range = document.createRange();
    range.setStart(first.node, first.offset);
    range.setEnd(last.node, last.offset + last.width);
    return range;
  }

  #place(at) {
    let [low, high] = [0, this.starts.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.starts[middle] <= at) low = middle;
      else high = middle - 1;
    }
    const node = this.nodes[low];
    const offset = this.places[at];
    return { node, offset, width: node.data.codePointAt(offset) > 0xffff ? 2 : 1 };
  }
}

function folded(root) {
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT | NodeFilter.SHOW_ELEMENT, (node) => {
    if (node.nodeType === Node.TEXT_NODE) return NodeFilter.FILTER_ACCEPT;
    return SKIPPED.has(node.nodeName.toUpperCase()) ? NodeFilter.FILTER_REJECT : NodeFilter.FILTER_SKIP;
  });
  const [nodes, starts, places, signs] = [[], [], [], []];
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const before = places.length;
    let offset = 0;
    for (const sign of node.data) {
      const same = folding(sign, signs);
      if (same) signs.push(same);
      for (let units = same.length; units > 0; units -= 1) places.push(offset);
      offset += sign.length;
    }
    if (places.length > before) {
      nodes.push(node);
      starts.push(before);
    }
  }
  return new Folded(signs.join(""), nodes, starts, places);
}
