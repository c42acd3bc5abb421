// @ts-check
/* Colours for code: comments, strings, numbers and keywords, by what most languages share.

   `findTokens` only says where they are. Code whose language is not named, or not known here, has none. */

/** @typedef {{start: number, end: number, name: "comment" | "string" | "number" | "keyword"}} Token */
/** @typedef {{comment: string, string: string, keywords: string}} Family */

/* What is never closed goes on to the end, so no character is looked at again and again. */
const QUOTED = String.raw`"(?:\\[^]|[^"\\])*"|'(?:\\.|[^'\\\n])*'`;
const SLASHES = String.raw`\/\/.*|\/\*(?:[^]*?\*\/|[^]*)`;
/** @type {Record<string, Family>} */
const FAMILIES = {
  c: { comment: SLASHES, string: QUOTED,
    keywords: "abstract async auto await bool boolean break byte case catch char class const continue default defer delete do double else enum export extends extern false final finally float for from func function go if implements import in instanceof int interface let long map namespace new nil null nullptr of operator package private protected public range return short signed sizeof static string struct super switch template this throw throws true try type typedef typeof undefined union unsigned using val var virtual void volatile while yield" },
  rust: { comment: SLASHES, string: String.raw`"(?:\\[^]|[^"\\])*"|'(?:\\.[^']*|[^'\\\n])'`,
    keywords: "as async await break const continue crate dyn else enum extern false fn for if impl in let loop match mod move mut pub ref return self Self static struct super trait true type unsafe use where while" },
  python: { comment: "#.*", string: String.raw`"""(?:[^]*?"""|[^]*)|'''(?:[^]*?'''|[^]*)|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'`,
    keywords: "and as assert async await break class continue def del elif else except False finally for from global if import in is lambda None nonlocal not or pass raise return True try while with yield" },
  shell: { comment: String.raw`(?<![^\s;])#.*`, string: QUOTED,
    keywords: "case do done elif else esac exit export fi for function if in local return set then unset until while true false null yes no" },
  sql: { comment: String.raw`--.*|\/\*(?:[^]*?\*\/|[^]*)`, string: QUOTED,
    keywords: "ADD ALL ALTER AND AS ASC BEGIN BETWEEN BY CASE COMMIT CREATE DEFAULT DELETE DESC DISTINCT DROP ELSE END EXISTS FALSE FROM GROUP HAVING IF IN INDEX INNER INSERT INTO IS JOIN KEY LEFT LIKE LIMIT NOT NULL ON OR ORDER OUTER PRIMARY REFERENCES RIGHT SELECT SET TABLE THEN TRUE UNION UNIQUE UPDATE VALUES VIEW WHEN WHERE WITH" },
  markup: { comment: "<!--(?:[^]*?-->|[^]*)", string: String.raw`"[^"<>]*"|'[^'<>]*'`, keywords: "" },
};
/** @type {Record<string, string>} */
const LANGUAGES = Object.fromEntries(Object.entries({
  c: "c cpp c++ cc h hpp cs csharp java javascript js jsx mjs ts tsx typescript go golang kotlin kt swift scala dart php css scss json jsonc json5 proto",
  rust: "rust rs", python: "python py python3 pycon ipython gdscript starlark", sql: "sql postgresql mysql sqlite",
  shell: "sh bash shell zsh console shell-session yaml yml toml ini conf dockerfile docker make makefile ruby rb perl r nix",
  markup: "html xml xhtml svg vue",
}).flatMap(([family, names]) => names.split(" ").map((name) => [name, family])));
/** Longer listings are shown as they are. */
const LONGEST = 50_000;

/** @type {Map<string, RegExp>} */
const patterns = new Map();

/** @param {string} family */
function getPattern(family) {
  const known = patterns.get(family);
  if (known) return known;
  const { comment, string, keywords } = FAMILIES[family];
  const words = keywords ? `\\b(?:${keywords.split(" ").join("|")})\\b` : "(?!)";
  const made = new RegExp(`(?<comment>${comment})|(?<string>${string})|(?<keyword>${words})|(?<number>\\b\\d[\\w.]*)`, family === "sql" ? "gi" : "g");
  patterns.set(family, made);
  return made;
}

/**
 * Find what is coloured in a piece of code, in its order.
 * @param {string} code
 * @param {string} language
 * @returns {Token[]}
 */
export function findTokens(code, language) {
  const family = LANGUAGES[language.toLowerCase()];
  if (!family || code.length > LONGEST) return [];
  return [...code.matchAll(getPattern(family))].map((found) => {
    const [name] = Object.entries(found.groups || {}).find(([, words]) => words !== undefined) || ["number"];
    return { start: found.index, end: found.index + found[0].length, name: /** @type {Token["name"]} */ (name) };
  });
}
