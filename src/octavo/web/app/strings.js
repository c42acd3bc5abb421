// @ts-check
/* Everything the app says, in one place; what it says as the widget does comes from the shared words. */

import { SURE, TURN_WORDS as T, fillIn } from "../shared/strings.js";

/** @import { Step } from "../shared/turn.js" */

export const S = {
  name: "Octavo",
  panes: { books: "Library", reader: "Read", talk: "Ask" },
  theme: { auto: "Colours: as your system", light: "Colours: light", dark: "Colours: dark" },

  books: "Library",
  contents: "Contents",
  toBooks: "All books",
  add: "Add a book",
  addHint: "EPUB, PDF, Markdown, HTML or plain text. Or drop a file anywhere on this page.",
  drop: "Drop the book here",
  emptyTitle: "No books yet",
  empty: "Add a book to begin: choose a file, or drop one anywhere on this page. It stays on this machine.",
  emptyReadOnly: "There is no book here yet. Whoever runs this library can add one with “octavo add”.",
  countBooks: (/** @type {number} */ count) => (count === 1 ? "1 book" : `${count} books`),
  by: (/** @type {string[]} */ authors) => `by ${authors.join(", ")}`,
  extent: (/** @type {{page_count: number, section_count: number}} */ book) =>
    (book.page_count ? `${book.page_count} pages` : `${book.section_count} sections`),
  remove: "Remove",
  removeOne: (/** @type {string} */ title) => `Remove ${title}`,
  removeTitle: (/** @type {string} */ title) => `Remove “${title}”?`,
  removeText: "The book is removed from this library with everything stored about it. Your own file stays where it is.",
  removed: (/** @type {string} */ title) => `“${title}” has been removed.`,
  added: (/** @type {string} */ title) => `“${title}” has been added.`,
  keep: "Keep it",
  cancel: "Cancel",
  close: "Close",
  retry: T.retry,
  loading: "Loading …",
  sending: (/** @type {number} */ percent) => `Sending … ${percent}%`,
  tooLarge: (/** @type {string} */ name, /** @type {number} */ most) =>
    `“${name}” is larger than ${most} MB, the most that this library accepts.`,
  steps: /** @type {Record<string, string>} */ ({
    queued: "Waiting …", running: "Reading …", parsed: "Reading …", parsing: "Reading …", reading: "Reading …",
    compared: "Comparing with the stored edition …", embedding: "Indexing …", storing: "Saving …",
    published: "Done.", done: "Done.", failed: "This book could not be added.", cancelled: "Cancelled.",
  }),
  of: (/** @type {number} */ done, /** @type {number} */ total) => `${done} of ${total}`,

  turnPages: "Previous and next",
  code: "Code",
  table: "Table",
  previous: "Previous",
  next: "Next",
  page: (/** @type {string | number} */ n) => fillIn(T.page, { n }),
  pageMark: (/** @type {string} */ label) => `Page ${label}`,
  emptySection: "There is no text directly under this heading.",
  asOnline: "On the web",
  askAbout: T.askAbout,
  tooLong: (/** @type {number} */ length) => `${length} characters are selected; a question can be about 500 at most.`,
  passageGone: "The cited words are no longer in this edition.",
  backToAnswer: "← Back to the answer",

  gaps: {
    link: "What readers missed",
    title: "What readers missed",
    since: "Look back",
    weeks: (/** @type {number} */ n) => (n === 1 ? "this week" : n === 52 ? "a year" : `${n} weeks`),
    noneTitle: "Nothing is missing",
    none: "Every question in this time got an answer that nobody disliked, or none was asked.",
    summary: (/** @type {number} */ open, /** @type {number} */ all) =>
      `${open} of ${all} questions got no good answer. They are grouped by what they ask for, the most wanted first.`,
    refused: (/** @type {number} */ n) => `${n} refused`,
    unsure: (/** @type {number} */ n) => `${n} answered with little confidence`,
    disliked: (/** @type {number} */ n) => `${n} rated down`,
    last: (/** @type {string} */ day) => `last on ${day}`,
    inWeek: (/** @type {number} */ n, /** @type {string} */ week) => `${n} in the week of ${week}`,
    others: (/** @type {number} */ n) => (n === 1 ? "another question" : `${n} other questions`),
    near: "Nearest:",
    more: (/** @type {number} */ n) => `And ${n} more; “octavo gaps --top” lists them.`,
  },

  map: {
    title: "Who is this, so far?",
    name: "Name or term",
    find: "Find",
    upToHere: "only up to here",
    none: "The book has not named this up to here.",
    nobody: "Nobody has been named up to here.",
    all: "← All names",
    kinds: { person: "People", place: "Places", thing: "Things", term: "Terms" },
    also: (/** @type {string[]} */ names) => `also ${names.join(", ")}`,
    mentions: (/** @type {number} */ n) => (n === 1 ? "1 mention" : `${n} mentions`),
  },

  talk: "Conversation",
  said: "Questions and answers",
  fresh: "New conversation",
  exportTalk: "Export",
  exportTitle: "Export this conversation",
  exportText: "All questions and answers, with their sources.",
  exportName: "octavo-conversation",
  welcome: "Ask a question. Every sentence of the answer links to the passage it comes from. "
    + "If the book does not answer the question, you are told so.",
  question: T.question,
  placeholder: "Ask the book …",
  placeholders: /** @type {Record<string, string>} */ ({ all: "Ask your books …", selection: "Ask about your selection …" }),
  ask: "Ask",
  stop: T.stop,
  stopped: T.stopped,
  again: "Ask again",
  you: "You asked",
  scopeLabel: "Look in",
  scopes: {
    all: "all books",
    book: (/** @type {string} */ title) => `this book: ${title}`,
    wholeBook: "the whole book",
    section: (/** @type {string} */ title) => `this section: ${title}`,
    page: (/** @type {string} */ label) => `this page: ${label}`,
    selection: "your selection",
    upTo: (/** @type {string} */ where) => `only up to here: ${where}`,
    bare: {
      all: "all books", book: "this book", section: "this section", page: "this page", selection: "your selection",
      upTo: "only up to here",
    },
    noBook: "open a book first",
    noPages: "this book has no pages",
    noSelection: "select text first",
  },
  dropSelection: "Clear the selection",

  interpreted: "Understood as:",
  confidence: (/** @type {keyof typeof SURE} */ grade) => T[SURE[grade]],
  confidenceHint: (/** @type {number} */ share) => {
    const n = Math.round(share * 100);
    return `${fillIn(T.sureNumber, { n })}: about ${n} of 100 answers with this figure are right.`;
  },
  begun: "Sending the question …",
  details: "How sure, and how it was made",
  answeredBy: (/** @type {string} */ who) => (who === "offline" ? "quoted from the book, no language model" : who),
  seconds: (/** @type {number} */ ms) => (ms < 950 ? `${ms} ms` : `${(ms / 1000).toFixed(1)} s`),
  citation: (/** @type {number} */ n, /** @type {string} */ place) => fillIn(T.citation, { n, place }),
  sources: (/** @type {number} */ count) => (count === 1 ? "1 source" : `${count} sources`),
  dropped: (/** @type {number} */ n) => (n === 1 ? T.droppedOne : fillIn(T.droppedMany, { n })),
  copy: "Copy",
  copied: "Copied with its sources.",
  share: "Share",
  shared: "The link to this answer has been copied.",
  shareTitle: "A link to this answer",
  sharedAnswer: "A shared answer",
  backToTalk: "Back to your conversation",
  votes: { up: T.good, down: T.bad },
  why: { up: "What was good?", down: T.why },
  /* The reasons are stored as they stand here. */
  reasons: {
    up: ["It answers my question", "The sources fit", "Clear and short"],
    down: ["Not what I asked", "It is wrong", "The source does not say this", "Something is missing", "It should have answered"],
  },
  comment: T.comment,
  send: T.sendFeedback,
  thanks: T.thanks,

  refused: T.refused,
  refusals: /** @type {Record<string, string>} */ ({
    not_in_book: T.refused,
    not_in_scope: "Not here, but elsewhere",
    below_confidence: T.refusedUnsure,
    empty_library: T.refusedEmpty,
  }),
  nearest: T.nearest,
  widen: T.widen,
  widenAll: "Search all books",

  keyTitle: "This library needs a key",
  keyText: "Paste the key you were given. It is kept until you close this tab and sent only to this server.",
  keyWrong: "That key was not accepted.",
  key: "Key",
  keyOpen: "Open the library",
  forgetKey: "Forget the key",
  noSuchBook: (/** @type {string} */ id) => `There is no book “${id}” in this library.`,
  noSuchBookHint: "It may have been removed, or the link is from another library.",
  problem: "Something went wrong",
};

/**
 * Say what is being done for a question.
 * @param {Step} step
 */
export function describeStep({ kind, name, detail, count }) {
  switch (kind) {
    case "asked": return `${T.stepAsked} …`;
    case "scoped": return `${fillIn(T.stepScoped, { detail })} …`;
    case "retrieved": return `${fillIn(T.stepRetrieved, { n: count })} …`;
    case "searching": return detail ? `${fillIn(T.stepSearching, { detail })} …` : "Searching …";
    case "reading": return detail ? `${fillIn(T.stepReading, { detail })} …` : "Reading …";
    case "writing": return `${T.stepWriting} …`;
    case "checking": return `${T.stepChecking} …`;
    default: return detail ? `${name}: ${detail} …` : `${name} …`;
  }
}
