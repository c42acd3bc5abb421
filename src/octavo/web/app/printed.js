// @ts-check
/* The pages of a PDF as they are printed, with boxes around the cited words.

   A page is drawn by the server when it comes near the window, as wide as it is shown, and again when it is shown
   larger. Until then it takes its room: pages whose size is not known are taken to be like the first. */

import { el, fill, setAttributes } from "../shared/dom.js";
import { api } from "./api.js";
import { S } from "./strings.js";

/** @import { Book, PageStart, PrintedPage, SectionBody } from "./api.js" */
/** @typedef {{page: PageStart, section: SectionBody, node: HTMLElement, image: HTMLImageElement, width: number, isNear: boolean}} Sheet */

const STEP = 400;
const WIDEST = 2_400;
/** How far outside of the window a page is drawn. */
const NEAR = "600px 0px";

export class PrintedPages {
  #book;
  /** @type {Sheet[]} */
  #sheets = [];
  #near;
  #sized;
  root = el("div", { class: "printed" });

  /**
   * @param {HTMLElement} pane  what scrolls
   * @param {Book} book
   * @param {SectionBody[]} sections
   * @param {PrintedPage[]} known  the sizes and boxes of some of the pages
   * @param {string} words  what is boxed
   */
  constructor(pane, book, sections, known, words) {
    this.#book = book;
    for (const section of sections)
      for (const page of section.pages)
        if (this.#sheets.at(-1)?.page.number !== page.number) this.#sheets.push(this.#makeSheet(section, page));
    for (const sheet of this.#sheets) {
      const { width, height, boxes } = known.find(({ number }) => number === sheet.page.number) || { ...known[0], boxes: [] };
      sheet.node.style.aspectRatio = `${width} / ${height}`;
      for (const box of boxes) sheet.node.append(drawBox(box));
    }
    if (this.boxes[0]) fill(this.boxes[0], el("span", { class: "unheard" }, words));
    this.#near = new IntersectionObserver((entries) => {
      for (const { target, isIntersecting } of entries) {
        const sheet = this.#sheets.find(({ node }) => node === target);
        if (!sheet) continue;
        sheet.isNear = isIntersecting;
        this.#drawIfNear(sheet);
      }
    }, { root: pane, rootMargin: NEAR });
    this.#sized = new ResizeObserver(() => this.#sheets.forEach((sheet) => this.#drawIfNear(sheet)));
    for (const { node } of this.#sheets) this.#near.observe(node);
    this.#sized.observe(this.root);
    fill(this.root, this.#sheets.map(({ node }) => node));
  }

  /** @returns {HTMLElement[]} */
  get boxes() {
    return this.#sheets.flatMap(({ node }) => [...node.querySelectorAll("mark")]);
  }

  /** Stop drawing. */
  close() {
    this.#near.disconnect();
    this.#sized.disconnect();
  }

  /**
   * @param {SectionBody} section
   * @param {PageStart} page
   * @returns {Sheet}
   */
  #makeSheet(section, page) {
    const label = page.label || String(page.number);
    const image = el("img", { class: "sheet-image", alt: S.printedPage(label) });
    const node = el("figure", { class: "sheet", "data-page": label }, image, el("figcaption", { class: "sheet-label" }, label));
    return { page, section, node, image, width: 0, isNear: false };
  }

  /** @param {Sheet} sheet */
  async #drawIfNear(sheet) {
    const shown = sheet.node.clientWidth * devicePixelRatio;
    const wanted = Math.min(WIDEST, Math.ceil(shown / STEP) * STEP);
    if (!sheet.isNear || !shown || sheet.width >= wanted) return;
    sheet.width = wanted;
    const drawn = await api.getPage(this.#book.id, sheet.page.number, wanted);
    if (sheet.width !== wanted) return;
    if (drawn) setAttributes(sheet.image, { src: drawn });
    else if (!sheet.image.src) sheet.image.replaceWith(el("p", { class: "hint" }, S.pageNotDrawn));
  }

  /**
   * Find the last page that begins above a line of the window.
   * @param {number} line
   */
  findAt(line) {
    return this.#sheets.findLast(({ node }) => node.getBoundingClientRect().top <= line) || this.#sheets[0];
  }

  /**
   * Find the page that a character of a section is on.
   * @param {string} section
   * @param {number} offset
   */
  findPage(section, offset) {
    const pages = this.#sheets.filter((sheet) => sheet.section.id === section);
    return pages.findLast(({ page }) => page.offset <= offset) || pages[0];
  }
}

/** @param {{left: number, top: number, right: number, bottom: number}} box */
function drawBox({ left, top, right, bottom }) {
  const made = el("mark", { class: "page-box" });
  const toPercent = (/** @type {number} */ share) => `${100 * share}%`;
  made.style.left = toPercent(left);
  made.style.top = toPercent(top);
  made.style.width = toPercent(right - left);
  made.style.height = toPercent(bottom - top);
  return made;
}
