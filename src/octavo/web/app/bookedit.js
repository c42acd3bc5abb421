// @ts-check
/* The dialog that changes a book on the shelf: its title, its web address and its cover. */

import { el, fill } from "../shared/dom.js";
import { Problem } from "../shared/sse.js";
import { api } from "./api.js";
import { drawProblem } from "./notices.js";
import { S } from "./strings.js";

/** @import { Book } from "./api.js" */

/** Covers are shown small: larger pictures are made smaller before they are sent. */
const [WIDEST, HIGHEST] = [600, 900];

/**
 * Let the reader change a book. Resolves to the book as it is then, or to null.
 * @param {Book} book
 * @returns {Promise<Book | null>}
 */
export function editBook(book) {
  return new Promise((resolve) => {
    /** @type {Book | null} */
    let saved = null;
    const words = S.editBook;
    const title = el("input", { class: "field", id: "edit-title", required: true, maxlength: "300", value: book.title, dir: "auto" });
    const address = el("input", { class: "field", id: "edit-address", type: "url", maxlength: "2000", value: book.base_url || "", placeholder: "https://", dir: "ltr" });
    const cover = el("input", { class: "field", id: "edit-cover", type: "file", accept: "image/png,image/jpeg,image/gif,image/webp" });
    const uncover = el("input", { type: "checkbox", id: "edit-uncover" });
    const problem = el("div", {});
    const save = el("button", { type: "submit", class: "button strong" }, S.save);
    const submit = async (/** @type {Event} */ event) => {
      event.preventDefault();
      fill(problem);
      save.disabled = true;
      try {
        const chosen = cover.files?.[0];
        const picture = chosen ? await shrink(chosen) : uncover.checked ? "" : undefined;
        saved = await api.changeBook(book.id, {
          ...(title.value !== book.title ? { title: title.value } : {}),
          ...(address.value !== (book.base_url || "") ? { base_url: address.value } : {}),
          ...(picture === undefined ? {} : { cover: picture }),
        });
        dialog.close();
      } catch (error) {
        fill(problem, drawProblem(Problem.wrap(error)));
      } finally {
        save.disabled = false;
      }
    };
    /** @type {HTMLDialogElement} */
    const dialog = el("dialog", { class: "dialog edit-book", "aria-labelledby": "dialog-title" },
      el("h2", { id: "dialog-title" }, words.title(book.title)),
      el("form", { on: { submit } },
        el("label", { for: "edit-title" }, words.name), title,
        el("label", { for: "edit-address" }, words.address), address, el("p", { class: "hint" }, words.addressHint),
        el("label", { for: "edit-cover" }, words.cover), cover,
        book.cover ? el("label", { class: "check" }, uncover, " ", words.uncover) : null,
        problem,
        el("div", { class: "row end" },
          el("button", { type: "button", class: "button", on: { click: () => dialog.close() } }, S.keep), save)));
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(saved);
    });
    document.body.append(dialog);
    dialog.showModal();
    title.select();
  });
}

/**
 * Return a picture in base64, as small as a cover is shown.
 * @param {File} file
 */
async function shrink(file) {
  const bitmap = await createImageBitmap(file).catch(() => { throw new Problem(0, "no_picture", S.editBook.noPicture); });
  const scale = Math.min(1, WIDEST / bitmap.width, HIGHEST / bitmap.height);
  const canvas = document.createElement("canvas");
  canvas.width = Math.max(1, Math.round(bitmap.width * scale));
  canvas.height = Math.max(1, Math.round(bitmap.height * scale));
  const brush = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  /* A JPEG has no transparency. */
  brush.fillStyle = "#fff";
  brush.fillRect(0, 0, canvas.width, canvas.height);
  brush.drawImage(bitmap, 0, 0, canvas.width, canvas.height);
  return canvas.toDataURL("image/jpeg", 0.85).split(",")[1];
}
