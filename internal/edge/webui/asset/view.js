// Places and parts: going to a view, and bringing one up to date without losing
// what the reader unfolded, scrolled to or was about to press.

import { fragment } from "./api.js";
import { landing, rest } from "./focus.js";
import { problem } from "./notice.js";
import { tellTime } from "./text.js";

export const view = () => document.getElementById("view");
export const thread = () => document.getElementById("thread");
const scroller = () => document.getElementById("scroller");

/** single makes work that runs once at a time: who asks while it runs gets a run
    that begins afterwards, and all who do get the same one. */
export function single(work) {
  let running, next;
  const start = () => {
    next = undefined;
    running = work().finally(() => (running = undefined));
    return running;
  };
  return () => (running ? (next ??= running.catch(() => {}).then(start)) : start());
}

/** partOf returns where the fragment of an address of the page is served. */
export function partOf(url) {
  const q = url.searchParams;
  const id = encodeURIComponent(q.get("id") || "");
  if (q.get("chat")) return "/ui/chats/" + encodeURIComponent(q.get("chat"));
  if (q.get("view") === "servers") return "/ui/servers" + (id && "/" + id);
  if (q.get("view") === "projects") return "/ui/projects" + (id && "/" + id);
  if (q.get("view") === "assistants") return "/ui/assistants" + (id && "/" + id);
  if (q.get("view") === "waiting" || q.get("view") === "runs") {
    const rest = new URLSearchParams(q);
    rest.delete("view");
    return "/ui/" + q.get("view") + (rest.size ? "?" + rest : "");
  }
  if (q.get("view") === "webhooks") return "/ui/webhooks";
  if (q.get("view") === "settings") return "/ui/settings";
  if (q.get("view") === "rules") return "/ui/rules";
  if (q.get("approve")) return "/ui/approve/" + encodeURIComponent(q.get("approve")) + "?" + new URLSearchParams({ step: q.get("step") || "", request_digest: q.get("request_digest") || "" });
  if (q.get("view") === "credits") return "/ui/credits" + (q.get("by") ? "?by=" + encodeURIComponent(q.get("by")) : "");
  return "/ui/new" + (q.get("project") ? "?project=" + encodeURIComponent(q.get("project")) : "");
}

let named = ""; // the view
let waiting = ""; // how many things wait for the person

/** entitle says in the title of the window which view is open, and how much waits; what is not given stays. */
export function entitle(title = named, count = waiting) {
  [named, waiting] = [title, count];
  document.title = (count && `(${count}) `) + title + " · Piloto";
}

let going = 0;

/** go shows the view of an address; push is false when the history moved already,
    and keep is true when it is the view that is shown. */
export async function go(address, { push = true, focus = true, keep = false } = {}) {
  const url = new URL(address, location.origin);
  const mine = ++going;
  let part;
  document.dispatchEvent(new CustomEvent("leaving"));
  try {
    part = await fragment(partOf(url));
  } catch (failure) {
    document.dispatchEvent(new CustomEvent("stayed"));
    const place = !thread() && view().querySelector("[data-problem]"); // where there is no composer
    if (mine === going) problem(place || document.getElementById("composer-problem"), failure);
    return false;
  }
  if (mine !== going) return false; // a later choice won
  if (push) history.pushState(null, "", url);
  const restore = keep ? keepsake() : () => {};
  document.getElementById("place").replaceChildren(...part.nodes);
  document.body.classList.remove("drawer");
  arrived();
  restore();
  if (focus && !writes()) landing().focus({ preventScroll: true });
  toEnd();
  showAsked();
  seek();
  refreshChats();
  return true;
}

/** again shows the same view as it is by now, with the same folds open and the
    reader where they were. */
export const again = () => go(location.href, { push: false, focus: false, keep: true });

// keepsake remembers what a view that is shown again takes over, and returns how.
function keepsake() {
  const { scrollTop } = scroller();
  const open = [...view().querySelectorAll("details[data-key][open]")].map((fold) => fold.dataset.key);
  return () => {
    for (const key of open) {
      const fold = view().querySelector(`details[data-key="${CSS.escape(key)}"]`);
      if (fold) fold.open = true;
    }
    if (!thread()) scroller().scrollTop = scrollTop;
    if (document.activeElement === document.body) view().focus({ preventScroll: true });
  };
}

// writes reports whether somebody began to write while the view was on its way.
const writes = () => document.activeElement?.id === "message" && document.activeElement.checkVisibility();

/** arrived brings the frame up to the view in it. */
export function arrived() {
  const v = view();
  document.body.dataset.view = v.dataset.name;
  entitle(v.dataset.title || "");
  for (const link of document.querySelectorAll("[data-of]")) {
    if (link.dataset.of.split(" ").includes(v.dataset.name)) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  tellTime();
  document.dispatchEvent(new CustomEvent("view"));
  document.dispatchEvent(new CustomEvent("entered"));
}

let counts = false; // the next list tells what waits, too

/** refreshSide brings what stands beside the view up to date: the chats, and how much waits. */
export function refreshSide() {
  counts = true;
  return refreshChats();
}

/** refreshChats fetches the list beside the view, for the view's project. */
export const refreshChats = single(async () => {
  const now = document.getElementById("chats");
  const v = view();
  const project = "project" in v.dataset && v.dataset.name !== "project" ? v.dataset.project : now.dataset.project;
  const q = new URLSearchParams({ project: project || "", chat: v.dataset.chat || "" });
  if (counts) q.set("waiting", "");
  counts = false;
  try {
    const part = await fragment("/ui/chats?" + q);
    await letGo();
    if (!part.ok) return;
    const waits = part.nodes.find((node) => node.matches("[data-waiting]"));
    if (waits) document.dispatchEvent(new CustomEvent("waits", { detail: JSON.parse(waits.dataset.waiting) }));
    const field = now.querySelector("[data-input=find-chats]");
    if (field.value.trim()) return; // the list shows what was found
    const finding = field === document.activeElement;
    const list = now.querySelector(".chat-list");
    const top = list?.scrollTop || 0;
    const at = document.activeElement;
    const focused = now.contains(at) && (at.id ? "#" + at.id : at.dataset.chat ? `${at.localName}[data-chat="${CSS.escape(at.dataset.chat)}"]` : ".new-chat");
    const next = part.nodes[0];
    document.getElementById("chats").replaceWith(next);
    const fresh = next.querySelector(".chat-list");
    if (fresh) fresh.scrollTop = top;
    if (finding) next.querySelector("[data-input=find-chats]").focus();
    else if (focused) (next.querySelector(focused) || next.querySelector(".new-chat")).focus();
    tellTime(next);
    document.dispatchEvent(new CustomEvent("listed"));
  } catch { /* the list stays as it was; the next change brings it up to date */ }
});

/** moreChats adds the next page of the list. */
export async function moreChats(button) {
  const now = document.getElementById("chats");
  const q = new URLSearchParams({ project: now.dataset.project, chat: view().dataset.chat || "", cursor: button.dataset.cursor });
  if (button.closest(".archive")) q.set("archived", "");
  const part = await fragment("/ui/chats?" + q);
  if (!part.ok) return;
  button.closest("li").replaceWith(...part.nodes);
  part.nodes[0]?.querySelector("a, button")?.focus({ preventScroll: true });
  document.dispatchEvent(new CustomEvent("listed"));
}

/** atEnd reports whether the newest line is in sight. */
export const atEnd = () => {
  const s = scroller();
  return !s || s.scrollHeight - s.scrollTop - s.clientHeight < 120;
};

/** gently is how something moves into sight: at once for who wants less motion. */
export const gently = () => (matchMedia("(prefers-reduced-motion: reduce)").matches ? "instant" : "smooth");

/** toEnd shows the newest line; of a plan that does not fit, its beginning: it is
    to be read before it is confirmed. */
export function toEnd(smooth = false) {
  const s = scroller();
  if (!s || !thread()) return;
  const last = thread().lastElementChild;
  const draft = last?.querySelector(".card[data-draft]");
  const tall = draft && last.offsetHeight + 40 > s.clientHeight;
  const top = tall ? s.scrollTop + last.getBoundingClientRect().top - s.getBoundingClientRect().top - 16 : s.scrollHeight;
  s.scrollTo({ top, behavior: smooth ? gently() : "instant" });
}

/** showAsked brings what a link led to into sight, once: the person is asked there,
    and nothing was done by coming. */
export function showAsked() {
  const { asked } = view().dataset;
  const place = asked && thread() && document.getElementById(asked);
  if (!place) return;
  delete view().dataset.asked;
  place.setAttribute("tabindex", "-1");
  place.scrollIntoView({ block: "center" });
  place.focus({ preventScroll: true });
}

const mostSought = 50; // pages

// showKey unfolds a provider and leads to the field of its key, once.
function showKey(id) {
  const field = document.getElementById(id);
  if (!field) return;
  history.replaceState(null, "", location.pathname + location.search);
  field.closest("details").open = true;
  field.scrollIntoView({ block: "center" });
  field.focus({ preventScroll: true });
}

/** seek brings the message or the card that the address names into sight, and reads older ones until it is there. */
export async function seek() {
  const id = decodeURIComponent(location.hash.slice(1));
  const v = view();
  if (id.startsWith("key-")) showKey(id);
  if (!/^(m|run)-/.test(id) || !thread()) return;
  for (let page = 0; page < mostSought && view() === v && !document.getElementById(id) && document.querySelector("#older button"); page++) {
    await older(document.querySelector("#older button"));
  }
  const line = document.getElementById(id);
  if (!line || view() !== v) return;
  line.setAttribute("tabindex", "-1");
  line.classList.add("sought");
  line.scrollIntoView({ block: "center" });
  line.focus({ preventScroll: true });
}

// A press is a pointer that goes down and up on one element. It is lost when the
// element is replaced in between.
let down; // a promise, while a pointer is down
addEventListener("pointerdown", () => {
  down ??= new Promise((resolve) => {
    const ended = () => setTimeout(() => resolve((down = undefined))); // after the click that follows
    for (const name of ["pointerup", "pointercancel"]) addEventListener(name, ended, { once: true, capture: true });
  });
}, true);

/** letGo is awaited before something on the screen is replaced: while a pointer is
    down, everything stays where it is. */
export const letGo = () => down;

/** replaceKept puts next in the place of old, with the same folds open, the same
    scroll positions, and the focus where it was, or on the state of a card. */
export function replaceKept(old, next) {
  const active = document.activeElement;
  const had = old.contains(active);
  const keep = had ? active.dataset.keep : undefined;
  const inside = had ? active.dataset.action || active.closest("[data-key]")?.dataset.key || keep : undefined;
  for (const typed of old.querySelectorAll("[data-keep]")) {
    const same = next.querySelector(`[data-keep="${CSS.escape(typed.dataset.keep)}"]`);
    if (same) same.value = typed.value;
  }
  for (const fold of old.querySelectorAll("details[data-key]")) {
    const same = next.querySelector(`details[data-key="${CSS.escape(fold.dataset.key)}"]`);
    if (same) same.open = fold.open;
  }
  const marks = [...old.querySelectorAll("pre.code")].map((pre) => pre.scrollTop);
  old.replaceWith(next);
  next.querySelectorAll("pre.code").forEach((pre, i) => (pre.scrollTop = marks[i] || 0));
  tellTime(next);
  if (!had) return;
  const again = (keep && next.querySelector(`[data-keep="${CSS.escape(keep)}"]`)) || (inside && (next.querySelector(`[data-action="${CSS.escape(inside)}"]:not(:disabled)`) ||
    next.querySelector(`details[data-key="${CSS.escape(inside)}"] > summary`)));
  if (again) again.focus({ preventScroll: true });
  else {
    const state = next.querySelector(".status") || next; // what became of it
    state.setAttribute("tabindex", "-1");
    state.focus({ preventScroll: true });
  }
}

// Lines that only the page knew of, and that the server's replace at the next look.
const leaving = new Set();

/** refreshChat brings the open conversation up to date, line by line; gone are
    the lines that only the page knew of and that the server's now replace. */
export function refreshChat(gone = []) {
  gone.forEach((line) => leaving.add(line));
  return look();
}

const look = single(async () => {
  const chat = view().dataset.chat;
  if (!chat || !thread()) return;
  const gone = [...leaving];
  const chosen = view().dataset.mode, actor = view().dataset.agent;
  const part = await fragment("/ui/chats/" + encodeURIComponent(chat));
  gone.forEach((line) => leaving.delete(line));
  await letGo();
  if (view().dataset.chat !== chat) return; // somebody went elsewhere meanwhile
  if (!part.ok) {
    document.getElementById("place").replaceChildren(...part.nodes);
    arrived();
    return;
  }
  const fresh = part.nodes[0];
  const wasAtEnd = atEnd();
  const { pending, active, title, mode, agent, assistantMode } = fresh.dataset;
  Object.assign(view().dataset, { pending, active, title, assistantMode });
  if (view().dataset.mode === chosen) view().dataset.mode = mode; // and nobody chose meanwhile
  if (view().dataset.agent === actor) view().dataset.agent = agent;
  view().toggleAttribute("data-ai-off", "aiOff" in fresh.dataset);
  frame(fresh);
  entitle(title);
  gone.forEach((line) => line.remove());
  const written = topOf(document.querySelector("#writing .prose"));
  const added = reconcile(thread(), fresh.querySelector("#thread"));
  document.dispatchEvent(new CustomEvent("lines", { detail: { chat, added } }));
  const stands = topOf(added.find((line) => line.matches(".line.assistant"))?.querySelector(".prose"));
  if (written !== undefined && stands !== undefined) scroller().scrollTop += stands - written; // what is above it came with it
  tellTime(thread());
  if (wasAtEnd) toEnd(added.length > 0);
  document.dispatchEvent(new CustomEvent("view"));
  return added;
});

const topOf = (node) => node?.getBoundingClientRect().top;

// frame takes over what stands around the lines: all of it when the conversation
// has just begun, else its title.
function frame(fresh) {
  if (view().querySelector(".to-end")) {
    document.getElementById("view-title").replaceWith(fresh.querySelector("#view-title"));
    return;
  }
  view().querySelector(".topbar").replaceWith(fresh.querySelector(".topbar"));
  view().append(fresh.querySelector(".to-end"));
  view().dataset.name = document.body.dataset.view = "chat";
}

/** reconcile keeps the lines that did not change, and returns those that are new.
    What the page said by itself goes, but not a message on its way or one that
    was not sent; older lines stay above. */
function reconcile(list, fresh) {
  list.querySelectorAll("[data-local]:not(.sending, #writing, .failed)").forEach((line) => line.remove());
  const added = [];
  let after = null;
  for (const next of [...fresh.children]) {
    if (next.id === "older") {
      if (!list.firstElementChild) list.append(next);
      continue;
    }
    const old = document.getElementById(next.id);
    if (!old) {
      while (after?.nextElementSibling?.matches(".failed")) after = after.nextElementSibling; // it was said before what is new
      if (after) after.after(next);
      else list.append(next);
      added.push(next);
      after = next;
      continue;
    }
    if (next.matches(".job")) {
      const grew = old.dataset.seq !== next.dataset.seq;
      if (grew) replaceKept(old, next);
      after = grew ? next : old;
      continue;
    }
    if (old.matches(".earlier") !== next.matches(".earlier")) { // another came in its place
      replaceKept(old, next);
      after = next;
      continue;
    }
    const end = old.querySelector(".line-end"), end2 = next.querySelector(".line-end");
    if (end && end2 && end.innerHTML !== end2.innerHTML) replaceKept(end, end2.cloneNode(true)); // it was rated
    const card = old.querySelector(".card");
    const card2 = next.querySelector(".card");
    if (card && card2) {
      if (stamp(card) !== stamp(card2)) replaceKept(card, card2);
    } else if (card) { // its plan was changed: the card stands further down
      old.replaceChildren(...next.childNodes);
    } else if (bare(old) !== next.innerHTML && !old.querySelector("time")) {
      old.replaceChildren(...next.childNodes);
    }
    after = old;
  }
  adopt(list, added);
  return added;
}

// bare is what the server sent of a line: without the buttons that the page added.
function bare(line) {
  if (!line.querySelector(".copy-code")) return line.innerHTML;
  const copy = line.cloneNode(true);
  copy.querySelectorAll(".copy-code").forEach((button) => button.remove());
  return copy.innerHTML;
}

// adopt drops messages on their way that the server has by now: those of the same
// text, and the only one there is when it is the only new one.
function adopt(list, added) {
  const said = added.filter((line) => line.matches(".line.user"));
  const textOf = (line) => line.querySelector(".bubble").textContent;
  for (const mine of list.querySelectorAll(".line.user.sending")) {
    let i = said.findIndex((line) => textOf(line) === textOf(mine));
    if (i < 0 && said.length === 1 && list.querySelectorAll(".line.user.sending").length === 1) i = 0;
    if (i >= 0) {
      said.splice(i, 1);
      mine.remove();
    }
  }
}

const stamp = (card) => [card.dataset.status, card.dataset.seq, "live" in card.dataset, "dead" in card.dataset, card.dataset.undoneBy].join();

/** older puts the page before the first line above it, and stays where the reader was. */
export async function older(button) {
  const chat = view().dataset.chat;
  const part = await fragment("/ui/chats/" + encodeURIComponent(chat) + "?cursor=" + encodeURIComponent(button.dataset.cursor));
  if (!part.ok) return;
  const s = scroller();
  const below = s.scrollHeight - s.scrollTop;
  document.getElementById("older").replaceWith(...part.nodes);
  (part.nodes[0].querySelector("button") || view()).focus({ preventScroll: true });
  tellTime(thread());
  s.scrollTop = s.scrollHeight - below;
}

