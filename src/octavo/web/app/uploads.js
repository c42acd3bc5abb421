// @ts-check
/* Books on their way in: a file is sent, a job reads it, and each step is shown as it happens. */

import { el, fill } from "../shared/dom.js";
import { Problem } from "../shared/sse.js";
import { api } from "./api.js";
import { drawProblem, showToast } from "./notices.js";
import { S } from "./strings.js";

/** @import { Job } from "./api.js" */
/** @typedef {{root: HTMLElement, bar: HTMLProgressElement, step: HTMLElement, tools: HTMLElement}} Row */

const OVER = new Set(["done", "failed", "cancelled"]);
const POLL_MS = 700;
/** Sending the file is this share of the bar; reading it is the rest. */
const SENDING_PERCENT = 20;
const wait = (/** @type {number} */ ms) => new Promise((resolve) => setTimeout(resolve, ms));

export class Uploads {
  #root;
  #onAdded;
  #mostMb;

  /**
   * @param {HTMLElement} root
   * @param {{onAdded: (job: Job) => unknown, mostMb: () => number}} given
   */
  constructor(root, { onAdded, mostMb }) {
    this.#root = root;
    this.#onAdded = onAdded;
    this.#mostMb = mostMb;
  }

  /**
   * Send files one after another: the server reads them in turn anyway, and a browser has few connections.
   * @param {Iterable<File>} files
   */
  async send(files) {
    const waiting = [...files].map((file) => ({ file, row: this.#addRow(file.name) }));
    for (const { file, row } of waiting) await this.#sendFile(file, row);
  }

  /** Show the jobs that were under way before this page was opened. */
  async resume() {
    const jobs = await api.listJobs().catch(() => []);
    for (const job of jobs) if (!OVER.has(job.state)) this.#watch(job, this.#addRow(job.name));
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
   * @param {File} file
   * @param {Row} row
   */
  async #sendFile(file, row) {
    try {
      if (file.size > this.#mostMb() * 1024 * 1024) throw new Problem(413, "too_large", S.tooLarge(file.name, this.#mostMb()));
      const job = await api.upload(file, (share) => {
        row.bar.value = share * SENDING_PERCENT;
        fill(row.step, S.sending(Math.round(share * 100)));
      });
      await this.#watch(job, row);
    } catch (error) {
      this.#showFailed(row, Problem.wrap(error), () => {
        row.root.remove();
        this.#sendFile(file, this.#addRow(file.name));
      });
    }
  }

  /**
   * @param {Job} job
   * @param {Row} row
   */
  async #watch(job, row) {
    const cancel = () => api.cancelJob(job.job_id).catch((error) => showToast(Problem.wrap(error).message));
    fill(row.tools, el("button", { type: "button", class: "link", on: { click: cancel } }, S.cancel));
    let last = job;
    try {
      for await (const { data } of api.followJob(job.job_id)) {
        last = data;
        this.#showProgress(row, last);
      }
    } catch {
      /* The stream broke. The job goes on, so ask for its state instead. */
    }
    while (!OVER.has(last.state)) {
      await wait(POLL_MS);
      last = await api.getJob(job.job_id);
      this.#showProgress(row, last);
    }
    this.#finish(row, last);
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
 * Take files that are dropped anywhere on the page.
 * @param {() => boolean} isAllowed
 * @param {(files: FileList) => void} take
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
    take(event.dataTransfer.files);
  });
}
