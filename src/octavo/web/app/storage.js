// @ts-check
/* What the browser remembers for the app. Where storage is forbidden, it is remembered until the page is left. */

/** @param {"localStorage" | "sessionStorage"} name */
function openStorage(name) {
  /** @type {Map<string, string>} */
  const here = new Map();
  return {
    /**
     * @param {string} key
     * @returns {string | null}
     */
    get(key) {
      try {
        return window[name].getItem(key);
      } catch {
        return here.get(key) ?? null;
      }
    },
    /**
     * @param {string} key
     * @param {string} value
     */
    set(key, value) {
      try {
        window[name].setItem(key, value);
      } catch {
        here.set(key, value);
      }
    },
    /** @param {string} key */
    forget(key) {
      try {
        window[name].removeItem(key);
      } catch {
        here.delete(key);
      }
    },
  };
}

/** Kept after the browser is closed. */
export const browserStorage = openStorage("localStorage");
/** Kept until the tab is closed. */
export const tabStorage = openStorage("sessionStorage");
