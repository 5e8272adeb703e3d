// The list of chats: what is searched in it, and what can be done with a chat.

import { api, fragment, Problem } from "./api.js";
import { act } from "./form.js";
import { shortcut } from "./keys.js";
import { announce, ask, problem, toast } from "./notice.js";
import { el, icon, t, tellTime } from "./text.js";
import { again, go, refreshChats, view } from "./view.js";

const address = (chat) => "/api/chats/" + encodeURIComponent(chat);
const field = () => document.querySelector("[data-input=find-chats]");

let asking; // the delay before a search
let asked = 0; // searches; only the last one is shown

/** findChats shows what has the words that were typed, in the place of the list. */
export function findChats(input) {
  clearTimeout(asking);
  const mine = ++asked;
  const words = input.value.trim();
  if (!words) {
    refreshChats();
    return;
  }
  asking = setTimeout(() => look(words, "", mine), 200);
}

async function look(words, cursor, mine) {
  const q = new URLSearchParams({ q: words, project: document.getElementById("chats").dataset.project, cursor });
  let part;
  try {
    part = await fragment("/ui/search?" + q);
  } catch (failure) {
    if (!(failure instanceof Problem)) throw failure;
    problem(document.getElementById("composer-problem"), failure);
    return;
  }
  if (mine !== asked) return;
  const list = document.querySelector(".chat-list");
  const more = list.querySelector('[data-action="more-found"]')?.closest("li");
  if (cursor && more) more.replaceWith(...part.nodes);
  else list.replaceChildren(...part.nodes);
  listed();
  tellTime(list);
  announce(t("found", { n: list.querySelectorAll("[data-row]").length }));
}

const leaving = new Set(); // chats that are deleted when the time for an undo is over
const undoTime = 30_000;

let archiveOpen = false;

// listed brings a list that was just shown up to what only the page knows.
function listed() {
  for (const row of document.querySelectorAll("[data-row]")) row.hidden = leaving.has(row.dataset.row);
  const archive = document.querySelector(".archive > details");
  if (archive && archiveOpen) archive.open = true;
}

/** toSearch puts the focus into the search field, which may be in the drawer. */
export function toSearch() {
  if (!field().checkVisibility({ visibilityProperty: true })) document.querySelector(".menu")?.click();
  field().focus();
}

/** startChats follows the list of chats. */
export function startChats() {
  document.addEventListener("listed", listed);
  document.addEventListener("toggle", (e) => e.target.matches?.(".archive > details") && showArchive(e.target), true);
  document.addEventListener("keydown", (e) => {
    const links = [...document.querySelectorAll(".chat-list .chat-link")].filter((link) => link.checkVisibility());
    const at = links.indexOf(e.target);
    if (e.target === field() && e.key === "Escape" && field().value) {
      e.stopPropagation();
      field().value = "";
      findChats(field());
    } else if (e.target === field() && e.key === "Enter" && !e.isComposing) {
      e.preventDefault();
      if (field().value.trim()) links[0]?.click();
    } else if ((e.target === field() || at >= 0) && (e.key === "ArrowDown" || e.key === "ArrowUp")) {
      e.preventDefault();
      const next = at + (e.key === "ArrowDown" ? 1 : -1);
      (next < 0 ? field() : links[Math.min(next, links.length - 1)])?.focus();
    }
  }, true);
  shortcut({ part: "search", key: "arrowdown", says: t("key_down") });
  shortcut({ part: "search", key: "arrowup", says: t("key_up") });
  shortcut({ part: "search", key: "enter", says: t("key_first") });
  shortcut({ part: "search", key: "escape", says: t("key_empty") });
  document.addEventListener("view", zoned);
  document.addEventListener("click", (e) => {
    for (const menu of document.querySelectorAll(".export[open]")) menu.open = menu.contains(e.target) && !e.target.closest("a");
  });
  document.addEventListener("keydown", (e) => {
    const menu = e.key === "Escape" && document.querySelector(".export[open]");
    if (!menu) return;
    e.stopPropagation();
    menu.open = false;
    menu.firstElementChild.focus();
  }, true);
  zoned();
  addEventListener("pagehide", () => {
    for (const chat of leaving) fetch(address(chat), { method: "DELETE", keepalive: true, credentials: "same-origin" });
  });
}

// zoned has the times of an export in the zone of the reader.
function zoned() {
  for (const link of document.querySelectorAll("[data-zone]")) {
    const url = new URL(link.href);
    url.searchParams.set("tz", Intl.DateTimeFormat().resolvedOptions().timeZone);
    link.href = url.href;
  }
}

async function showArchive(fold) {
  archiveOpen = fold.open;
  if (!fold.open) return;
  const part = await fragment("/ui/chats?" + new URLSearchParams({ archived: "", project: document.getElementById("chats").dataset.project, chat: view().dataset.chat || "" }));
  if (!part.ok) return;
  fold.querySelector("ul").replaceChildren(...part.nodes);
  for (const row of fold.querySelectorAll("[data-row]")) row.hidden = leaving.has(row.dataset.row);
  tellTime(fold);
}

// change changes a chat, and shows what came of it.
const change = (button, chat, body, changed) => act(button, async () => {
  await api("PATCH", address(chat), body);
  if (view().dataset.chat === chat) await again();
  if (field().value.trim()) findChats(field());
  else await refreshChats();
  changed?.();
});

async function rename(button, chat, name) {
  const title = await ask({ title: t("rename"), label: t("rename_label"), value: name, yes: t("save") });
  if (title) await change(button, chat, { title });
}

async function remove(chat) {
  if (leaving.has(chat)) return;
  const open = view().dataset.chat === chat;
  leaving.add(chat);
  listed();
  if (open) await go("/");
  const box = toast(t("chat_deleted"), {
    label: t("take_back"), after: undoTime, over: () => finish(chat), act: () => {
      leaving.delete(chat);
      listed();
      if (open) go("/?chat=" + encodeURIComponent(chat));
      else document.querySelector(`[data-row="${CSS.escape(chat)}"] .chat-link`)?.focus();
    },
  });
  box.querySelector("button").focus();
}

// finish deletes a chat for good. One that may not be deleted comes back.
async function finish(chat) {
  try {
    await api("DELETE", address(chat));
  } catch (failure) {
    if (!(failure instanceof Problem)) throw failure;
    if (failure.status !== 404) toast(failure.detail || failure.title);
  }
  leaving.delete(chat);
  await refreshChats();
  listed();
}

const archive = (button, chat, archived) => change(button, chat, { archived }, () =>
  toast(t(archived ? "chat_archived" : "chat_unarchived"), { label: t("take_back"), after: undoTime, act: () => change(button, chat, { archived: !archived }) }));

// menu shows what can be done with a chat.
function menu(button) {
  const { chat, name, project } = button.dataset;
  const pinned = "pinned" in button.dataset;
  const archived = "archived" in button.dataset;
  const dialog = el("dialog", { class: "chat-menu", "aria-labelledby": "chat-menu-title" });
  const item = (sign, text, work) => el("button", { type: "button", class: "menu-item", click: () => { dialog.close(); work(); } }, icon(sign), text);
  const projects = [...document.querySelectorAll("#project option")].map((o) => el("option", { value: o.value, selected: o.value === project }, o.value ? o.textContent : t("no_project")));
  dialog.append(
    el("h2", { id: "chat-menu-title" }, name),
    item("pencil", t("rename"), () => rename(button, chat, name)),
    item("pin", t(pinned ? "unpin" : "pin"), () => change(button, chat, { pinned: !pinned })),
    item("folder", t(archived ? "unarchive" : "archive"), () => archive(button, chat, !archived)),
    item("trash", t("delete"), () => remove(chat)),
  );
  if (projects.length) {
    const select = el("select", { class: "select" }, ...projects);
    select.value = project || "";
    select.addEventListener("change", () => { dialog.close(); change(button, chat, { project_id: select.value }); });
    dialog.append(el("label", { class: "field" }, el("span", {}, t("move_to")), select));
  }
  dialog.append(el("div", { class: "dialog-actions" }, el("button", { type: "button", class: "button", click: () => dialog.close() }, t("close"))));
  dialog.addEventListener("close", () => dialog.remove());
  dialog.addEventListener("click", (e) => e.target === dialog && dialog.close());
  document.body.append(dialog);
  dialog.showModal();
}

export const actions = {
  "chat-menu": menu,
  "rename-chat": (button) => rename(button, view().dataset.chat, view().dataset.title),
  "delete-chat": () => remove(view().dataset.chat),
  "more-found": (button) => look(field().value.trim(), button.dataset.cursor, asked),
};
