/* Every word that the widget says. A site replaces any of them with `window.OctavoStrings` or `data-strings`, either
   flat, `{"title": "Frag das Buch"}`, or by language, `{"de": {"title": "Frag das Buch"}}`. `{n}` and the like are
   filled in. docs/widget.md lists the keys. */

export const ENGLISH = {
  title: "Ask this book",
  button: "Ask",
  openHint: "Ask this book ({keys})",
  close: "Close",
  again: "New conversation",
  resize: "Width of the panel",
  welcome: "Ask a question. The answer comes from this book, with the very words it rests on.",
  welcomeSelect: "Or select a passage in the page and ask about that.",
  welcomeKeys: "{keys} opens and closes this.",
  placeholder: "What would you like to know?",
  question: "Your question",
  send: "Ask",
  stop: "Stop",
  askAbout: "Ask about this",
  about: "About the passage",
  aboutCut: "About the first {n} characters of the passage",
  dropSelection: "Ask about the whole book instead",
  stepAsked: "Reading the question",
  stepScoped: "Looking in {detail}",
  stepRetrieved: "{n} passages found",
  stepSearching: "Searching “{detail}”",
  stepReading: "Reading “{detail}”",
  stepWriting: "Writing the answer",
  stepChecking: "Checking every sentence",
  stopped: "Stopped.",
  interpreted: "Understood as: {detail}",
  page: "p. {n}",
  sources: "Where it says so",
  citation: "Passage {n}: {place}",
  goThere: "Show in the book",
  newTab: "opens in a new tab",
  notHere: "This passage is not on a page of this site.",
  shown: "Passage shown in the page.",
  sureVery: "Very sure",
  sureFairly: "Fairly sure",
  surePartly: "Not quite sure",
  sureHardly: "A guess: look at the passage",
  sureNumber: "{n} % likely to be right",
  droppedOne: "One sentence was left out because the book does not support it",
  droppedMany: "{n} sentences were left out because the book does not support them",
  refused: "The book doesn’t say",
  refusedWhy: "Nothing in it answers this.",
  refusedScope: "Not in this passage",
  refusedScopeWhy: "The passage does not answer this, but the book does.",
  refusedUnsure: "Not sure enough to say",
  refusedUnsureWhy: "Something in the book touches on this, but does not surely answer it.",
  refusedEmpty: "No book here yet",
  refusedEmptyWhy: "Once a book has been added, it can be asked.",
  nearest: "What comes nearest",
  widen: "Ask the whole book",
  copy: "Copy with sources",
  copied: "Copied",
  good: "This helped",
  bad: "Something is wrong",
  thanks: "Thank you.",
  why: "What was wrong?",
  reasonWrong: "Not true",
  reasonMissing: "Something is missing",
  reasonPassage: "Wrong passage",
  reasonUnclear: "Hard to follow",
  comment: "In your words (optional)",
  sendFeedback: "Send",
  notSent: "That could not be sent.",
  failed: "That did not work.",
  failedKey: "This page may not ask the book: its key is not accepted.",
  failedBusy: "Many are asking just now. Try again in {n} seconds.",
  failedOffline: "The book cannot be reached just now.",
  retry: "Try again",
};

/* The words for a page in `lang`: the site's own where it gives them, English for the rest. */
export function wordsFor(given, lang) {
  const site = given && typeof given === "object" ? given : {};
  const language = String(lang || "").toLowerCase();
  const byLanguage = [language.split("-")[0], language].map((name) => site[name]);
  const own = [site, ...byLanguage].filter((words) => words && typeof words === "object");
  const words = { ...ENGLISH };
  for (const key of Object.keys(ENGLISH))
    for (const set of own) if (typeof set[key] === "string") words[key] = set[key];
  return (key, values = {}) =>
    words[key].replace(/\{(\w+)\}/g, (whole, name) => (name in values ? String(values[name]) : whole));
}
