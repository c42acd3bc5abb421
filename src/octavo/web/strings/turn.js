// @ts-check
/* What the app says in the words of the widget, in every language but English. */

import { SURE, fillIn } from "../shared/strings.js";

/** @param {Record<string, string>} T the widget's words in a language */
export function takeTurnWords(T) {
  return {
    turn: T,
    retry: T.retry,
    page: (/** @type {string | number} */ n) => fillIn(T.page, { n }),
    askAbout: T.askAbout,
    question: T.question,
    stop: T.stop,
    stopped: T.stopped,
    translated: T.translated,
    translatedHint: T.translatedHint,
    confidence: (/** @type {keyof typeof SURE} */ grade) => T[SURE[grade]],
    citation: (/** @type {number} */ n, /** @type {string} */ place) => fillIn(T.citation, { n, place }),
    dropped: (/** @type {number} */ n) => (n === 1 ? T.droppedOne : fillIn(T.droppedMany, { n })),
    votes: { up: T.good, down: T.bad },
    comment: T.comment,
    send: T.sendFeedback,
    thanks: T.thanks,
    refused: T.refused,
    nearest: T.nearest,
    widen: T.widen,
  };
}
