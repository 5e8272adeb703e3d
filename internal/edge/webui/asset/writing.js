// The answer that is being written: its text as it comes, and how to stop it. What
// comes is shown as text until the server rendered it; what stands in the chat in
// the end is the server's.

import { api, Problem } from "./api.js";
import { ask, fill } from "./blocks.js";
import { reachable } from "./connection.js";
import { keepFocus } from "./focus.js";
import { clear, problem } from "./notice.js";
import { el, icon, t } from "./text.js";
import { atEnd, refreshChat, thread, toEnd, view } from "./view.js";

const most = 256 << 10; // characters of one answer
const patience = 20; // seconds without a word of an answer that nobody here waits for

// By chat: waiting counts the requests of this page that will end with an answer;
// the rest is what the socket told of the answer itself.
const answers = new Map();
const ended = new Set(); // turns whose answer is there, so that a late piece does not begin it again

const of = (chat) => {
  if (!answers.has(chat)) answers.set(chat, { waiting: 0, since: 0, heard: Date.now() });
  return answers.get(chat);
};
const none = () => ({ text: "", nodes: [], rendered: 0 }); // of an answer without a word
const here = () => answers.get(view().dataset.chat);
const active = (s) => Boolean(s && !s.done && (s.waiting || s.turn));

/** writing reports whether an answer is being written in the open chat. */
export const writing = () => active(here());

/** waitsSince is when this page last asked for an answer that has not come; 0 when it waits for none. */
export const waitsSince = (chat) => (answers.get(chat)?.waiting ? answers.get(chat).since : 0);

/** expect says that an answer was asked for; arrived, that the request has ended. */
export function expect(chat) {
  const s = of(chat);
  Object.assign(s, { waiting: s.waiting + 1, since: Date.now(), done: false, other: false, stopping: false });
  render();
}

export function arrived(chat) {
  const s = of(chat);
  s.waiting--;
  if (s.waiting <= 0 && !s.other) forget(chat);
  render();
}

function forget(chat) {
  const s = answers.get(chat);
  if (s?.turn) ended.add(s.turn);
  if (ended.size > 200) ended.delete(ended.values().next().value);
  answers.delete(chat);
}

/** write takes what the socket tells of an answer. A piece that does not follow
    the one before ends the showing: the whole comes with the message. */
export function write(type, { conversationId: chat, turn, offset, text }) {
  if (typeof chat !== "string" || typeof turn !== "string" || ended.has(turn)) return;
  const s = of(chat);
  s.heard = Date.now();
  if (type === "ai:text_end") {
    if (s.waiting && !s.other) return; // the request itself tells
    if (s.waiting) {
      ended.add(turn);
      Object.assign(s, { done: true, other: false, turn: undefined, ...none() });
    } else forget(chat);
    if (chat === view().dataset.chat) refreshChat().catch(() => {}).then(render);
    return;
  }
  if (s.turn !== turn) { // an answer after the one that was waited for is another's
    Object.assign(s, { turn, ...none(), bytes: 0, lost: type === "ai:text" && offset !== 0, other: Boolean(s.done), done: false, stopping: false });
  }
  if (type === "ai:text_reset") Object.assign(s, { ...none(), bytes: 0, lost: false });
  else if (!s.lost && !s.stopping && typeof text === "string") add(s, offset, text);
  render();
}

function add(s, offset, text) {
  const size = new TextEncoder().encode(text).length;
  if (offset + size <= s.bytes) return; // it came twice
  if (offset !== s.bytes || s.text.length + text.length > most) {
    s.lost = true;
    return;
  }
  s.text += text;
  s.bytes += size;
}

/** takeAway takes the answer's line away once the answer stands in the chat. */
export function takeAway({ detail: { chat, added } }) {
  const s = answers.get(chat);
  const last = [...thread().querySelectorAll(".line.user")].at(-1);
  const came = added.some((line) => line.matches(".line.assistant, .line.plan, .line.blocked") &&
    (!last || last.compareDocumentPosition(line) & Node.DOCUMENT_POSITION_FOLLOWING));
  if (!s || !came || last?.classList.contains("sending")) return;
  if (!s.waiting) forget(chat);
  else {
    if (s.turn) ended.add(s.turn);
    Object.assign(s, { done: true, turn: undefined, ...none() });
  }
  render();
}

/** fade gives up on answers of which nothing is heard any more. */
export function fade() {
  for (const [chat, s] of answers) {
    if (s.waiting || Date.now() - s.heard < patience * 1000) continue;
    forget(chat);
    if (chat === view().dataset.chat) refreshChat().catch(() => {}).then(render);
  }
}

/** render shows the answer of the open chat as far as it is, below everything. */
export function render() {
  draw();
  document.dispatchEvent(new CustomEvent("writing"));
}

function draw() {
  const s = here();
  const line = document.getElementById("writing");
  const stop = document.getElementById("stop");
  keepFocus(() => {
    stop.hidden = !active(s);
    stop.disabled = Boolean(s?.stopping);
  });
  if (!active(s) || !thread()) {
    line?.remove();
    return;
  }
  const stay = !atEnd();
  const text = s.text || "";
  const shown = line && line.classList.contains("live") === Boolean(text) ? line : drawn(Boolean(text));
  if (line && line !== shown) line.replaceWith(shown);
  if (thread().lastElementChild !== shown) thread().append(shown);
  if (text) {
    fill(shown.querySelector(".prose"), s);
    ask(s, render);
  }
  shown.querySelector(".dots").textContent = !reachable() ? t("unreachable") : s.stopping ? t("stopping") : t("thinking");
  if (!stay) toEnd();
}

// drawn is the line before the first word, or around the text.
function drawn(live) {
  const avatar = el("span", { class: "avatar" }, icon("brand"));
  const dots = el("span", { class: "dots" });
  if (!live) return el("li", { class: "thinking", id: "writing", "data-local": true }, avatar, dots);
  dots.classList.add("unseen");
  return el("li", { class: "line assistant live", id: "writing", "data-local": true, "aria-busy": "true" },
    avatar, el("div", { class: "said" }, el("div", { class: "prose" }, el("div", { class: "blocks" }), el("div", { class: "raw", dir: "auto" })), dots));
}

/** stopWriting stops the answer; what was written so far stays. */
export async function stopWriting() {
  const chat = view().dataset.chat;
  const s = here();
  if (!active(s) || s.stopping) return;
  const place = document.getElementById("composer-problem");
  clear(place);
  s.stopping = true;
  render();
  try {
    await api("POST", `/api/chats/${encodeURIComponent(chat)}/stop`);
  } catch (failure) {
    if (!(failure instanceof Problem)) throw failure;
    s.stopping = false;
    render();
    problem(place, failure);
  }
}
