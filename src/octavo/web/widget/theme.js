/* Light or dark, as the page around us is, and as it becomes.

   What the page says outright counts first: Docusaurus' and Bootstrap's attributes, MkDocs Material's scheme, mdBook's
   themes, a plain `dark` class. A page that says nothing is judged by its background, and one without any background by
   what the reader's system prefers. */

const DARK = new Set(["dark", "slate", "coal", "navy", "ayu", "night", "black"]);
const LIGHT = new Set(["light", "default", "rust", "white", "day"]);
const ATTRIBUTES = ["data-theme", "data-md-color-scheme", "data-bs-theme", "data-color-mode", "class", "style"];

export function hostTheme() {
  const nodes = [document.documentElement, document.body].filter(Boolean);
  for (const node of nodes)
    for (const name of ATTRIBUTES.slice(0, 4)) {
      const said = (node.getAttribute(name) || "").toLowerCase();
      if (DARK.has(said)) return "dark";
      if (LIGHT.has(said)) return "light";
    }
  for (const node of nodes)
    for (const name of node.classList) {
      if (DARK.has(name)) return "dark";
      if (LIGHT.has(name)) return "light";
    }
  return byBackground(nodes.reverse()) || (prefersDark().matches ? "dark" : "light");
}

/* Calls `changed` with the theme now and whenever it becomes another, until `signal` ends it. */
export function followTheme(changed, signal) {
  let current = "";
  const look = () => {
    const theme = hostTheme();
    if (theme !== current) changed((current = theme));
  };
  const later = () => {
    look();
    setTimeout(look, 400); /* a background may fade over */
  };
  const watch = () => {
    observer.observe(document.documentElement, { attributes: true, attributeFilter: ATTRIBUTES, childList: true });
    if (document.body) observer.observe(document.body, { attributes: true, attributeFilter: ATTRIBUTES });
  };
  const observer = new MutationObserver(() => {
    watch(); /* the body may be another one */
    later();
  });
  watch();
  prefersDark().addEventListener("change", later, { signal });
  signal.addEventListener("abort", () => observer.disconnect());
  look();
}

function prefersDark() {
  return window.matchMedia("(prefers-color-scheme: dark)");
}

function byBackground(nodes) {
  for (const node of nodes) {
    const found = getComputedStyle(node).backgroundColor.match(/[\d.]+/g);
    if (!found || (found.length > 3 && Number(found[3]) < 0.5)) continue;
    const [red, green, blue] = found.map(Number);
    return 0.299 * red + 0.587 * green + 0.114 * blue < 128 ? "dark" : "light";
  }
  return "";
}
