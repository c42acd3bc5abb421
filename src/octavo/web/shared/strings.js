// @ts-check
/* The words that the app and the widget say alike, about one turn of a conversation. `{n}` and the like are filled in.

   The keys are those that a site may replace in the widget; docs/widget.md lists them. */

export const TURN_WORDS = {
  question: "Your question",
  stop: "Stop",
  stopped: "Stopped.",
  retry: "Try again",
  askAbout: "Ask about this",
  stepAsked: "Reading the question",
  stepScoped: "Looking in {detail}",
  stepRetrieved: "Passages found: {n}",
  stepSearching: "Searching for “{detail}”",
  stepReading: "Reading “{detail}”",
  stepWriting: "Writing the answer",
  stepChecking: "Checking every sentence",
  page: "p. {n}",
  citation: "Source {n}: {place}",
  sureVery: "Very confident",
  sureFairly: "Fairly confident",
  surePartly: "Not very confident",
  sureHardly: "A guess: check the sources",
  sureNumber: "{n}% confident",
  droppedOne: "One sentence was left out because the book does not support it",
  droppedMany: "{n} sentences were left out because the book does not support them",
  refused: "The book does not say",
  refusedUnsure: "Not sure enough to answer",
  refusedEmpty: "No books yet",
  nearest: "Closest sections",
  widen: "Search the whole book",
  good: "This helped",
  bad: "This did not help",
  why: "What was wrong?",
  comment: "Anything else? (optional)",
  sendFeedback: "Send",
  thanks: "Thank you.",
};

/** The key of the word for each grade of confidence. */
export const SURE = /** @type {const} */ ({ very: "sureVery", fairly: "sureFairly", partly: "surePartly", hardly: "sureHardly" });

/**
 * Put values into a text: `{n}` becomes `values.n`.
 * @param {string} text
 * @param {Record<string, unknown>} values
 */
export function fillIn(text, values) {
  return text.replace(/\{(\w+)\}/g, (whole, name) => (name in values ? String(values[name]) : whole));
}
