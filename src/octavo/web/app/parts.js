// @ts-check
/* The parts of index.html. */

/**
 * Find a part of the page by its id; a part that is missing is an error of ours.
 * @param {string} id
 */
export function getPart(id) {
  const found = document.getElementById(id);
  if (!found) throw new Error(`index.html has no #${id}`);
  return found;
}
