// The files of the open conversation: adding them with the button, by dropping or by pasting, and the list of them.

import { api, newKey, Problem } from "./api.js";
import { rest } from "./focus.js";
import { ask, announce, busy, clear, problem } from "./notice.js";
import { el, icon, moment, size, t } from "./text.js";
import { view } from "./view.js";

const form = document.getElementById("composer");
const chips = document.getElementById("attached");
const picker = document.getElementById("attach-input");
const saying = document.getElementById("composer-problem");
const dialog = document.getElementById("files");
const place = document.getElementById("files-place");

const whole = 4_000_000; // bytes of a file that is sent at once; a larger one is sent in pieces of so many
const most = 10 << 20; // bytes of a file

const added = new Map(); // by chat: the names of files that were added since its last message
let chatOf; // returns the open chat, or makes it

const base = (chat) => `/api/chats/${encodeURIComponent(chat)}`;
const addressOf = (chat, path) => base(chat) + "/files/" + path.split("/").map(encodeURIComponent).join("/");

/** startFiles begins. chatID returns the open chat, or makes it. */
export function startFiles(chatID) {
  chatOf = chatID;
  picker.addEventListener("change", () => {
    attach([...picker.files]);
    picker.value = "";
  });
  document.getElementById("message").addEventListener("paste", (e) => {
    if (!e.clipboardData.files.length) return;
    e.preventDefault();
    attach([...e.clipboardData.files]);
  });
  const carries = (e) => [...(e.dataTransfer?.types || [])].includes("Files") && form.checkVisibility();
  let over = 0; // elements that a file is over: each tells when it comes and when it goes
  const shade = (by) => {
    over = Math.max(0, over + by);
    document.body.classList.toggle("dropping", over > 0);
  };
  addEventListener("dragenter", (e) => carries(e) && shade(1));
  addEventListener("dragleave", (e) => carries(e) && shade(-1));
  addEventListener("dragover", (e) => carries(e) && e.preventDefault());
  addEventListener("drop", (e) => {
    if (!carries(e)) return;
    e.preventDefault();
    shade(-over);
    attach([...e.dataTransfer.files]);
  });
  document.addEventListener("entered", draw);
  document.addEventListener("view", draw);
}

/** withFiles returns a message with the names of the files that were added for it. */
export function withFiles(text) {
  const names = added.get(view().dataset.chat);
  return names?.length ? text + "\n\n" + t("attached", { names: names.join(", ") }) : text;
}

/** forgetFiles says that a message with their names is sent. */
export function forgetFiles() {
  added.delete(view().dataset.chat);
  draw();
}

function draw() {
  const had = document.activeElement;
  const names = added.get(view().dataset.chat) || [];
  chips.replaceChildren(...names.map((name) => el("li", {}, icon("doc"), el("span", {}, name),
    el("button", { type: "button", class: "icon-button", "aria-label": t("attach_remove", { name }), click: (e) => busy(e.currentTarget, () => take(name)) }, icon("close")))),
  ...waiting.map((file) => el("li", { class: "sending" }, el("span", { class: "spinner", "aria-hidden": "true" }), el("span", {}, file.name))));
  chips.hidden = !chips.childElementCount;
  if (had.isConnected) return;
  const same = [...chips.querySelectorAll("button")].find((button) => button.ariaLabel === had.ariaLabel);
  if (same) same.focus();
  else rest();
}

let waiting = []; // files that are being sent

async function attach(files) {
  if (!files.length) return;
  clear(saying);
  waiting = [...waiting, ...files];
  draw();
  const refused = [];
  const gone = []; // versions that made room
  try {
    const chat = await chatOf();
    for (const file of files) {
      try {
        const { path, removed = [] } = await sendFile(chat, file, gone);
        gone.push(...removed);
        added.set(chat, [...(added.get(chat) || []), path]);
        announce(t("attach_done", { name: path }));
      } catch (failure) {
        if (!(failure instanceof Problem)) throw failure;
        refused.push({ name: file.name, failure });
      }
      waiting = waiting.filter((other) => other !== file);
      draw();
    }
  } catch (failure) {
    if (!(failure instanceof Problem)) throw failure;
    refused.push({ name: files.map((f) => f.name).join(", "), failure });
  } finally {
    waiting = waiting.filter((file) => !files.includes(file)); // others may be on their way
    draw();
  }
  if (refused.length) {
    problem(saying, {
      title: t("attach_refused", { n: refused.length }), trace: refused[0].failure.trace,
      errors: refused.map(({ name, failure }) => ({ msg: `${name}: ${[failure.title, failure.detail, failure.action].filter(Boolean).join(" ")}` })),
    });
  }
  if (gone.length) {
    const names = [...new Set(gone.map((g) => (g.project_id || g.chat_id ? t("attach_elsewhere", { name: g.path }) : g.path)))].join(", ");
    saying.append(el("p", { role: "status" }, t("attach_made_room", { n: gone.length, names })));
  }
}

// sendFile stores a file under a name that is free, and returns it. A large one is written when its last piece arrives. What made room for
// a piece before is added to gone.
async function sendFile(chat, file, gone) {
  if (file.size > most) throw new Problem({ title: t("attach_large", { size: size(most) }), code: "workspace.too_large" }, 413);
  const upload = newKey();
  let answer;
  let from = 0;
  do {
    const piece = file.slice(from, from + whole);
    const body = new FormData();
    body.append("file", piece, file.name);
    answer = piece.size === file.size ? await api("POST", base(chat) + "/files", body)
      : await api("POST", `${base(chat)}/files?upload=${upload}`, body, { "Content-Range": `bytes ${from}-${from + piece.size - 1}/${file.size}` });
    gone.push(...(answer.removed || []));
    from += whole;
  } while (from < file.size);
  if (answer.refused?.length) throw new Problem({ title: answer.refused[0].message, code: answer.refused[0].code }, 422);
  return answer.files[0];
}

// take removes a file that was added and not sent yet. A message that is sent meanwhile does not name it.
async function take(name) {
  const chat = view().dataset.chat;
  const names = () => added.get(chat) || [];
  added.set(chat, names().filter((other) => other !== name));
  try {
    const { files } = await api("GET", base(chat) + "/files");
    const file = files.find((f) => f.path === name);
    if (file) await remove(chat, file);
    form.querySelector("#message").focus();
  } catch (failure) {
    added.set(chat, [...names(), name]);
    if (!(failure instanceof Problem)) throw failure;
    problem(saying, failure);
  } finally {
    draw();
  }
}

const remove = (chat, file) => api("DELETE", addressOf(chat, file.path), undefined, { "If-Match": `"${file.version}"` });

async function show() {
  const chat = view().dataset.chat;
  if (!chat) return;
  const said = el("div", { "data-problem": true });
  place.replaceChildren(said);
  if (!dialog.open) dialog.showModal();
  try {
    const { files, bytes } = await api("GET", base(chat) + "/files");
    place.append(files.length ? el("ul", { class: "files-list" }, ...files.map((f) => row(chat, f))) : el("p", { class: "fine" }, t("files_none")));
    if (files.length) place.append(el("p", { class: "fine" }, t("files_all", { n: files.length, size: size(bytes) })));
  } catch (failure) {
    if (!(failure instanceof Problem)) throw failure;
    problem(said, failure);
  }
}

const row = (chat, f) => el("li", {},
  el("a", { href: addressOf(chat, f.path), download: f.path.split("/").at(-1) }, icon("doc"), el("span", {}, f.path)),
  el("span", { class: "meta" }, size(f.size)), el("time", { class: "meta", datetime: f.at }, moment(f.at)),
  el("button", { type: "button", class: "icon-button", "aria-label": t("attach_remove", { name: f.path }), title: t("attach_remove", { name: f.path }), click: (e) => drop(e.currentTarget, chat, f) }, icon("trash")));

async function drop(button, chat, f) {
  dialog.close();
  const yes = await ask({ title: t("files_delete", { name: f.path }), text: t("files_delete_why"), yes: t("files_delete_yes"), danger: true });
  if (yes) {
    try {
      await remove(chat, f);
      announce(t("files_deleted", { name: f.path }));
    } catch (failure) {
      if (!(failure instanceof Problem)) throw failure;
      problem(saying, failure);
      return;
    }
  }
  await show();
}

export const actions = {
  "attach": () => picker.click(),
  "files": show,
  "files-close": () => dialog.close(),
};
