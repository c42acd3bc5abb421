/* Books on their way in: a file is sent, a job reads it, and each step is seen as it happens. */

import { el, fill } from "../shared/dom.js";
import { api } from "./api.js";
import { problemCard, toast } from "./notices.js";
import { S } from "./strings.js";

const OVER = new Set(["done", "failed", "cancelled"]);
const pause = (ms) => new Promise((done) => setTimeout(done, ms));

export class Uploads {
  constructor(root, { onAdded, mostMb }) {
    Object.assign(this, { root, onAdded, mostMb });
  }

  /* One after another: the server reads them in turn anyway, and a browser has few connections. */
  async send(files) {
    const waiting = [...files].map((file) => [file, this.#row(file.name)]);
    for (const [file, row] of waiting) await this.#one(file, row);
  }

  /* Jobs that were under way before this page was opened. */
  async resume() {
    const jobs = await api.jobs().catch(() => []);
    for (const job of jobs) if (!OVER.has(job.state)) this.#watch(job, this.#row(job.name));
  }

  #row(name) {
    const bar = el("progress", { max: "100", "aria-label": name });
    const step = el("span", { class: "job-step" }, S.steps.queued);
    const tools = el("span", { class: "job-tools" });
    const root = el("li", { class: "job" }, el("span", { class: "job-name" }, name), step, bar, tools);
    this.root.append(root);
    return { root, bar, step, tools };
  }

  async #one(file, row) {
    try {
      if (file.size > this.mostMb() * 1024 * 1024) throw new Error(S.tooLarge(file.name, this.mostMb()));
      const job = await api.upload(file, (share) => {
        row.bar.value = share * 20;
        fill(row.step, S.sending(Math.round(share * 100)));
      });
      await this.#watch(job, row);
    } catch (problem) {
      this.#failed(row, problem, () => { row.root.remove(); this.#one(file, this.#row(file.name)); });
    }
  }

  async #watch(job, row) {
    fill(row.tools, el("button", { type: "button", class: "link", on: { click: () => api.cancelJob(job.job_id).catch((p) => toast(p.message)) } }, S.cancel));
    let last = job;
    try {
      for await (const { data } of api.jobEvents(job.job_id)) {
        last = data;
        this.#show(row, last);
      }
    } catch {
      /* The stream broke; the job goes on, and is asked after instead. */
    }
    while (!OVER.has(last.state)) {
      await pause(700);
      last = await api.job(job.job_id);
      this.#show(row, last);
    }
    this.#over(row, last);
  }

  #show(row, job) {
    const { step = job.state, done = 0, total = 0 } = job.progress || {};
    const words = S.steps[step] || S.steps[job.state] || step;
    fill(row.step, words, total ? ` ${S.of(done, total)}` : "");
    if (total) row.bar.value = 20 + (80 * done) / total;
    else if (job.state === "running") row.bar.removeAttribute("value");
  }

  #over(row, job) {
    if (job.state === "failed") {
      const told = job.error && typeof job.error === "object" ? job.error : { message: job.error };
      this.#failed(row, Object.assign(new Error(told.detail || told.message || S.steps.failed), { hint: told.hint || "" }));
      return;
    }
    row.root.remove();
    if (job.state === "done") this.onAdded(job);
    else toast(S.steps.cancelled);
  }

  #failed(row, problem, retry = null) {
    row.bar.remove();
    fill(row.step);
    fill(row.tools, problemCard(problem, retry),
      el("button", { type: "button", class: "link", on: { click: () => row.root.remove() } }, S.close));
  }
}

/* Files dropped anywhere on the page. */
export function acceptDrops(may, take) {
  const veil = el("div", { class: "veil", hidden: true }, el("p", {}, S.drop));
  document.body.append(veil);
  const carries = (event) => may() && [...(event.dataTransfer?.types || [])].includes("Files");
  let depth = 0;
  const show = (on) => { veil.hidden = !on; if (!on) depth = 0; };
  addEventListener("dragenter", (event) => { if (carries(event)) { depth += 1; show(true); } });
  addEventListener("dragleave", () => { depth -= 1; if (depth <= 0) show(false); });
  addEventListener("dragover", (event) => { if (carries(event)) event.preventDefault(); });
  addEventListener("drop", (event) => {
    if (!carries(event)) return;
    event.preventDefault();
    show(false);
    take(event.dataTransfer.files);
  });
}
