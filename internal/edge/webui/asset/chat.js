// The conversation: the composer, sending, and the local guard.

import { keepAgent, startJob, worker } from "./agents.js";
import { api, newKey, Problem } from "./api.js";
import { returned } from "./connection.js";
import { draft, keepDraft } from "./drafts.js";
import { delay, keepMode, recheck } from "./eligible.js";
import { keepFocus } from "./focus.js";
import { forgetFiles, withFiles } from "./files.js";
import { agrees, decides, loadWords } from "./guard.js";
import { shortcut } from "./keys.js";
import { announce, busy, clear, problem, toast } from "./notice.js";
import { followAll, pendingCard } from "./run.js";
import { isUnread, readOn, unseen } from "./seen.js";
import { el, icon, t } from "./text.js";
import { refreshChat, refreshChats, thread, toEnd, view } from "./view.js";
import { arrived, expect, waitsSince, writing } from "./writing.js";

const form = document.getElementById("composer");
const input = document.getElementById("message");
const button = document.getElementById("send");
const saying = document.getElementById("composer-problem");

const patience = 120; // seconds in which a message is sent again by itself

let beginning = false; // a message is on its way into the thread
let last = "";
let editing; // the chat, and the message in whose place the one that is being written comes
let began; // the chat and the plan that were on the screen when the person began to write

export function startComposer() {
  form.addEventListener("submit", (e) => {
    e.preventDefault();
    send();
  });
  input.addEventListener("input", () => {
    if (input.value === "") began = undefined;
    else begin();
    if (!ahead) keepDraft(input.value);
    fit();
  });
  document.addEventListener("leaving", () => (ahead = input.value === ""));
  document.addEventListener("stayed", () => {
    ahead = false;
    keepDraft(input.value);
  });
  input.addEventListener("focus", loadWords, { once: true });
  input.addEventListener("keydown", (e) => {
    if (e.isComposing || e.keyCode === 229) return;
    if (e.key === "Enter" && !e.shiftKey && !e.altKey && !e.ctrlKey && !e.metaKey) {
      e.preventDefault();
      if (!e.repeat) send();
    } else if (e.key === "ArrowUp" && input.value === "" && last) {
      e.preventDefault();
      write(last);
    } else if (e.key === "Escape" && editing) {
      edit();
      write("");
    } else if (e.key === "Escape" && !writing()) {
      view().focus({ preventScroll: true });
    }
  });
  shortcut({ part: "write", key: "enter", says: t("key_send") });
  shortcut({ part: "write", key: "enter", shift: true, says: t("key_line") });
  shortcut({ part: "write", key: "arrowup", says: t("key_last") });
  shortcut({ part: "write", key: "escape", says: t("key_leave") });
  document.addEventListener("writing", fit);
  document.addEventListener("entered", restore);
  restore();
}

let ahead = false; // what is written now is for the view that is on its way

// restore shows what was begun in the chat that was opened; what was written while it was on its way is for it.
function restore() {
  if (ahead && input.value) {
    keepDraft(input.value);
    began = undefined;
  }
  ahead = false;
  const text = draft();
  if (input.value !== text) {
    if (editing?.chat !== view().dataset.chat) edit();
    input.value = text;
    began = undefined;
  }
  if (text) begin();
  fit();
}

// begin keeps what the words that are being written are about: a plan that takes the place
// of another meanwhile was not read by whoever says yes.
function begin() {
  began ??= { chat: view().dataset.chat, digest: pendingCard()?.dataset.digest };
}

// edit says that the next message comes in the place of another; without one, that it does not.
function edit(next) {
  editing = next;
  document.getElementById("editing")?.remove();
  if (!next) return;
  form.prepend(el("p", { class: "editing", id: "editing" }, icon("pencil"), t("editing"),
    el("button", { type: "button", class: "quiet", click: () => { edit(); write(""); } }, t("editing_stop"))));
}

export const actions = {
  "edit-last": (button) => {
    const line = button.closest(".line");
    write(line.querySelector(".bubble").innerText);
    edit({ chat: view().dataset.chat, id: line.id.slice(2) });
    announce(t("editing"));
  },
  "choose": (button) => {
    input.focus();
    return send(button.value);
  },
  "answer-again": (button) => askAnswer(button, { again: true }),
  "copy-message": async (button) => {
    await navigator.clipboard.writeText(button.closest(".line").querySelector(".bubble, .prose").innerText);
    announce(t("copied"));
    toast(t("copied"));
  },
};

/** write puts text into the composer, ready to be changed or sent. */
export function write(text) {
  input.value = text;
  began = undefined;
  begin();
  keepDraft(text);
  fit();
  input.focus();
}

/** sendText sends a text as if it had been written. */
export function sendText(text) {
  write(text);
  return send();
}

// free reports whether a message may be sent now: not while an answer is on its
// way, but for the time in which the assistant waits for more.
function free() {
  const since = waitsSince(view().dataset.chat);
  return !beginning && (!since || Date.now() - since < delay());
}

function fit() {
  keepFocus(() => {
    button.disabled = !free() || input.value.trim() === "";
    button.hidden = !free() && writing();
  });
  if (CSS.supports("field-sizing", "content")) return;
  input.rows = Math.min(12, input.value.split("\n").length);
}

// isHeld reports whether a text is a yes to a plan that was not all on the screen. It shows the rest, and the text stays.
async function isHeld(text) {
  const card = pendingCard();
  if (!card || !isUnread(card) || document.querySelector(".said[data-asks]")) return false; // it answers a question
  beginning = true; // a second press waits, too
  await loadWords().finally(() => (beginning = false));
  if (!agrees(text)) return false;
  const n = unseen(card).length;
  if (n) toast(t("unseen", { n }));
  return readOn(card);
}

// send sends what was written, or an option that was chosen: what was begun then stays.
async function send(chosen) {
  if (!free() || (chosen ?? input.value).trim() === "") return;
  const text = chosen ?? withFiles(input.value);
  clear(saying);
  if (new TextEncoder().encode(text).length > 32 << 10) {
    problem(saying, { title: t("too_long") });
    return;
  }
  if (await isHeld(text)) return;
  const mine = own(text);
  let about, replaces;
  if (chosen === undefined) {
    forgetFiles();
    [last, about, began] = [text, began, undefined];
    replaces = editing && editing.chat === view().dataset.chat ? editing.id : undefined;
    edit();
    input.value = "";
    keepDraft("");
  }
  beginning = true;
  fit();
  let chat;
  try {
    await loadWords();
    const begins = !document.querySelector('.line[id^="m-"], .line.job');
    if (begins && decides(text)) {
      mine.classList.remove("sending");
      mine.after(el("li", { class: "line assistant", "data-local": true },
        el("span", { class: "avatar" }, icon("brand")), el("div", { class: "said" }, el("div", { class: "prose aside" }, t("none_pending")))));
      announce(t("none_pending"));
      toEnd(true);
      return;
    }
    chat = await chatID();
  } catch (failure) {
    if (!(failure instanceof Problem)) throw failure;
    failed(mine, text, failure);
    return;
  } finally {
    beginning = false;
    fit();
  }
  const agent = worker();
  if (agent && !document.querySelector("[data-asks]")) await hand(agent, chat, text, mine);
  else await deliver(chat, text, mine, about, replaces);
}

// hand gives a message to an agent as a job, which goes on after the answer.
async function hand(agent, chat, text, mine) {
  try {
    await startJob(agent, chat, text);
  } catch (failure) {
    if (!(failure instanceof Problem)) throw failure;
    failed(mine, text, failure);
    return;
  }
  if (view().dataset.chat === chat) {
    await refreshChat([mine]).catch(() => {});
    followAll();
    toEnd(true);
  }
  refreshChats();
}

/** zone returns the person's time zone; undefined when the browser has none. */
function zone() {
  const name = Intl.DateTimeFormat().resolvedOptions().timeZone;
  return name === "Etc/Unknown" ? undefined : name;
}

async function deliver(chat, text, mine, about, replaces) {
  const body = { chat_id: chat, message: text, replaces, time_zone: zone() };
  const shown = pendingCard();
  if (shown) body.digest = (about?.chat === chat && about.digest) || shown.dataset.digest;
  const key = newKey();
  let delivered = false;
  expect(chat);
  if (delay()) setTimeout(fit, delay());
  toEnd(true);
  try {
    const post = () => api("POST", "/api/send", body, { "Idempotency-Key": key });
    const reply = await post().catch((failure) => again(failure, mine, post));
    delivered = true;
    await show(chat, reply, [mine]);
  } catch (failure) {
    if (!(failure instanceof Problem)) throw failure;
    failed(mine, text, failure, delivered);
    if (failure.status === 409 || failure.status === 410) {
      await refreshChat().catch(() => {});
      followAll();
    }
  } finally {
    arrived(chat);
  }
}

// again sends a message once more whose request got no answer. It waits until the server answers, and looks whether
// the message arrived. The server serves a key once: what has arrived is answered, and not said twice.
async function again(failure, mine, post) {
  if (!(failure instanceof Problem) || failure.status) throw failure;
  const note = el("p", { class: "fine" }, t("sends_later"));
  mine.append(note);
  const back = await returned(patience);
  note.remove();
  if (!back) throw failure;
  await refreshChat();
  for (;;) {
    try {
      return await post();
    } catch (second) {
      if (second.code !== "request.in_progress") throw second; // else it has arrived
      await new Promise((next) => setTimeout(next, 2000));
    }
  }
}

// show brings an answer to the screen, unless the reader went elsewhere meanwhile.
async function show(chat, reply, gone) {
  if (view().dataset.chat === chat) {
    await refreshChat(gone);
    say(reply);
    followAll();
    toEnd(true);
    if (reply.kind === "blocked") recheck();
  }
  refreshChats();
}

/** askAnswer has what was last said in the chat answered; with {again: true} once more. */
export function askAnswer(by, body) {
  return busy(by, async () => {
    const chat = view().dataset.chat;
    clear(saying);
    expect(chat);
    toEnd(true);
    try {
      await show(chat, await api("POST", `/api/chats/${encodeURIComponent(chat)}/answer`, { ...body, time_zone: zone() }), []);
    } catch (failure) {
      if (!(failure instanceof Problem)) throw failure;
      problem(saying, failure);
    } finally {
      arrived(chat);
      recheck();
    }
  });
}

// own shows the message at once; the server's own line takes its place.
function own(text) {
  const line = el("li", { class: "line user sending", "data-local": true }, el("div", { class: "bubble", dir: "auto" }, text));
  thread().append(line);
  chooses(false);
  toEnd(true);
  return line;
}

// chooses lets the person choose an option of the open question, or not: while an answer is on its way there is one already.
function chooses(may) {
  for (const option of thread().querySelectorAll("[data-action=choose]")) option.disabled = !may;
}

// failed says at the message what became of it.
function failed(line, text, failure, delivered) {
  line.classList.remove("sending");
  if (delivered || !line.isConnected) { // it is stored, whatever became of the answer
    problem(saying, failure);
    return;
  }
  line.classList.add("failed");
  chooses(true);
  if (input.value === "") keepDraft(text); // it survives a reload
  const shown = failure.status === 0 ? { title: t("unsent"), detail: failure.title, action: t("unsent_do") } : failure;
  const place = el("div");
  line.append(el("div", { class: "retry" }, place,
    el("button", { type: "button", class: "button", click: () => { line.remove(); write(text); } }, icon("pencil"), t("edit"))));
  problem(place, shown);
}

function say(reply) {
  if (["plan", "queued", "cancelled"].includes(reply.kind)) return; // its card tells it
  if (reply.message?.answered_by?.stopped) announce(t("stopped"));
  else if (reply.kind === "blocked") announce(t("blocked", { why: reply.block?.message || reply.message?.content || "" }));
  else {
    document.getElementById("m-" + reply.message?.id)?.querySelectorAll(".contradiction p").forEach((p) => announce(p.textContent));
    announce(reply.message?.content || t("new_message"));
  }
}

/** chatID is the open chat, or a new one in the view's project. */
export async function chatID() {
  const v = view();
  if (v.dataset.chat) return v.dataset.chat;
  const made = await api("POST", "/api/chats", v.dataset.project ? { project_id: v.dataset.project } : {});
  if (view() === v) {
    v.dataset.chat = made.chat_id;
    v.dataset.name = "chat";
    document.body.dataset.view = "chat";
    history.replaceState(null, "", "/?chat=" + encodeURIComponent(made.chat_id));
    document.dispatchEvent(new CustomEvent("begun"));
    if (v.dataset.mode) await keepMode(v);
    if (v.dataset.agent) await keepAgent(v);
  }
  return made.chat_id;
}
