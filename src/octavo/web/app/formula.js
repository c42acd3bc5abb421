// @ts-check
/* A formula from a book, drawn as MathML: only the elements and attributes named here are ever made. */

const SPACE = "http://www.w3.org/1998/Math/MathML";
const DEEPEST = 60;
const MOST = 5_000;
const TAGS = new Set(("math mrow mi mn mo ms mtext mspace msup msub msubsup munder mover munderover mfrac msqrt mroot mtable mtr "
  + "mtd mstyle mpadded mphantom merror mfenced menclose mmultiscripts mprescripts none semantics").split(" "));
const ATTRIBUTES = new Set(("display mathvariant stretchy fence separator accent accentunder linethickness columnalign rowalign "
  + "columnspan rowspan open close separators notation lspace rspace movablelimits minsize maxsize symmetric "
  + "largeop form width height depth dir displaystyle scriptlevel").split(" "));

/**
 * Draw a formula from its tree in JSON; null for one that cannot be drawn.
 * @param {string} json
 * @param {boolean} display
 */
export function drawFormula(json, display) {
  try {
    const budget = { left: MOST };
    const made = build(JSON.parse(json), 0, budget);
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
  if (!Array.isArray(tree) || depth > DEEPEST || budget.left < 0 || !TAGS.has(tree[0])) return null;
  const made = document.createElementNS(SPACE, tree[0]);
  for (const part of tree.slice(1)) {
    if (typeof part === "string") made.append(part);
    else if (Array.isArray(part)) made.append(...[build(part, depth + 1, budget)].filter((inner) => inner !== null));
    else if (part && typeof part === "object")
      for (const [name, value] of Object.entries(part))
        if (ATTRIBUTES.has(name) && typeof value === "string") made.setAttribute(name, value);
  }
  return made;
}
