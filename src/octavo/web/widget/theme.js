// @ts-check
/* Light or dark, as the page around the widget is, and as it becomes.

   What the page says outright counts first: the attributes of Docusaurus and Bootstrap, MkDocs Material's scheme,
   mdBook's themes, a plain `dark` class. A page that says nothing is judged by its background, and one without any
   background by what the reader's system prefers. */

/** @typedef {"light" | "dark"} Theme */

const DARK = new Set(["dark", "slate", "coal", "navy", "ayu", "night", "black"]);
const LIGHT = new Set(["light", "default", "rust", "white", "day"]);
const NAMING = ["data-theme", "data-md-color-scheme", "data-bs-theme", "data-color-mode"];
const ATTRIBUTES = [...NAMING, "class", "style"];
const FADE_MS = 400;

/** @returns {Theme} */
export function readTheme() {
  const nodes = [document.documentElement, document.body].filter(Boolean);
  const names = nodes.flatMap((node) => NAMING.map((name) => (node.getAttribute(name) || "").toLowerCase()));
  const classes = nodes.flatMap((node) => [...node.classList]);
  for (const name of [...names, ...classes]) {
    if (DARK.has(name)) return "dark";
    if (LIGHT.has(name)) return "light";
  }
  return readBackground(nodes.reverse()) || (prefersDark().matches ? "dark" : "light");
}

/**
 * Call `onChange` with the theme now and whenever it becomes another, until `signal` ends it.
 * @param {(theme: Theme) => void} onChange
 * @param {AbortSignal} signal
 */
export function followTheme(onChange, signal) {
  let current = "";
  const look = () => {
    const theme = readTheme();
    if (theme !== current) onChange((current = theme));
  };
  const lookTwice = () => {
    look();
    /* A background may fade over. */
    setTimeout(look, FADE_MS);
  };
  const watch = () => {
    observer.observe(document.documentElement, { attributes: true, attributeFilter: ATTRIBUTES, childList: true });
    if (document.body) observer.observe(document.body, { attributes: true, attributeFilter: ATTRIBUTES });
  };
  const observer = new MutationObserver(() => {
    /* The page may have replaced its body. */
    watch();
    lookTwice();
  });
  watch();
  prefersDark().addEventListener("change", lookTwice, { signal });
  signal.addEventListener("abort", () => observer.disconnect());
  look();
}

function prefersDark() {
  return window.matchMedia("(prefers-color-scheme: dark)");
}

/**
 * @param {HTMLElement[]} nodes
 * @returns {Theme | ""}
 */
function readBackground(nodes) {
  for (const node of nodes) {
    const found = getComputedStyle(node).backgroundColor.match(/[\d.]+/g);
    if (!found || (found.length > 3 && Number(found[3]) < 0.5)) continue;
    const [red, green, blue] = found.map(Number);
    return 0.299 * red + 0.587 * green + 0.114 * blue < 128 ? "dark" : "light";
  }
  return "";
}
