/* Citations, and offsets into a book's text.

   Octavo counts characters (code points), JavaScript counts UTF-16 units: every offset from the server passes through
   `units` before it touches a string, and every offset from the page through `points` on its way back. */

/* The claims of an answer: its text cut where its footnotes stand. Only numbers that are cited count as footnotes. */
export function claims(answer, citations) {
  const known = new Set(citations.map((c) => c.number));
  const made = [];
  const notes = /[ \t]?((?:\[\d+\])+)/g;
  let from = 0;
  for (const found of answer.matchAll(notes)) {
    const numbers = [...found[1].matchAll(/\d+/g)].map((digits) => Number(digits[0]));
    if (!numbers.every((number) => known.has(number))) continue;
    made.push({ text: answer.slice(from, found.index), citations: numbers, marks: [] });
    from = found.index + found[0].length;
  }
  if (answer.slice(from).trim()) made.push({ text: answer.slice(from), citations: [], marks: [] });
  return made;
}

/* A text in stretches, those within `marks` (pairs of code point offsets) marked. */
export function stretches(text, marks) {
  const made = [];
  let from = 0;
  for (const [start, end] of [...(marks || [])].sort((a, b) => a[0] - b[0])) {
    const [first, last] = [Math.max(units(text, start), from), units(text, end)];
    if (!(last > first)) continue;
    if (first > from) made.push({ text: text.slice(from, first), marked: false });
    made.push({ text: text.slice(first, last), marked: true });
    from = last;
  }
  if (from < text.length) made.push({ text: text.slice(from), marked: false });
  return made;
}

/* Both ways between code points and UTF-16 units, for a text that is measured often. */
export function ruler(text) {
  const wide = [];
  if (/[\ud800-\udbff][\udc00-\udfff]/.test(text))
    for (let at = 0, point = 0; at < text.length; point += 1)
      if (text.codePointAt(at) > 0xffff) { wide.push(point); at += 2; } else at += 1;
  const clamp = (value) => Math.max(0, Math.min(text.length, value));
  return {
    units: (point) => clamp(point + wide.filter((other) => other < point).length),
    points: (at) => clamp(at) - wide.filter((other, before) => other + before + 1 < at).length,
  };
}

export const units = (text, offset) => ruler(text).units(offset);
export const points = (text, at) => ruler(text).points(at);
export const characters = (text) => ruler(text).points(text.length);

/* A quotation on one line, at most `most` characters, cut at a word. */
export function shortened(text, most = 220) {
  const line = String(text).replace(/\s+/g, " ").trim();
  if (line.length <= most) return line;
  const cut = line.slice(0, most);
  return `${cut.slice(0, Math.max(cut.lastIndexOf(" "), most - 30))} …`;
}

/* Where a citation stands, for people: section and page. */
export function place(cited, words) {
  const page = cited.page ?? cited.page_label ?? cited.page_number;
  const parts = [cited.section || cited.title];
  if (page !== null && page !== undefined && page !== "") parts.push(words.page(page));
  return parts.filter(Boolean).join(", ");
}

/* How sure an answer is: "very sure" from 0.9, "fairly sure" from 0.7, "not quite sure" from 0.4, else "a guess". */
export function sureness(confidence) {
  const steps = [[0.9, "very"], [0.7, "fairly"], [0.4, "partly"]];
  return (steps.find(([least]) => confidence >= least) || [0, "hardly"])[1];
}
