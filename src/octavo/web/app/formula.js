// @ts-check
/* A formula from a book, in MathML or TeX, drawn as MathML: only the elements and attributes named here are ever made, and lengths
   and levels only within bounds, so that a formula stays where it stands. */

import { readTex } from "./tex.js";

const SPACE = "http://www.w3.org/1998/Math/MathML";
const DEEPEST = 60;
const MOST = 5_000;
const TAGS = new Set(("math mrow mi mn mo ms mtext mspace msup msub msubsup munder mover munderover mfrac msqrt mroot mtable mtr "
  + "mtd mstyle mpadded mphantom merror mfenced menclose mmultiscripts mprescripts none semantics").split(" "));
const ATTRIBUTES = new Set(("display mathvariant stretchy fence separator accent accentunder linethickness columnalign rowalign "
  + "columnspan rowspan open close separators notation lspace rspace movablelimits minsize maxsize symmetric "
  + "largeop form width height depth dir displaystyle scriptlevel").split(" "));

const LENGTHS = new Set("width height depth lspace rspace minsize maxsize linethickness".split(" "));
const LENGTH = /^([+-]?)(\d*\.?\d+)\s*(em|ex|px|pt|pc|cm|mm|in|%|width|height|depth)?$/;
/** @type {Record<string, number>} the units in em, nearly */
const UNITS = { em: 1, ex: 0.5, px: 0.06, pt: 0.08, pc: 1, cm: 2.4, mm: 0.24, in: 6, "%": 0.01 };
const LONGEST = 40, FURTHEST_BACK = 4;

/**
 * @param {string} name
 * @param {string} value
 */
function isAllowed(name, value) {
  if (!ATTRIBUTES.has(name)) return false;
  // A level below zero makes the letters larger without end.
  if (name === "scriptlevel") return /^[0-3]$/.test(value);
  return !LENGTHS.has(name) || isModest(value);
}

/** @param {string} value */
function isModest(value) {
  const [, sign, number, unit = "em"] = LENGTH.exec(value.trim()) || [];
  if (!number) return /^[a-z]*$/.test(value);
  return Number(number) * (UNITS[unit] ?? 1) <= (sign === "-" ? FURTHEST_BACK : LONGEST);
}

/**
 * Draw a formula from its tree in JSON, or from its TeX; null for one that cannot be drawn.
 * @param {Record<string, unknown>} written
 * @param {boolean} display
 */
export function drawFormula({ mathml, tex }, display) {
  try {
    const budget = { left: MOST };
    const tree = typeof mathml === "string" ? JSON.parse(mathml) : typeof tex === "string" ? readTex(tex, display) : null;
    const made = build(tree, 0, budget);
    if (made?.localName !== "math") return null;
    if (display) made.setAttribute("display", "block");
    return made;
  } catch {
    return null;
  }
}

/**
 * @param {unknown} tree
 * @param {number} depth
 * @param {{left: number}} budget
 * @returns {Element | null}
 */
function build(tree, depth, budget) {
  budget.left -= 1;
  // A formula is drawn as a whole, or shown as it is written.
  if (depth > DEEPEST || budget.left < 0) throw new RangeError("formula");
  if (!Array.isArray(tree) || !TAGS.has(tree[0])) return null;
  const made = document.createElementNS(SPACE, tree[0]);
  for (const part of tree.slice(1)) {
    if (typeof part === "string") made.append(part);
    else if (Array.isArray(part)) made.append(...[build(part, depth + 1, budget)].filter((inner) => inner !== null));
    else if (part && typeof part === "object")
      for (const [name, value] of Object.entries(part))
        if (typeof value === "string" && isAllowed(name, value)) made.setAttribute(name, value);
  }
  return made;
}
