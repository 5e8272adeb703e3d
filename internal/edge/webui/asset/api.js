// Calls to this origin: the JSON API for what changes, /ui/ for what is shown.

import { doubt } from "./connection.js";
import { hearTime, lang, t } from "./text.js";

/** Problem is an RFC 9457 problem, or no answer at all (status 0). */
export class Problem extends Error {
  constructor(body, status, trace) {
    super(body.title || body.code || t("unexpected"));
    this.status = status;
    this.code = body.code || "";
    this.title = body.title || t("unexpected");
    this.detail = typeof body.detail === "string" ? body.detail : "";
    this.action = body.action || "";
    this.trace = body.trace_id || trace || "";
    this.existing = body.existing || "";
    this.errors = Array.isArray(body.errors) ? body.errors : [];
  }

  /** passes says whether the same request may be answered otherwise after a while, as package meaning has it. */
  get passes() {
    return !(this.status >= 400 && this.status <= 499) || [408, 425, 429, 499].includes(this.status);
  }
}

const noAnswer = () => new Problem({ title: t("network"), action: t("network_do"), code: "network" }, 0);

async function request(url, options, seconds) {
  const stop = AbortSignal.timeout(seconds * 1000);
  try {
    const response = await fetch(url, { credentials: "same-origin", redirect: "error", signal: stop, ...options });
    hearTime(Date.parse(response.headers.get("Date")));
    if (response.status >= 502 && response.status <= 504) doubt();
    return response;
  } catch {
    doubt();
    throw noAnswer();
  }
}

// hurried is a refusal for coming too often that does not say it itself: of a part of the
// page, or of what stands before us.
const hurried = (response) => new Problem({
  title: t("too_many"), action: t("too_many_do", { seconds: response.headers.get("Retry-After") || 1 }), code: "request.too_many",
}, 429, response.headers.get("X-Trace-Id"));

// A session that ended is not an error to read about: the sign-in form is.
function signedOut(response) {
  if (response.status === 401) location.assign("/");
}

/** newKey returns a key under which the server does something once. */
export const newKey = () => [...crypto.getRandomValues(new Uint8Array(16))].map((b) => b.toString(16).padStart(2, "0")).join("");

/** api sends JSON and returns what was answered; every failure is a Problem. A body
    that is a text is JSON already; a form and a file are sent as they are. */
export async function api(method, url, body, headers = {}) {
  const options = { method, headers: { Accept: "application/json", "Accept-Language": lang, ...headers } };
  if (body !== undefined) {
    const binary = body instanceof FormData || body instanceof Blob;
    if (!binary) options.headers["Content-Type"] = "application/json";
    options.body = binary || typeof body === "string" ? body : JSON.stringify(body);
  }
  const response = await request(url, options, method === "GET" ? 20 : 120);
  let answer = {};
  try {
    const text = await response.text();
    if (text) answer = JSON.parse(text);
  } catch {
    if (response.ok) throw noAnswer();
  }
  if (response.status === 202 && answer.turn_id) return later(answer.read);
  if (response.ok) return answer;
  signedOut(response);
  if (response.status === 429 && !answer?.code) throw hurried(response);
  const trace = response.headers.get("X-Trace-Id");
  throw new Problem(answer && typeof answer === "object" ? answer : {}, response.status, trace);
}

// later waits for a turn that takes longer than its request did.
async function later(turn) {
  for (let lost = 0; ; ) {
    await new Promise((again) => setTimeout(again, 1000));
    try {
      return await api("GET", turn, undefined, { Prefer: "wait=15" });
    } catch (failure) {
      if (!(failure instanceof Problem) || failure.status || ++lost > 5) throw failure;
    }
  }
}

/** fragment returns the nodes of a part of the page, and whether it is the view of an error; text is what the part is made of. */
export async function fragment(url, text) {
  const asked = text === undefined ? {} : { method: "POST", body: text };
  const response = await request(url, { ...asked, headers: { Accept: "text/html", "Accept-Language": lang } }, 20);
  signedOut(response);
  if (response.status === 429) throw hurried(response);
  const type = response.headers.get("Content-Type") || "";
  if (!type.startsWith("text/html") || response.status >= 500) {
    throw new Problem({ title: t("network"), action: t("network_do"), code: "unavailable" }, response.status, response.headers.get("X-Trace-Id"));
  }
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  return { ok: response.ok, status: response.status, nodes: [...page.body.childNodes].filter((n) => n.nodeType === Node.ELEMENT_NODE) };
}
