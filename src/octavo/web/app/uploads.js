// @ts-check
/* Books on their way in: files are sent, jobs read them, and each step is shown as it happens.

   All files are sent at once, a few at a time, and the server queues them: the page may then be left. One request in a
   while asks how all jobs stand. */

import { el, fill } from "../shared/dom.js";
import { Problem } from "../shared/sse.js";
import { api } from "./api.js";
import { drawProblem, showToast } from "./notices.js";
import { S } from "./strings.js";
import { chooseBookFiles, isFolder, readFolder, zipFolder } from "./zip.js";

/** @import { Job } from "./api.js" */
/** @import { FolderFile } from "./zip.js" */
/** @typedef {{root: HTMLElement, bar: HTMLProgressElement, step: HTMLElement, tools: HTMLElement}} Row */

const OVER = new Set(["done", "failed", "cancelled"]);
const POLL_MS = 700;
/** How many files are sent at the same time; the server accepts a few from each reader. */
const AT_ONCE = 3;
/** Sending the file is this share of the bar; reading it is the rest. */
const SENDING_PERCENT = 20;
const wait = (/** @type {number} */ ms) => new Promise((resolve) => setTimeout(resolve, ms));

export class Uploads {
  #root;
  #onAdded;
  #mostMb;
  /** @type {(() => Promise<void>)[]} */
  #waiting = [];
  #sending = 0;
  /** @type {Map<string, Row>} */
  #watched = new Map();
  #isPolling = false;

  /**
   * @param {HTMLElement} root
   * @param {{onAdded: (job: Job) => unknown, mostMb: () => number}} given
   */
  constructor(root, { onAdded, mostMb }) {
    this.#root = root;
    this.#onAdded = onAdded;
    this.#mostMb = mostMb;
    /* What is queued on the server goes on by itself; what is still being sent would be lost. */
    addEventListener("beforeunload", (event) => {
      if (this.#sending) event.preventDefault();
    });
  }

  /** @param {Iterable<File>} files */
  send(files) {
    for (const file of [...files]) this.#queue(file, this.#addRow(file.name));
  }

  /**
   * Send a folder as one book.
   * @param {string} name
   * @param {readonly FolderFile[]} files
   */
  async sendFolder(name, files) {
    const row = this.#addRow(name);
    const chosen = chooseBookFiles(files);
    if (!chosen.length) return this.#showFailed(row, { message: S.emptyFolder(name), hint: S.emptyFolderHint });
    fill(row.step, S.packing(chosen.length));
    try {
      return this.#queue(await zipFolder(chosen, name), row);
    } catch (error) {
      return this.#showFailed(row, { message: S.unreadableFolder(name), hint: String(error) });
    }
  }

  /** Show the jobs that were under way before this page was opened. */
  async resume() {
    const jobs = await api.listJobs().catch(() => []);
    for (const job of jobs) if (!OVER.has(job.state) && !this.#watched.has(job.job_id)) this.#watch(job, this.#addRow(job.name));
  }

  /**
   * @param {string} name
   * @returns {Row}
   */
  #addRow(name) {
    const bar = el("progress", { max: "100", "aria-label": name });
    const step = el("span", { class: "job-step" }, S.steps.queued);
    const tools = el("span", { class: "job-tools" });
    const root = el("li", { class: "job" }, el("span", { class: "job-name" }, name), step, bar, tools);
    this.#root.append(root);
    return { root, bar, step, tools };
  }

  /**
   * Send a file when its turn comes. Until it is sent, it can be taken back.
   * @param {File} file
   * @param {Row} row
   */
  #queue(file, row) {
    const stopping = new AbortController();
    this.#drawCancel(row, () => {
      stopping.abort();
      row.root.remove();
    });
    this.#waiting.push(() => (stopping.signal.aborted ? Promise.resolve() : this.#sendFile(file, row, stopping.signal)));
    this.#sendNext();
  }

  async #sendNext() {
    if (this.#sending >= AT_ONCE) return;
    const next = this.#waiting.shift();
    if (!next) return;
    this.#sending += 1;
    try {
      await next();
    } finally {
      this.#sending -= 1;
      this.#sendNext();
    }
  }

  /**
   * @param {Row} row
   * @param {() => unknown} cancel
   */
  #drawCancel(row, cancel) {
    fill(row.tools, el("button", { type: "button", class: "link", on: { click: cancel } }, S.cancel));
  }

  /**
   * @param {File} file
   * @param {Row} row
   * @param {AbortSignal} signal
   */
  async #sendFile(file, row, signal) {
    try {
      if (file.size > this.#mostMb() * 1024 * 1024) throw new Problem(413, "too_large", S.tooLarge(file.name, this.#mostMb()));
      const job = await api.upload(file, (share) => {
        row.bar.value = share * SENDING_PERCENT;
        fill(row.step, S.sending(Math.round(share * 100)));
      }, signal);
      this.#watch(job, row);
    } catch (error) {
      if (signal.aborted) return;
      this.#showFailed(row, Problem.wrap(error), () => {
        row.root.remove();
        this.#queue(file, this.#addRow(file.name));
      });
    }
  }

  /**
   * @param {Job} job
   * @param {Row} row
   */
  #watch(job, row) {
    this.#watched.set(job.job_id, row);
    row.root.dataset.job = job.job_id;
    this.#drawCancel(row, () => api.cancelJob(job.job_id).catch((error) => showToast(Problem.wrap(error).message)));
    this.#showProgress(row, job);
    if (!this.#isPolling) this.#poll();
  }

  /* Asks for all jobs together, until none of those that are shown is under way. */
  async #poll() {
    this.#isPolling = true;
    while (this.#watched.size) {
      await wait(POLL_MS);
      const jobs = await api.listJobs().catch(() => []);
      for (const [id, row] of [...this.#watched]) {
        const job = jobs.find((other) => other.job_id === id) || await api.getJob(id).catch(() => null);
        if (!job) continue;
        this.#showProgress(row, job);
        if (!OVER.has(job.state)) continue;
        this.#watched.delete(id);
        this.#finish(row, job);
      }
    }
    this.#isPolling = false;
  }

  /**
   * @param {Row} row
   * @param {Job} job
   */
  #showProgress(row, job) {
    const { step = job.state, done = 0, total = 0 } = job.progress || {};
    const words = S.steps[step] || S.steps[job.state] || step;
    fill(row.step, words, total ? ` ${S.of(done, total)}` : "");
    if (total) row.bar.value = SENDING_PERCENT + ((100 - SENDING_PERCENT) * done) / total;
    else if (job.state === "running") row.bar.removeAttribute("value");
  }

  /**
   * @param {Row} row
   * @param {Job} job
   */
  #finish(row, job) {
    if (job.state === "failed") {
      const { detail = "", message = "", hint = "" } = typeof job.error === "object" ? job.error || {} : { message: job.error };
      this.#showFailed(row, { message: detail || message || S.steps.failed, hint });
      return;
    }
    row.root.remove();
    if (job.state === "done") this.#onAdded(job);
    else showToast(S.steps.cancelled);
  }

  /**
   * @param {Row} row
   * @param {{message: string, hint: string}} problem
   * @param {(() => void) | null} retry
   */
  #showFailed(row, problem, retry = null) {
    row.bar.remove();
    fill(row.step);
    fill(row.tools, drawProblem(problem, retry),
      el("button", { type: "button", class: "link", on: { click: () => row.root.remove() } }, S.close));
  }
}

/**
 * Take files and folders that are dropped anywhere on the page.
 * @param {() => boolean} isAllowed
 * @param {{files: (files: Iterable<File>) => void, folder: (name: string, files: FolderFile[]) => void}} take
 */
export function acceptDrops(isAllowed, take) {
  const veil = el("div", { class: "veil", hidden: true }, el("p", {}, S.drop));
  document.body.append(veil);
  const hasFiles = (/** @type {DragEvent} */ event) => isAllowed() && (event.dataTransfer?.types || []).includes("Files");
  let depth = 0;
  const show = (/** @type {boolean} */ on) => {
    veil.hidden = !on;
    if (!on) depth = 0;
  };
  addEventListener("dragenter", (event) => {
    if (!hasFiles(event)) return;
    depth += 1;
    show(true);
  });
  addEventListener("dragleave", () => {
    depth -= 1;
    if (depth <= 0) show(false);
  });
  addEventListener("dragover", (event) => hasFiles(event) && event.preventDefault());
  addEventListener("drop", (event) => {
    if (!hasFiles(event) || !event.dataTransfer) return;
    event.preventDefault();
    show(false);
    const dropped = [...event.dataTransfer.items].map((item) => ({ entry: item.webkitGetAsEntry?.(), file: item.getAsFile() }));
    const files = dropped.filter(({ entry }) => !entry || !isFolder(entry)).map(({ file }) => file);
    take.files(files.filter((file) => file !== null));
    for (const { entry } of dropped) if (entry && isFolder(entry)) readFolder(entry).then((found) => take.folder(entry.name, found));
  });
}
