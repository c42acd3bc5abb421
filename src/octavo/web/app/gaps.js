// @ts-check
/* What readers asked a book and did not get, for its author: the most wanted first, with the nearest sections. */

import { el, fill } from "../shared/dom.js";
import { Problem } from "../shared/sse.js";
import { api } from "./api.js";
import { sectionAddress } from "./contents.js";
import { drawProblem } from "./notices.js";
import { BACK, S } from "./strings.js";

/** @import { Book, Gap, GapReport } from "./api.js" */

const WEEKS = [1, 4, 12, 52];
const KINDS = /** @type {const} */ (["refused", "unsure", "disliked"]);

/** @param {string} book */
export function gapsAddress(book) {
  return `#/books/${encodeURIComponent(book)}/gaps`;
}

export class Gaps {
  #root;
  #weeks = 12;
  #wanted = "";

  /** @param {HTMLElement} root */
  constructor(root) {
    this.#root = root;
  }

  /** @param {Book} book */
  async show(book) {
    this.#wanted = `${book.id} ${this.#weeks}`;
    const wanted = this.#wanted;
    const body = el("div", { "aria-busy": "true" }, el("p", { class: "loading" }, S.loading));
    fill(this.#root, this.#drawHead(book), body);
    /** @type {Node} */
    let shown;
    try {
      shown = drawReport(await api.getGaps(book.id, this.#weeks));
    } catch (error) {
      shown = drawProblem(Problem.wrap(error), () => this.show(book));
    }
    // Another book or another time may have been chosen meanwhile.
    if (this.#wanted !== wanted) return;
    body.removeAttribute("aria-busy");
    fill(body, shown);
  }

  /** @param {Book} book */
  #drawHead(book) {
    const choose = (/** @type {Event} */ event) => {
      this.#weeks = Number(/** @type {HTMLSelectElement} */ (event.target).value);
      this.show(book);
    };
    return el("div", { class: "library-head" },
      el("div", {},
        el("a", { class: "to-books", href: `#/books/${encodeURIComponent(book.id)}` }, `${BACK} `, book.title),
        el("h2", {}, S.gaps.title)),
      el("label", { class: "gaps-weeks" }, S.gaps.since, " ",
        el("select", { class: "field", on: { change: choose } },
          WEEKS.map((weeks) => el("option", { value: weeks, selected: weeks === this.#weeks }, S.gaps.weeks(weeks))))));
  }
}

/** @param {GapReport} report */
function drawReport(report) {
  if (!report.gaps.length)
    return el("div", { class: "empty" }, el("h3", {}, S.gaps.noneTitle), el("p", {}, S.gaps.none));
  const more = report.gap_count - report.gaps.length;
  return el("div", {},
    el("p", { class: "hint" }, S.gaps.summary(report.open_count, report.question_count)),
    el("ol", { class: "gaps" }, report.gaps.map((gap) => drawGap(report.book_id, gap))),
    more > 0 ? el("p", { class: "hint" }, S.gaps.more(more)) : null);
}

/**
 * @param {string} book
 * @param {Gap} gap
 */
function drawGap(book, gap) {
  const others = gap.questions.filter((question) => question !== gap.question);
  const counts = KINDS.filter((kind) => gap[kind]).map((kind) => S.gaps[kind](gap[kind]));
  return el("li", { class: "gap" },
    el("p", { class: "gap-question" }, gap.question),
    el("p", { class: "hint" }, [...counts, S.gaps.last(gap.last_asked.slice(0, 10))].join(" · ")),
    gap.weeks.length > 1 ? el("p", { class: "hint" }, gap.weeks.map(({ week, count }) => S.gaps.inWeek(count, week)).join(", ")) : null,
    others.length ? el("details", {}, el("summary", {}, S.gaps.others(others.length)),
      el("ul", { class: "gap-others" }, others.map((question) => el("li", {}, question)))) : null,
    gap.sections.length ? el("p", { class: "gap-near" }, S.gaps.near, " ",
      gap.sections.map((near, n) => [n ? " · " : "",
        el("a", { href: sectionAddress(book, near.section_id) }, near.heading_path.join(" › "))])) : null);
}
