// The palette: what can be opened and done, and the chats, by their names. It presses what the page already has, so
// that nothing is done in two ways. It confirms nothing: a plan is confirmed where it is read.

import { fragment, Problem } from "./api.js";
import { rest } from "./focus.js";
import { showKeys } from "./keys.js";
import { pendingCard } from "./run.js";
import { el, icon, t } from "./text.js";
import { go } from "./view.js";

const dialog = document.getElementById("palette");
const input = document.getElementById("palette-words");
const list = document.getElementById("palette-list");
const count = document.getElementById("palette-count");
const recent = 6; // chats that are offered before a search

const one = (css) => document.querySelector(css);
const shown = (node) => node && !node.disabled && !node.closest("[hidden]");
const ownName = (node) => node.getAttribute("aria-label") || [...node.childNodes].filter((n) => n.nodeType === Node.TEXT_NODE).map((n) => n.textContent).join("").trim();
const foldOf = (node) => node.closest("details")?.querySelector("summary");
const nameOf = (node) => (foldOf(node) ? ownName(foldOf(node)) + ": " : "") + ownName(node);
const signOf = (node) => (node.querySelector("use") || foldOf(node)?.querySelector("use"))?.getAttribute("href").slice(3);

// press is a command that presses a control of the page.
const press = (node, name = nameOf(node), sign = signOf(node) || "bolt") => ({ key: name, name: [name], sign, run: () => node.click() });

// doable are the actions that are possible now.
function doable() {
  const list = [press(one(".new-chat"))];
  const add = (name, sign, run) => list.push({ key: name, name: [name], sign, run });
  if (pendingCard()) add(t("palette_plan"), "hand", toPlan);
  if (one("#composer").checkVisibility()) add(t("key_write"), "pencil", () => one("#message").focus());
  const said = [...document.querySelectorAll('.line.assistant [data-action="copy-message"]')].at(-1);
  if (said) add(t("palette_copy"), "copy", () => said.click());
  for (const node of document.querySelectorAll(".topbar-actions :is(a, button)")) if (shown(node)) list.push(press(node));
  for (const node of dialog.querySelectorAll("form button")) list.push(press(node, nameOf(node), node.dataset.sign));
  add(t("keys"), "bolt", showKeys);
  list.push(press(one('form[action="/signout"] button')));
  return list;
}

function toPlan() {
  const goal = pendingCard().querySelector(".goal");
  goal.setAttribute("tabindex", "-1");
  goal.scrollIntoView({ block: "start" });
  goal.focus({ preventScroll: true });
}

const views = () => [...document.querySelectorAll("#sidebar a[data-of]")].map((node) => press(node));

// chat is the command that opens the chat of a row; its names are nodes of the row.
function chat(row) {
  const link = row.querySelector(".chat-link");
  const copy = (css) => link.querySelector(css)?.cloneNode(true).childNodes || [];
  return { key: link.getAttribute("href"), name: [...copy(".chat-name")], more: [...copy(".snippet")], sign: "chat", run: () => go(link.href) };
}

const latest = () => [...document.querySelectorAll(".chat-list > [data-row]:not([hidden])")].slice(0, recent).map(chat);

const fold = (text) => text.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase();

const apart = (text) => fold(text).split(/[^\p{L}\p{N}]+/u).filter(Boolean);
const also = t("palette_also").split(", ").map(apart); // another word, and the word of a name that it stands for

// fitting are the commands in whose names each word begins a word, or stands for one.
function fitting(commands, words) {
  return commands.filter(({ key }) => {
    const of = apart(key);
    return words.every((w) => of.some((name) => name.startsWith(w)) || also.some(([other, name]) => other.startsWith(w) && of.includes(name)));
  });
}

let found = []; // the chats that have the words
let further = ""; // the cursor of the search
let problem = "";
let asking; // the delay before a search
let asked = 0; // searches; only the last one is shown

function typed() {
  clearTimeout(asking);
  const mine = ++asked;
  [found, further, problem] = [[], "", ""];
  const words = input.value.trim();
  if (words) asking = setTimeout(() => search(words, "", mine), 150);
  draw();
}

async function search(words, cursor, mine) {
  let part;
  try {
    part = await fragment("/ui/search?" + new URLSearchParams({ q: words, cursor }));
  } catch (failure) {
    if (!(failure instanceof Problem)) throw failure;
    if (mine === asked) [further, problem] = ["", failure.title];
    if (mine === asked) draw();
    return;
  }
  if (mine !== asked || !dialog.open) return;
  found.push(...part.nodes.filter((row) => row.matches("[data-row]")).map(chat));
  further = part.nodes.at(-1)?.querySelector("[data-cursor]")?.dataset.cursor || "";
  draw();
}

// groups are what is offered, by its kind.
function groups() {
  const words = apart(input.value);
  const none = input.value.trim() === "";
  const chats = none ? latest() : [...found];
  if (further) chats.push({ key: "further", name: [t("palette_further")], sign: "search", stays: true, run: () => search(input.value.trim(), further, asked) });
  const own = none || words.length ? [[t("palette_go"), fitting(views(), words)], [t("palette_do"), fitting(doable(), words)]] : [];
  const said = [t("palette_chats"), chats];
  return (none ? [said, ...own] : [...own, said]).filter(([, of]) => of.length);
}

let chosen = ""; // the key of the option that Enter runs

const options = () => [...list.querySelectorAll("[role=option]")];

function draw() {
  const made = groups().map(([name, of], i) => el("div", { role: "group", "aria-labelledby": "palette-group-" + i },
    el("p", { class: "palette-kind", id: "palette-group-" + i }, name),
    ...of.map(({ key, name, more, sign }) => el("div", { role: "option", "data-key": key, class: "palette-option" }, icon(sign), el("span", { class: "palette-name" }, ...name), more?.length ? el("span", { class: "snippet" }, ...more) : null))));
  list.replaceChildren(...made);
  const all = options();
  all.forEach((option, i) => (option.id = "palette-" + i));
  list.hidden = !all.length;
  input.setAttribute("aria-expanded", String(all.length > 0));
  choose(all.find((o) => o.dataset.key === chosen) || all[0]);
  const n = all.filter((o) => o.dataset.key !== "further").length;
  count.textContent = problem || t(n ? "palette_found" : "palette_none", { n });
}

function choose(option) {
  chosen = option?.dataset.key || "";
  for (const other of options()) other.setAttribute("aria-selected", String(other === option));
  if (option) input.setAttribute("aria-activedescendant", option.id);
  else input.removeAttribute("aria-activedescendant");
  option?.scrollIntoView({ block: "nearest" });
}

// run does what is chosen, as it is by now: what was pressable may have been replaced meanwhile.
function run(option) {
  const all = groups().flatMap(([, of]) => of);
  const command = all.find(({ key }) => key === option?.dataset.key);
  if (!command) return;
  if (!command.stays) dialog.close(); // which puts the focus back to where it was
  command.run();
}

function keys(e) {
  if (e.isComposing) return;
  const all = options();
  const at = all.findIndex((o) => o.dataset.key === chosen);
  const step = { ArrowDown: 1, ArrowUp: -1 }[e.key];
  if (step && all.length) choose(all[(at + step + all.length) % all.length]);
  else if (e.key === "Enter") run(all[at]);
  else if ((e.ctrlKey || e.metaKey) && e.key.toLowerCase() === "k") dialog.close();
  else return;
  e.preventDefault();
}

/** openPalette shows it, with nothing typed. */
export function openPalette() {
  input.value = chosen = "";
  dialog.showModal();
  input.focus();
  typed();
}

/** startPalette makes it ready. */
export function startPalette() {
  input.addEventListener("input", () => {
    chosen = "";
    typed();
  });
  dialog.addEventListener("keydown", keys);
  dialog.addEventListener("close", () => {
    asked++;
    clearTimeout(asking);
    rest();
  });
  list.addEventListener("mousedown", (e) => e.target.closest("[role=option]") && e.preventDefault()); // the focus stays in the input
  list.addEventListener("click", (e) => run(e.target.closest("[role=option]")));
  dialog.addEventListener("click", (e) => e.target === dialog && dialog.close());
}

export const actions = { "palette-close": () => dialog.close() };
