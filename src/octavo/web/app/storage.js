/* What the browser remembers for us. Where it will not, it is remembered until the page is left. */

function box(name) {
  const here = new Map();
  const safely = (act, otherwise) => {
    try {
      return act(window[name]);
    } catch {
      return otherwise();
    }
  };
  return {
    get: (key) => safely((kept) => kept.getItem(key), () => here.get(key) ?? null),
    set: (key, value) => safely((kept) => kept.setItem(key, value), () => here.set(key, value)),
    forget: (key) => safely((kept) => kept.removeItem(key), () => here.delete(key)),
  };
}

export const lasting = box("localStorage");
export const passing = box("sessionStorage");
