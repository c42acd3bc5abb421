/* The server, as the app sees it. Every failure is a `Problem` with a sentence that can be shown. */

import { Problem, stream } from "../shared/sse.js";
import { passing } from "./storage.js";

const BASE = new URL("../../", import.meta.url).pathname;
const KEY = "octavo.key";

export const at = (path) => BASE + path.replace(/^\//, "");
export const key = {
  get: () => passing.get(KEY) || "",
  set: (value) => passing.set(KEY, value),
  forget: () => passing.forget(KEY),
};

function headers(more = {}) {
  return key.get() ? { Authorization: `Bearer ${key.get()}`, ...more } : more;
}

async function call(method, path, body) {
  const json = body === undefined ? {} : { "Content-Type": "application/json" };
  let response;
  try {
    response = await fetch(at(path), { method, headers: headers(json), body: body && JSON.stringify(body) });
  } catch (error) {
    throw Problem.from(error);
  }
  if (!response.ok) throw await Problem.of(response);
  return response;
}

const json = async (method, path, body) => (await call(method, path, body)).json();
const part = encodeURIComponent;

/* What an older server does not have is what it does not have: the given value stands for it. */
async function unless(missing, promise) {
  try {
    return await promise;
  } catch (error) {
    if (error instanceof Problem && (error.status === 404 || error.status === 405)) return missing;
    throw error;
  }
}

export const api = {
  config: () => unless({ keys_required: false, model: null, upload_mb: 100, may: ["ask", "ingest", "admin"] }, json("GET", "v1/config")),

  async books() {
    const all = [];
    for (let after = ""; after !== null;) {
      const page = await json("GET", `v1/books?limit=100${after && `&after=${part(after)}`}`);
      all.push(...page.books);
      after = page.next || null;
    }
    return all;
  },
  contents: async (book) => (await json("GET", `v1/books/${part(book)}/contents`)).sections,
  section: (book, section) => json("GET", `v1/books/${part(book)}/sections/${part(section)}`),
  removeBook: (book) => call("DELETE", `v1/books/${part(book)}`),

  /* The cover as bytes that the page can show by itself, or null. */
  async cover(book) {
    try {
      const blob = await (await call("GET", `v1/books/${part(book)}/cover`)).blob();
      return await new Promise((done) => {
        const reader = new FileReader();
        reader.onload = () => done(reader.result);
        reader.onerror = () => done(null);
        reader.readAsDataURL(blob);
      });
    } catch {
      return null;
    }
  },

  /* Sends a file; `onShare` hears how much of it has gone. Resolves to the job that reads it. */
  upload(file, onShare) {
    return new Promise((done, failed) => {
      const request = new XMLHttpRequest();
      const form = new FormData();
      form.append("file", file, file.name);
      request.open("POST", at("v1/books"));
      for (const [name, value] of Object.entries(headers())) request.setRequestHeader(name, value);
      request.upload.onprogress = (event) => event.lengthComputable && onShare(event.loaded / event.total);
      request.onerror = () => failed(Problem.from(new TypeError("network")));
      request.onload = async () => {
        const response = new Response(request.responseText, { status: Math.max(200, request.status) });
        if (response.ok) done((await response.json()).job);
        else failed(await Problem.of(response));
      };
      request.send(form);
    });
  },
  jobs: async () => (await unless({ jobs: [] }, json("GET", "v1/jobs?limit=20"))).jobs || [],
  job: (id) => json("GET", `v1/jobs/${part(id)}`),
  jobEvents: (id, signal) => stream(at(`v1/jobs/${part(id)}/events`), { method: "GET", headers: headers(), signal }),
  cancelJob: (id) => call("DELETE", `v1/jobs/${part(id)}`),

  ask: (body, signal) => stream(at("v1/ask"), {
    body: JSON.stringify(body), signal, headers: headers({ "Content-Type": "application/json" }),
  }),
  answer: (id) => json("GET", `v1/answers/${part(id)}`),
  feedback: (id, said) => call("POST", `v1/answers/${part(id)}/feedback`, said),

  startSession: async () => (await unless({ session_id: null }, json("POST", "v1/sessions", {}))).session_id || made(),
  session: (id) => unless(null, json("GET", `v1/sessions/${part(id)}`)),
  endSession: (id) => unless(null, call("DELETE", `v1/sessions/${part(id)}`)),
  exported: async (id, format) => (await call("GET", `v1/sessions/${part(id)}/export?format=${format}`)).blob(),
};

function made() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
