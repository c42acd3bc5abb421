// @ts-check
/* A formula that a book writes in TeX, as the tree that `formula.js` draws. What is not known here makes the whole
   formula unknown: it is shown as it is written then, and never drawn in part. */

/** @typedef {[string, ...(string | Record<string, string> | Tree)[]]} Tree */
/** @typedef {{tokens: string[], at: number, depth: number}} Source */

const TOKEN = /\\operatorname\*|\\[a-zA-Z]+|\\[\s\S]|\s+|[\s\S]/gu;
const LONGEST = 4_000;
const DEEPEST = 24;
const LENGTH = /^\s*-?\d*\.?\d+\s*(?:pt|em|ex|mm|cm|in|mu|pc|bp)\s*$/;

/** @param {string} pairs  names and characters, by turns */
function readTable(pairs) {
  const words = pairs.trim().split(/\s+/);
  return new Map(words.flatMap((name, at) => (at % 2 ? [] : [/** @type {[string, string]} */ ([name, words[at + 1]])])));
}

const LETTERS = readTable(`alpha α beta β gamma γ delta δ epsilon ϵ varepsilon ε zeta ζ eta η theta θ vartheta ϑ iota ι kappa κ
  lambda λ mu μ nu ν xi ξ omicron ο pi π varpi ϖ rho ρ varrho ϱ sigma σ varsigma ς tau τ upsilon υ phi ϕ varphi φ chi χ psi ψ
  omega ω Gamma Γ Delta Δ Theta Θ Lambda Λ Xi Ξ Pi Π Sigma Σ Upsilon Υ Phi Φ Psi Ψ Omega Ω ell ℓ hbar ℏ imath ı jmath ȷ Re ℜ Im ℑ
  aleph ℵ infty ∞ partial ∂ nabla ∇ emptyset ∅ varnothing ∅ angle ∠ triangle △ top ⊤ bot ⊥ wp ℘ degree ° hslash ℏ beth ℶ digamma ϝ eth ð mho ℧ flat ♭ natural ♮ sharp ♯`);
const SIGNS = readTable(`pm ± mp ∓ times × div ÷ cdot ⋅ ast ∗ star ⋆ circ ∘ bullet ∙ oplus ⊕ ominus ⊖ otimes ⊗ odot ⊙ wedge ∧ land ∧
  vee ∨ lor ∨ cap ∩ cup ∪ setminus ∖ leq ≤ le ≤ geq ≥ ge ≥ neq ≠ ne ≠ ll ≪ gg ≫ equiv ≡ sim ∼ simeq ≃ approx ≈ cong ≅ propto ∝ doteq ≐
  in ∈ notin ∉ ni ∋ subset ⊂ subseteq ⊆ supset ⊃ supseteq ⊇ subsetneq ⊊ mid ∣ nmid ∤ parallel ∥ perp ⊥ vdash ⊢ models ⊨ prec ≺ succ ≻
  preceq ⪯ succeq ⪰ to → rightarrow → leftarrow ← gets ← leftrightarrow ↔ Rightarrow ⇒ Leftarrow ⇐ Leftrightarrow ⇔ iff ⟺
  implies ⟹ impliedby ⟸ mapsto ↦ longrightarrow ⟶ longleftarrow ⟵ longmapsto ⟼ Longrightarrow ⟹ uparrow ↑ downarrow ↓ updownarrow ↕
  hookrightarrow ↪ rightharpoonup ⇀ rightleftharpoons ⇌ forall ∀ exists ∃ nexists ∄ neg ¬ lnot ¬ dots … ldots … cdots ⋯ vdots ⋮ ddots ⋱
  dotsc … dotsb ⋯ colon : prime ′ dagger † ddagger ‡ therefore ∴ because ∵ square □ blacksquare ■ Box □ triangleq ≜ coloneqq ≔
  lfloor ⌊ rfloor ⌋ lceil ⌈ rceil ⌉ langle ⟨ rangle ⟩ lbrace { rbrace } lbrack [ rbrack ] vert | lvert | rvert | Vert ‖ lVert ‖ rVert ‖
  backslash \\ S § P ¶ amalg ⨿ ltimes ⋉ rtimes ⋊ lesssim ≲ gtrsim ≳ asymp ≍ leqslant ⩽ geqslant ⩾ leqq ≦ geqq ≧ nleq ≰ ngeq ≱ nsubseteq ⊈ supsetneq ⊋ sqsupseteq ⊒ trianglelefteq ⊴ triangleleft ◃
  triangleright ▹ Uparrow ⇑ Downarrow ⇓ nearrow ↗ searrow ↘ swarrow ↙ nwarrow ↖ hookleftarrow ↩ twoheadrightarrow ↠ rightsquigarrow ⇝ leadsto ⇝
  longleftrightarrow ⟷ Longleftarrow ⟸ Longleftrightarrow ⟺ leftharpoonup ↼ rightharpoondown ⇁ hdots … dotsm ⋯ dotsi ⋯ smallsetminus ∖ complement ∁
  approxeq ≊ boxtimes ⊠ boxplus ⊞ circledast ⊛ oslash ⊘ uplus ⊎ wr ≀ bowtie ⋈ smile ⌣ frown ⌢ bigcirc ◯ lhd ⊲ rhd ⊳ lll ⋘ ggg ⋙ sqcup ⊔ sqcap ⊓ sqsubseteq ⊑ diamond ⋄ vdash ⊢ dashv ⊣`);
const LARGE = readTable(`sum ∑ prod ∏ coprod ∐ bigcup ⋃ bigcap ⋂ bigoplus ⨁ bigotimes ⨂ bigvee ⋁ bigwedge ⋀ bigsqcup ⨆ biguplus ⨄ bigodot ⨀`);
const INTEGRALS = readTable(`int ∫ iint ∬ iiint ∭ oint ∮`);
const FUNCTIONS = new Set(("arccos arcsin arctan arg cos cosh cot coth csc deg dim exp hom ker lg ln log sec sin sinh tan tanh Pr").split(" "));
const LIMITS = new Set("lim max min sup inf det gcd limsup liminf argmax argmin".split(" "));
const ACCENTS = readTable(`hat ^ widehat ^ bar ¯ vec → overrightarrow → tilde ~ widetilde ~ dot ˙ ddot ¨ check ˇ breve ˘ acute ´ grave \` overline ‾ mathring ˚ overleftarrow ←`);
/** How wide the blanks are. */
const BLANKS = new Map([["\\,", ".17em"], ["\\:", ".22em"], ["\\>", ".22em"], ["\\;", ".28em"], ["\\!", "-.17em"], ["\\ ", ".33em"], ["\\\n", ".33em"], ["~", ".33em"],
  ["\\quad", "1em"], ["\\qquad", "2em"], ["\\thinspace", ".17em"], ["\\medspace", ".22em"], ["\\thickspace", ".28em"],
  ["\\enspace", ".5em"], ["\\negthinspace", "-.17em"]]);
/** What says how, and not what. */
const NOTHING = new Set("\\displaystyle \\textstyle \\scriptstyle \\limits \\nolimits \\nonumber \\notag \\centering \\hline \\small".split(" "));
const SIZES = new Set("big Big bigg Bigg bigl Bigl biggl Biggl bigr Bigr biggr Biggr bigm Bigm".split(" "));
const WORDS = new Set("text textrm textnormal textbf textit textsf texttt mbox".split(" "));
const FENCES = new Map([["pmatrix", "()"], ["bmatrix", "[]"], ["Bmatrix", "{}"], ["vmatrix", "||"], ["Vmatrix", "‖‖"], ["matrix", ""], ["smallmatrix", ""],
  ["array", ""], ["cases", "{"], ["aligned", ""], ["align", ""], ["align*", ""], ["alignedat", ""], ["split", ""], ["gathered", ""], ["gather", ""],
  ["gather*", ""], ["equation", ""], ["equation*", ""], ["eqnarray", ""], ["multline", ""]]);
const DEFINITIONS = new Set(["\\newcommand", "\\renewcommand", "\\providecommand", "\\DeclareMathOperator"]);
/** What stands between the upper and the lower half of a stack, and the brackets around it. */
const STACKED = new Map([["\\over", ""], ["\\atop", ""], ["\\choose", "()"], ["\\brace", "{}"], ["\\brack", "[]"]]);
/** What sets all that follows in its group in other letters. */
const SWITCHES = new Map([["\\bf", "mathbf"], ["\\rm", "mathrm"], ["\\it", "mathit"], ["\\sf", "mathsf"], ["\\tt", "mathtt"], ["\\cal", "mathcal"]]);
/** Those that may have an option in brackets. */
const OPTIONAL = /^(?:aligned|alignedat|gathered)$/;
const TO_RIGHT_AND_LEFT = /^(?:align|aligned|split|eqnarray)/;
/** Where the letters of an alphabet begin: capitals, small letters, figures. Some stand elsewhere. */
const ALPHABETS = new Map([["mathbb", [0x1d538, 0x1d552, 0x1d7d8]], ["mathcal", [0x1d49c, 0x1d4b6]], ["mathscr", [0x1d49c, 0x1d4b6]], ["mathfrak", [0x1d504, 0x1d51e]],
  ["mathbf", [0x1d400, 0x1d41a, 0x1d7ce]], ["boldsymbol", [0x1d468, 0x1d482, 0x1d7ce]], ["bm", [0x1d468, 0x1d482, 0x1d7ce]], ["mathsf", [0x1d5a0, 0x1d5ba, 0x1d7e2]],
  ["mathtt", [0x1d670, 0x1d68a, 0x1d7f6]], ["mathit", []], ["mathrm", []], ["mathnormal", []], ["operatorname", []], ["operatorname*", []]]);
const ELSEWHERE = new Map(Object.entries({ mathbb: "CℂHℍNℕPℙQℚRℝZℤ", mathcal: "BℬEℰFℱHℋIℐLℒMℳRℛeℯgℊoℴ", mathscr: "BℬEℰFℱHℋIℐLℒMℳRℛeℯgℊoℴ", mathfrak: "CℭHℌIℑRℜZℨ" }));
const UPRIGHT = { mathvariant: "normal" };

class Unknown extends Error {}

/**
 * Return the tree of a formula; null for one that is not understood.
 * @param {string} tex
 * @param {boolean} display
 * @returns {Tree | null}
 */
export function readTex(tex, display) {
  if (tex.length > LONGEST) return null;
  try {
    const source = { tokens: expandMacros(tex.match(TOKEN) || []), at: 0, depth: 0 };
    let row = readRow(source, isCellEnd, display);
    if (isCellEnd(source.tokens[source.at] || "") && source.tokens[source.at] !== "\\end") {
      source.at = 0;
      row = [readCells(source, "split", display)];
    }
    return source.at < source.tokens.length || !row.length ? null : ["math", ...row];
  } catch (error) {
    if (error instanceof Unknown) return null;
    throw error;
  }
}

/**
 * Replace the commands that a formula defines for itself by what they stand for.
 * @param {string[]} tokens
 */
function expandMacros(tokens) {
  if (!tokens.some((token) => DEFINITIONS.has(token))) return tokens;
  /** @type {Map<string, {count: number, body: string[]}>} */
  const macros = new Map();
  /** @type {string[]} */
  const expanded = [];
  const rest = [...tokens].reverse();
  const takeGroup = () => {
    while (/^\s+$/.test(rest.at(-1) || "")) rest.pop();
    const first = rest.pop();
    if (first === undefined) throw new Unknown("macro");
    if (first !== "{") return [first];
    const group = [];
    for (let open = 1; ;) {
      const token = rest.pop();
      if (token === undefined) throw new Unknown("macro");
      open += token === "{" ? 1 : token === "}" ? -1 : 0;
      if (!open) return group;
      group.push(token);
    }
  };
  for (let left = LONGEST; rest.length; left -= 1) {
    const token = rest.pop() || "";
    if (left < 0 || rest.length > LONGEST) throw new Unknown("macro");
    const macro = macros.get(token);
    if (DEFINITIONS.has(token)) {
      const isStarred = rest.at(-1) === "*";
      if (isStarred) rest.pop();
      const name = takeGroup().join("").trim();
      if (!name.startsWith("\\")) throw new Unknown("macro");
      const count = /^\[(\d)\]/.exec(rest.slice(-3).reverse().join(""));
      if (count) rest.length -= 3;
      // An argument with a value of its own, which may be left out.
      if (rest.at(-1) === "[") throw new Unknown("macro");
      const body = takeGroup();
      const isOperator = token === "\\DeclareMathOperator";
      macros.set(name, { count: Number(count?.[1] || 0), body: isOperator ? [isStarred ? "\\operatorname*" : "\\operatorname", "{", ...body, "}"] : body });
    } else if (macro) {
      const given = Array.from({ length: macro.count }, takeGroup);
      const body = macro.body.join("").replace(/#(\d)/g, (_, number) => `{${given[number - 1]?.join("") ?? ""}}`);
      if (body.length > LONGEST) throw new Unknown("macro");
      rest.push(...(body.match(TOKEN) || []).reverse());
    } else expanded.push(token);
  }
  return expanded;
}

/** @param {Source} source */
function skipBlanks(source) {
  while (/^\s+$/.test(source.tokens[source.at] || "")) source.at += 1;
}

/**
 * @param {Source} source
 * @param {string} wanted
 */
function expectToken(source, wanted) {
  skipBlanks(source);
  if (source.tokens[source.at] !== wanted) throw new Unknown(wanted);
  source.at += 1;
}

/**
 * Read until something ends the row; what ends it is not read.
 * @param {Source} source
 * @param {(token: string) => boolean} ends
 * @param {boolean} display
 * @returns {Tree[]}
 */
function readRow(source, ends, display) {
  source.depth += 1;
  if (source.depth > DEEPEST) throw new Unknown("depth");
  /** @type {Tree[]} */
  const row = [];
  for (;;) {
    skipBlanks(source);
    const token = source.tokens[source.at];
    if (token === undefined || token === "}" || ends(token)) break;
    const letters = SWITCHES.get(token);
    const around = STACKED.get(token);
    if (around !== undefined) {
      source.at += 1;
      const line = /** @type {Record<string, string>[]} */ (token === "\\over" ? [] : [{ linethickness: "0" }]);
      const stack = /** @type {Tree} */ (["mfrac", ...line, ["mrow", ...row], ["mrow", ...readRow(source, ends, display)]]);
      row.splice(0, row.length, around ? ["mrow", ["mo", around[0]], stack, ["mo", around[1]]] : stack);
    } else if (letters) {
      source.at += 1;
      row.push(changeLetters(["mrow", ...readRow(source, ends, display)], letters, ALPHABETS.get(letters) || []));
    } else {
      const made = readScripted(source, display);
      if (made) row.push(made);
    }
  }
  source.depth -= 1;
  return row;
}

/**
 * Read something with what stands above and below it.
 * @param {Source} source
 * @param {boolean} display
 * @returns {Tree | null}
 */
function readScripted(source, display) {
  const token = source.tokens[source.at];
  const name = token.slice(1);
  const base = token === "^" || token === "_" ? /** @type {Tree} */ (["mrow"]) : readAtom(source, display);
  /** @type {Tree | null} */
  let below = null;
  /** @type {Tree | null} */
  let above = null;
  let isRaised = false;
  for (;;) {
    skipBlanks(source);
    const mark = source.tokens[source.at];
    if (mark === "\\limits" || mark === "\\nolimits") source.at += 1;
    else if (mark === "'") {
      if (above) throw new Unknown("two superscripts");
      let primes = "";
      for (; source.tokens[source.at] === "'"; source.at += 1) primes += "′";
      above = ["mo", primes];
    } else if (mark === "^" || mark === "_") {
      source.at += 1;
      const script = readArgument(source, display);
      if (mark === "_" ? below : isRaised) throw new Unknown("two scripts");
      if (mark === "_") below = script;
      else [above, isRaised] = [above ? ["mrow", above, script] : script, true];
    } else break;
  }
  if (!base && (below || above)) throw new Unknown("script of nothing");
  if (!base) return null;
  const isOver = ["underbrace", "overbrace"].includes(name) || (display && (LARGE.has(name) || LIMITS.has(name) || name === "operatorname*" || name === "mathop"));
  if (below && above) return [isOver ? "munderover" : "msubsup", base, below, above];
  if (below) return [isOver ? "munder" : "msub", base, below];
  if (above) return [isOver ? "mover" : "msup", base, above];
  return base;
}

/**
 * Read what a command or a script takes: a group, or one thing. Of a number that is its first digit.
 * @param {Source} source
 * @param {boolean} display
 * @returns {Tree}
 */
function readArgument(source, display) {
  skipBlanks(source);
  const token = source.tokens[source.at];
  if (token === undefined || /^[}&^_']$/.test(token)) throw new Unknown("argument");
  if (/^\d$/.test(token)) {
    source.at += 1;
    return ["mn", token];
  }
  return readAtom(source, display) || ["mrow"];
}

/**
 * Read the characters between braces as they are. Formulas and commands among them are not known.
 * @param {Source} source
 */
function readWords(source) {
  expectToken(source, "{");
  let [words, open] = ["", 1];
  for (; source.at < source.tokens.length; source.at += 1) {
    const token = source.tokens[source.at];
    if (token === "{") open += 1;
    if (token === "}") open -= 1;
    if (!open) break;
    if (/^[$%#&]$/.test(token) || (token.startsWith("\\") && !/^\\[{}%$&#_ ]$/.test(token))) throw new Unknown(token);
    if (token !== "{" && token !== "}") words += token === "~" ? "\u00a0" : token.startsWith("\\") ? token[1] : token;
  }
  expectToken(source, "}");
  return words;
}

/**
 * Read words between braces, with the formulas and the other letters that stand among them.
 * @param {Source} source
 * @returns {Tree}
 */
function readText(source) {
  const end = findGroupEnd(source);
  expectToken(source, "{");
  /** @type {Tree[]} */
  const parts = [];
  let [words, letters] = ["", ""];
  const put = () => {
    const starts = ALPHABETS.get(letters) || [];
    if (words) parts.push(["mtext", ...changeLetters(["mn", keepBlanks(words)], letters, starts).slice(1)]);
    words = "";
  };
  while (source.at < end) {
    const token = source.tokens[source.at];
    const isText = WORDS.has(token.slice(1));
    const other = SWITCHES.get(token);
    if (isText || other || token === "$") put();
    source.at += 1;
    if (isText) parts.push(readText(source));
    else if (other) {
      letters = other;
      skipBlanks(source);
    } else if (token === "$") {
      parts.push(...readRow(source, (each) => each === "$", false));
      expectToken(source, "$");
    } else if (/^\\[{}%$&#_ ]$/.test(token)) words += token[1];
    else if (/^[%#&]$|^\\/.test(token)) throw new Unknown(token);
    else if (token !== "{" && token !== "}") words += token === "~" ? "\u00a0" : token;
  }
  put();
  expectToken(source, "}");
  return parts.length === 1 ? parts[0] : ["mrow", ...parts];
}

/** @param {string} words */
function keepBlanks(words) {
  return words.replace(/^ | $/g, "\u00a0");
}

/**
 * Return where the group that comes next ends; -1 if none does.
 * @param {Source} source
 */
function findGroupEnd(source) {
  skipBlanks(source);
  const { tokens, at } = source;
  if (tokens[at] !== "{") return -1;
  for (let [end, open] = [at + 1, 1]; end < tokens.length; end += 1) {
    open += tokens[end] === "{" ? 1 : tokens[end] === "}" ? -1 : 0;
    if (!open) return end;
  }
  return -1;
}

/**
 * @param {Source} source
 * @param {boolean} display
 * @returns {Tree | null}
 */
function readAtom(source, display) {
  const token = source.tokens[source.at];
  source.at += 1;
  if (token === "{") {
    const row = readRow(source, () => false, display);
    expectToken(source, "}");
    return row.length === 1 ? row[0] : ["mrow", ...row];
  }
  if (BLANKS.has(token)) return ["mspace", { width: BLANKS.get(token) || "" }];
  if (NOTHING.has(token)) return null;
  if (/^\d$/.test(token)) {
    let number = token;
    while (/^\d$/.test(source.tokens[source.at] || "") || (source.tokens[source.at] === "." && /^\d$/.test(source.tokens[source.at + 1] || ""))) {
      number += source.tokens[source.at];
      source.at += 1;
    }
    return ["mn", number];
  }
  if (token.startsWith("\\")) return readCommand(source, token.slice(1), display);
  if (token === "&" || token === "#" || token === "$" || token === "%") throw new Unknown(token);
  if (/^\p{L}$/u.test(token)) return ["mi", token];
  return ["mo", token === "-" ? "−" : token === "*" ? "∗" : token, ...(/^[()[\]|/]$/.test(token) ? [{ stretchy: "false" }] : [])];
}

/**
 * @param {Source} source
 * @param {string} name
 * @param {boolean} display
 * @returns {Tree | null}
 */
function readCommand(source, name, display) {
  const take = () => readArgument(source, display);
  if (LETTERS.has(name)) return ["mi", ...(/^[A-Z]/.test(name) ? [UPRIGHT] : []), LETTERS.get(name) || ""];
  if (SIGNS.has(name)) return ["mo", ...("lbrace rbrace langle rangle vert Vert".includes(name) ? [{ stretchy: "false" }] : []), SIGNS.get(name) || ""];
  if (LARGE.has(name)) return ["mo", { largeop: "true", movablelimits: "false" }, LARGE.get(name) || ""];
  if (INTEGRALS.has(name)) return ["mo", { largeop: "true" }, INTEGRALS.get(name) || ""];
  if (FUNCTIONS.has(name) || LIMITS.has(name)) return ["mi", UPRIGHT, name.replace(/^(lim|arg)(?=.)/, "$1 ")];
  if (ALPHABETS.has(name)) return readAlphabet(source, name, display);
  if (WORDS.has(name)) return readText(source);
  if (SIZES.has(name)) return readFence(source, "false");
  if (/^[{}%$&#_|]$/.test(name)) return ["mo", { stretchy: "false" }, name === "|" ? "‖" : name];
  if (name === "frac" || name === "dfrac" || name === "tfrac" || name === "cfrac") return ["mfrac", take(), take()];
  if (name === "binom" || name === "dbinom" || name === "tbinom") return ["mrow", ["mo", "("], ["mfrac", { linethickness: "0" }, take(), take()], ["mo", ")"]];
  if (name === "sqrt") return readRoot(source, display);
  if (ACCENTS.has(name)) return ["mover", { accent: "true" }, take(), ["mo", { stretchy: String(/^(?:wide|over)/.test(name)) }, ACCENTS.get(name) || ""]];
  if (name === "mathop" || name === "mathrel" || name === "mathbin" || name === "mathord") return take();
  if (name === "underline") return ["munder", take(), ["mo", { stretchy: "true" }, "_"]];
  if (name === "overbrace") return ["mover", take(), ["mo", { stretchy: "true" }, "⏞"]];
  if (name === "underbrace") return ["munder", take(), ["mo", { stretchy: "true" }, "⏟"]];
  if (name === "overset" || name === "stackrel") {
    const above = take();
    return ["mover", take(), above];
  }
  if (name === "underset") {
    const below = take();
    return ["munder", take(), below];
  }
  if (name === "phantom") return ["mphantom", take()];
  if (name === "not") return strike(take());
  if (name === "pmod") return ["mrow", ["mo", "("], ["mi", UPRIGHT, "mod"], ["mspace", { width: ".33em" }], take(), ["mo", ")"]];
  if (name === "bmod" || name === "mod") return ["mo", { lspace: ".22em", rspace: ".22em" }, "mod"];
  if (name === "left") return readFenced(source, display);
  if (name === "middle") return readFence(source, "true");
  if (name === "label") {
    readWords(source);
    return null;
  }
  if (name === "tag") return ["mtext", ` (${readWords(source)})`];
  if (name === "begin") return readEnvironment(source, display);
  throw new Unknown(name);
}

/**
 * @param {Tree} tree
 * @returns {Tree}
 */
function strike(tree) {
  const last = tree.at(-1);
  if (typeof last !== "string") throw new Unknown("not");
  return [tree[0], ...tree.slice(1, -1), `${last}\u0338`];
}

/**
 * @param {Source} source
 * @param {string} name
 * @param {boolean} display
 * @returns {Tree}
 */
function readAlphabet(source, name, display) {
  skipBlanks(source);
  const starts = ALPHABETS.get(name) || [];
  if (!starts.length && isPlainGroup(source))
    return ["mi", ...(name === "mathit" || name === "mathnormal" ? [] : [UPRIGHT]), readWords(source).trim()];
  return changeLetters(readArgument(source, display), name, starts);
}

/**
 * Whether a group of letters, digits and a few signs comes next.
 * @param {Source} source
 */
function isPlainGroup(source) {
  const end = findGroupEnd(source);
  return end > 0 && source.tokens.slice(source.at, end).every((token) => /^(?:[\p{L}\d.,*'{}-]|\s+)$/u.test(token));
}

/**
 * @param {Tree} tree
 * @param {string} name
 * @param {number[]} starts
 * @returns {Tree}
 */
function changeLetters(tree, name, starts) {
  const change = (/** @type {string} */ letter) => {
    const other = ELSEWHERE.get(name) || "";
    if (other.includes(letter)) return [...other][[...other].indexOf(letter) + 1];
    const code = letter.charCodeAt(0);
    const [start, first] = /[A-Z]/.test(letter) ? [starts[0], 65] : /[a-z]/.test(letter) ? [starts[1], 97] : /\d/.test(letter) ? [starts[2], 48] : [0, 0];
    return start ? String.fromCodePoint(start + code - first) : letter;
  };
  const look = tree[0] === "mi" && /^(?:mathrm|operatorname)/.test(name) ? [UPRIGHT] : [];
  return /** @type {Tree} */ ([tree[0], ...look, ...tree.slice(1).map((part) =>
    (typeof part === "string" ? (tree[0] === "mi" || tree[0] === "mn" ? [...part].map(change).join("") : part)
      : Array.isArray(part) ? changeLetters(part, name, starts) : part))]);
}

/**
 * @param {Source} source
 * @param {boolean} display
 * @returns {Tree}
 */
function readRoot(source, display) {
  skipBlanks(source);
  if (source.tokens[source.at] !== "[") return ["msqrt", readArgument(source, display)];
  source.at += 1;
  const index = readRow(source, (token) => token === "]", display);
  expectToken(source, "]");
  return ["mroot", readArgument(source, display), ["mrow", ...index]];
}

/**
 * Read a bracket that \left, \right or \big stands before; "." is none.
 * @param {Source} source
 * @param {string} stretchy
 * @returns {Tree}
 */
function readFence(source, stretchy) {
  skipBlanks(source);
  const token = source.tokens[source.at] || "";
  source.at += 1;
  const name = token.slice(1);
  const sign = token.startsWith("\\") ? SIGNS.get(name) || (name === "|" ? "‖" : /^[{}]$/.test(name) ? name : "") : token;
  if (!sign || sign.length > 1) throw new Unknown(token);
  return sign === "." ? ["mrow"] : ["mo", { fence: "true", stretchy }, sign];
}

/**
 * @param {Source} source
 * @param {boolean} display
 * @returns {Tree}
 */
function readFenced(source, display) {
  const open = readFence(source, "true");
  const row = readRow(source, (token) => token === "\\right", display);
  expectToken(source, "\\right");
  return ["mrow", open, ...row, readFence(source, "true")];
}

/**
 * Read what may stand after the \\ that ends a row: a star, and how far below the next row stands.
 * @param {Source} source
 */
function skipRowSpace(source) {
  if (source.tokens[source.at] === "*") source.at += 1;
  const isNear = source.tokens[source.at] === "[";
  skipBlanks(source);
  if (source.tokens[source.at] !== "[") return;
  const end = source.tokens.indexOf("]", source.at);
  const isLength = end > 0 && LENGTH.test(source.tokens.slice(source.at + 1, end).join(""));
  // After a blank, a length is one in some environments and text in others.
  if (isLength !== isNear) throw new Unknown("[");
  if (isLength) source.at = end + 1;
}

/**
 * @param {Source} source
 * @param {boolean} display
 * @returns {Tree}
 */
function readEnvironment(source, display) {
  const name = readWords(source);
  const fences = FENCES.get(name);
  if (fences === undefined) throw new Unknown(name);
  if (source.tokens[source.at] === "[" && OPTIONAL.test(name)) throw new Unknown("[");
  if (name === "array") skipPosition(source);
  const columns = name === "array" || name === "alignedat" ? readWords(source).replace(/[^lcr]/g, "") : "";
  const table = readCells(source, name, display, columns);
  expectToken(source, "\\end");
  if (readWords(source) !== name) throw new Unknown(name);
  const [open, close] = fences;
  const draw = (/** @type {string | undefined} */ sign) => (sign ? [/** @type {Tree} */ (["mo", { fence: "true", stretchy: "true" }, sign])] : []);
  return ["mrow", ...draw(open), table, ...draw(close)];
}

/**
 * Skip how an array stands in its line: [t], [c] or [b].
 * @param {Source} source
 */
function skipPosition(source) {
  skipBlanks(source);
  if (/^\[[tcb]\]$/.test(source.tokens.slice(source.at, source.at + 3).join(""))) source.at += 3;
}

/** @param {string} token */
function isCellEnd(token) {
  return token === "&" || token === "\\\\" || token === "\\end";
}

/**
 * Read rows of cells until the environment or the formula ends; what ends them is not read.
 * @param {Source} source
 * @param {string} name  of the environment, which says how columns stand
 * @param {boolean} display
 * @param {string} columns  how the columns of an array stand: l, c or r for each
 * @returns {Tree}
 */
function readCells(source, name, display, columns = "") {
  /** @type {Tree[]} */
  const rows = [];
  /** @type {Tree[]} */
  let cells = [];
  for (;;) {
    const cell = readRow(source, isCellEnd, display);
    const align = TO_RIGHT_AND_LEFT.test(name) ? (cells.length % 2 ? "left" : "right")
      : name === "cases" || columns[cells.length] === "l" ? "left" : columns[cells.length] === "r" ? "right" : "center";
    cells.push(["mtd", { columnalign: align }, ...cell]);
    const token = source.tokens[source.at];
    if (token === "}") throw new Unknown(name);
    if (token === "&") {
      source.at += 1;
      continue;
    }
    if (cells.length > 1 || cells[0].length > 2 || token === "\\\\") rows.push(["mtr", ...cells]);
    cells = [];
    if (token !== "\\\\") return ["mtable", ...rows];
    source.at += 1;
    skipRowSpace(source);
  }
}
