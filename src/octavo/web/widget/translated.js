// @ts-check
/* The words that come with the script besides English. `/widget.js` has none; the server puts those of one language here
   for `/widget.de.js` and the like. */

/** @type {Record<string, Record<string, string>>} */
export const TRANSLATED = {};
