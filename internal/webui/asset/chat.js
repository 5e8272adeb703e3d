// The conversation: the composer, sending, and the local guard.

import { api, Problem } from "./api.js";
import { decides, loadWords } from "./guard.js";
import { announce, clear, problem } from "./notice.js";
import { followAll, pendingCard } from "./run.js";
import { el, icon, t } from "./text.js";
import { refreshChat, refreshChats, thread, toEnd, view } from "./view.js";

const form = document.getElementById("composer");
const input = document.getElementById("message");
const button = document.getElementById("send");
const saying = document.getElementById("composer-problem");

let sending = false;
let last = "";

export function startComposer() {
  form.addEventListener("submit", (e) => {
    e.preventDefault();
    send();
  });
  input.addEventListener("input", fit);
  input.addEventListener("focus", loadWords, { once: true });
  input.addEventListener("keydown", (e) => {
    if (e.isComposing || e.keyCode === 229) return;
    if (e.key === "Enter" && !e.shiftKey && !e.altKey && !e.ctrlKey && !e.metaKey) {
      e.preventDefault();
      if (!e.repeat) send();
    } else if (e.key === "ArrowUp" && input.value === "" && last) {
      e.preventDefault();
      write(last);
    } else if (e.key === "Escape") {
      input.blur();
    }
  });
  fit();
}

/** write puts text into the composer, ready to be changed or sent. */
export function write(text) {
  input.value = text;
  fit();
  input.focus();
}

function fit() {
  button.disabled = sending || input.value.trim() === "";
  if (CSS.supports("field-sizing", "content")) return;
  input.rows = Math.min(12, input.value.split("\n").length);
}

async function send() {
  const text = input.value;
  if (sending || text.trim() === "") return;
  clear(saying);
  if (new TextEncoder().encode(text).length > 32 << 10) {
    problem(saying, { title: t("too_long") });
    return;
  }
  last = text;
  const mine = own(text);
  input.value = "";
  sending = true;
  fit();
  try {
    await loadWords();
    const nothingOpen = !view().dataset.pending && !view().dataset.active && !pendingCard();
    if (nothingOpen && decides(text)) {
      mine.classList.remove("sending");
      mine.after(el("li", { class: "line assistant", "data-local": true },
        el("span", { class: "avatar" }, icon("brand")), el("div", { class: "said" }, el("div", { class: "prose aside" }, t("none_pending")))));
      announce(t("none_pending"));
      toEnd(true);
      return;
    }
    await deliver(text, mine);
  } finally {
    sending = false;
    fit();
  }
}

async function deliver(text, mine) {
  const body = { message: text };
  const shown = pendingCard();
  if (shown) body.digest = shown.dataset.digest;
  const thinking = el("li", { class: "thinking", "data-local": true },
    el("span", { class: "avatar" }, icon("brand")), el("span", { class: "dots" }, t("thinking")));
  mine.after(thinking);
  toEnd(true);
  let delivered = false;
  try {
    body.chat_id = await chatID();
    const reply = await api("POST", "/api/send", body);
    delivered = true;
    if (view().dataset.chat !== body.chat_id) { // the reader went elsewhere meanwhile
      refreshChats();
      return;
    }
    await refreshChat([mine, thinking]);
    say(reply);
    followAll();
    toEnd(true);
    refreshChats();
  } catch (failure) {
    thinking.remove();
    if (!(failure instanceof Problem)) throw failure;
    failed(mine, text, failure, delivered);
    if (failure.status === 409 || failure.status === 410) {
      await refreshChat().catch(() => {});
      followAll();
    }
  }
}

// own shows the message at once; the server's own line takes its place.
function own(text) {
  const line = el("li", { class: "line user sending", "data-local": true }, el("div", { class: "bubble", dir: "auto" }, text));
  thread().append(line);
  toEnd(true);
  return line;
}

// failed says at the message what became of it; nothing is sent again by itself.
function failed(line, text, failure, delivered) {
  line.classList.remove("sending");
  if (delivered) {
    problem(saying, failure);
    return;
  }
  line.classList.add("failed");
  const shown = failure.status === 0 ? { title: t("unsent"), detail: failure.title, action: t("unsent_do") } : failure;
  const place = el("div");
  line.append(el("div", { class: "retry" }, place,
    el("button", { type: "button", class: "button", click: () => { line.remove(); write(text); } }, icon("pencil"), t("edit"))));
  problem(place, shown);
}

function say(reply) {
  const card = pendingCard();
  if (reply.kind === "plan" && card) announce(t("plan_asks", { goal: card.querySelector(".goal").textContent }));
  else announce(reply.message?.content || t("new_message"));
}

// chatID is the open chat, or a new one in the view's project.
async function chatID() {
  const v = view();
  if (v.dataset.chat) return v.dataset.chat;
  const made = await api("POST", "/api/chats", v.dataset.project ? { project_id: v.dataset.project } : {});
  if (view() === v) {
    v.dataset.chat = made.chat_id;
    v.dataset.name = "chat";
    document.body.dataset.view = "chat";
    history.replaceState(null, "", "/?chat=" + encodeURIComponent(made.chat_id));
  }
  return made.chat_id;
}
