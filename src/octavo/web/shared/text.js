// @ts-check
/* Offsets into a book's text, and quotations cut to length.

   Octavo counts characters (code points), JavaScript counts UTF-16 units: every offset from the server passes through
   `toUnits` before it touches a string, and every offset from the page through `toPoints` on its way back. */

/** @typedef {readonly [start: number, end: number]} Span */

/**
 * Convert between code points and UTF-16 units, for a text that is measured often.
 * @param {string} text
 */
export function measure(text) {
  /** @type {number[]} */
  const wide = [];
  if (/[\ud800-\udbff][\udc00-\udfff]/.test(text))
    for (let at = 0, point = 0; at < text.length; point += 1)
      if (Number(text.codePointAt(at)) > 0xffff) { wide.push(point); at += 2; } else at += 1;
  const clamp = (/** @type {number} */ value) => Math.max(0, Math.min(text.length, value));
  return {
    toUnits: (/** @type {number} */ point) => clamp(point + wide.filter((other) => other < point).length),
    toPoints: (/** @type {number} */ at) => clamp(at) - wide.filter((other, before) => other + before + 1 < at).length,
  };
}

/** @type {(text: string, point: number) => number} */
export const toUnits = (text, point) => measure(text).toUnits(point);
/** @type {(text: string, at: number) => number} */
export const toPoints = (text, at) => measure(text).toPoints(at);
/** @type {(text: string) => number} */
export const countCharacters = (text) => measure(text).toPoints(text.length);

/**
 * Split a text into pieces; those within `marks` (pairs of code point offsets) are marked.
 * @param {string} text
 * @param {readonly Span[]} marks
 */
export function splitAtMarks(text, marks) {
  const pieces = [];
  let from = 0;
  for (const [start, end] of [...marks].sort((a, b) => a[0] - b[0])) {
    const [first, last] = [Math.max(toUnits(text, start), from), toUnits(text, end)];
    if (!(last > first)) continue;
    if (first > from) pieces.push({ text: text.slice(from, first), marked: false });
    pieces.push({ text: text.slice(first, last), marked: true });
    from = last;
  }
  if (from < text.length) pieces.push({ text: text.slice(from), marked: false });
  return pieces;
}

/**
 * Put a quotation on one line of at most `most` characters, cut at a word.
 * @param {string} text
 */
export function shorten(text, most = 220) {
  const line = String(text).replace(/\s+/g, " ").trim();
  if (line.length <= most) return line;
  const cut = line.slice(0, most);
  return `${cut.slice(0, Math.max(cut.lastIndexOf(" "), most - 30))} …`;
}

/**
 * Tell whether a text begins with a quotation mark of its own.
 * @param {string} text
 */
export function beginsQuoted(text) {
  return /^\s*["'“”„«»‹›‘‚「『]/u.test(text);
}

/**
 * Set a text in quotation marks, unless it begins with one.
 * @param {string} text
 */
export function quote(text) {
  return beginsQuoted(text) ? text : `“${text}”`;
}
