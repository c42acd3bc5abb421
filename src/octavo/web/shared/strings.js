// @ts-check
/* How words are chosen and filled in. The words themselves are in web/strings. */

/** The key of the word for each grade of confidence. */
export const SURE = /** @type {const} */ ({ very: "sureVery", fairly: "sureFairly", partly: "surePartly", hardly: "sureHardly" });

/**
 * Put values into a text: `{n}` becomes `values.n`.
 * @param {string} text
 * @param {Record<string, unknown>} values
 */
export function fillIn(text, values) {
  return text.replace(/\{(\w+)\}/g, (whole, name) => (name in values ? String(values[name]) : whole));
}
