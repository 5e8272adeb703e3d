// The shortcuts of the page: one table, from which keys are obeyed and listed.

import { rest } from "./focus.js";
import { el, t } from "./text.js";

const parts = { page: t("keys_page"), waiting: t("keys_waiting"), search: t("keys_search"), write: t("keys_write") };
const table = [];

/** shortcut adds a key to the table: its part of the list, the key as KeyboardEvent.key has it, whether Ctrl or ⌘
    goes with it, what it does, and when. Without act it is only listed, because an input obeys it. */
export const shortcut = (entry) => table.push(entry);

const letter = /^[a-z]$/i;

// obey runs the shortcut of a key. In an input only those with Ctrl are obeyed, and behind an open dialog none. Another
// character is meant for the message.
function obey(e) {
  if (e.defaultPrevented || e.isComposing || e.altKey || document.querySelector("dialog[open]")) return;
  const mod = e.ctrlKey || e.metaKey;
  if (!mod && e.target.closest?.("input:not([type=checkbox]), textarea, select, [contenteditable]")) return;
  const silent = e.shiftKey && letter.test(e.key) || !mod && e.key.length === 1 && !obeysLetters();
  const entry = !silent && table.find((s) => s.act && s.key === e.key.toLowerCase() && Boolean(s.mod) === mod && (!s.when || s.when()));
  if (entry) {
    e.preventDefault();
    entry.act();
  } else if (!mod && e.key.length === 1 && e.key !== " ") {
    write();
  }
}

/** write puts the focus where one writes, if that is there. A character that is typed meanwhile stands in the message. */
export function write() {
  const field = document.getElementById("message");
  if (field.checkVisibility()) field.focus();
}

// Whether keys that are single characters are obeyed is kept by the browser: whoever dictates, or has a tremor, switches
// them off (WCAG 2.1.4). A browser may refuse to keep anything; then they are obeyed.
const place = "piloto.letters";

function obeysLetters() {
  try {
    return localStorage.getItem(place) !== "off";
  } catch {
    return true;
  }
}

/** chooseLetters keeps what the settings say of them. */
export function chooseLetters({ checked }) {
  try {
    if (checked) localStorage.removeItem(place);
    else localStorage.setItem(place, "off");
  } catch { /* it is refused */ }
  offerLetters();
}

// offerLetters shows the choice, which only a page with its script has.
function offerLetters() {
  const choice = document.getElementById("letters");
  if (!choice) return;
  choice.hidden = false;
  choice.querySelector("input").checked = obeysLetters();
}

/** startKeys begins to obey. */
export function startKeys() {
  document.addEventListener("keydown", obey);
  document.addEventListener("view", offerLetters);
  offerLetters();
  shortcut({ part: "page", key: "?", says: t("key_keys"), act: showKeys });
}

const mac = /Mac|iP/.test(navigator.platform);
const names = { arrowup: "↑", arrowdown: "↓", escape: "Esc", enter: "Enter" };
const cap = (key) => el("kbd", {}, names[key] || (letter.test(key) ? key.toUpperCase() : key));

/** showKeys lists the table. */
export function showKeys() {
  const dialog = el("dialog", { class: "keys", "aria-labelledby": "keys-title" }, el("h2", { id: "keys-title" }, t("keys")));
  for (const [part, name] of Object.entries(parts)) {
    const rows = table.filter((s) => s.part === part).map((s) => el("div", { "data-key": s.key },
      el("dt", {}, s.mod && el("kbd", {}, mac ? "⌘" : "Ctrl"), s.shift && el("kbd", {}, "Shift"), cap(s.key)), el("dd", {}, s.says)));
    if (rows.length) dialog.append(el("h3", {}, name), el("dl", {}, ...rows));
  }
  const close = el("button", { type: "button", class: "button", click: () => dialog.close() }, t("close"));
  dialog.append(el("div", { class: "dialog-actions" }, close));
  dialog.addEventListener("click", (e) => e.target === dialog && dialog.close());
  dialog.addEventListener("close", () => (dialog.remove(), rest()));
  document.body.append(dialog);
  dialog.showModal();
  close.focus();
}
