// Runs: confirming and cancelling what is on the screen, and following a run by
// its events until it ends, whatever happens to the connection meanwhile.

import { api, fragment, newKey, Problem } from "./api.js";
import { busy, clear, problem } from "./notice.js";
import { readOn } from "./seen.js";
import { connected } from "./socket.js";
import { gently, letGo, refreshChat, refreshChats, replaceKept, atEnd, toEnd } from "./view.js";
import { tellRun } from "./told.js";

const cardOf = (id) => document.getElementById("run-" + id);

// cardAt is the card that a button is for; one beneath a text names the card's run.
const cardAt = (button) => button.closest(".card") || cardOf(button.closest("[data-run]").dataset.run);

/** pendingCard is the newest draft on the screen. */
export const pendingCard = () => [...document.querySelectorAll(".card[data-draft]")].at(-1);

// One key for each confirmation of one plan as it was seen: a repeated press,
// or a press after a lost answer, gets the first one's answer.
const keys = new Map();

function keyFor(card) {
  const what = card.dataset.run + card.dataset.digest;
  if (!keys.has(what)) {
    keys.set(what, newKey());
  }
  return keys.get(what);
}

/** confirmRun confirms the plan of a card, when all of it was in sight; else it shows what was not. */
export const confirmRun = (button) => (readOn(cardAt(button)) ? undefined : decide(button, "confirm"));
export const cancelRun = (button) => decide(button, "cancel");

function decide(button, verb) {
  return onCard(button, async ({ run, digest }, card) => {
    const headers = verb === "confirm" ? { "Idempotency-Key": keyFor(card) } : {};
    await api("POST", `/api/runs/${encodeURIComponent(run)}/${verb}`, { digest }, headers);
  });
}

/** onCard does what a button of a card is for, with the card's other buttons switched
    off; what fails is told on the card, as it is by then. still: nothing changed. */
export function onCard(button, work, { still = false } = {}) {
  const card = cardAt(button);
  const { run } = card.dataset;
  const place = card.querySelector("[data-problem]");
  const others = [...card.querySelectorAll(".card-actions button, .decision-actions button")].filter((b) => b !== button && !b.disabled);
  return busy(button, async () => {
    clear(place);
    others.forEach((b) => (b.disabled = true));
    try {
      await work(card.dataset, card);
      if (!still) await refreshAll(run);
    } catch (failure) {
      if (!(failure instanceof Problem)) throw failure;
      // The plan may have moved: show it as it is, and why it was not done.
      await refreshCard(run).catch(() => {});
      const now = cardOf(run)?.querySelector("[data-problem]");
      if (now) problem(now, failure);
      if (failure.status === 409 || failure.status === 410) refreshAll(run).catch(() => {});
    } finally {
      others.forEach((b) => (b.disabled = false));
    }
  });
}

async function refreshAll(run) {
  await refreshChat();
  if (cardOf(run)) follow(run);
  refreshChats();
}

/** refreshCard fetches a card and puts it in its place. */
export async function refreshCard(run) {
  const part = await fragment("/ui/runs/" + encodeURIComponent(run));
  await letGo();
  const old = cardOf(run);
  if (!old || !part.ok) return old;
  const next = part.nodes[0];
  const wasAtEnd = atEnd();
  const said = old.querySelector("[data-problem]").firstChild;
  replaceKept(old, next);
  if (said) next.querySelector("[data-problem]").append(said);
  tellRun(next);
  next.dispatchEvent(new CustomEvent("card", { bubbles: true }));
  if (wasAtEnd) toEnd(true);
  return next;
}

/** wakeAll has each run that is followed asked about once, because something may have happened to it. */
export function wakeAll() {
  for (const wake of [...followed.values()]) wake();
}

const followed = new Map(); // run → the follower's own way to wake up
const rested = new Map(); // run → the status that its follower saw before it waited

/** followAll follows every run on the screen that may still change. Who follows one that has another status by now waits
    no longer. */
export function followAll() {
  for (const { dataset } of document.querySelectorAll(".card[data-live], .card[data-draft]")) {
    if (rested.get(dataset.run) !== dataset.status) follow(dataset.run, { heard: false });
  }
}

/** follow follows a run until it ends. heard: something happened to it, and so it is asked about at once. */
export async function follow(run, { heard = true } = {}) {
  if (followed.has(run)) {
    followed.get(run)();
    return;
  }
  if (heard) early.add(run);
  awake(run);
  try {
    await watch(run);
  } finally {
    followed.delete(run);
    rested.delete(run);
    early.delete(run);
  }
}

const slowest = 60; // seconds between two questions about a run, at most

async function watch(run) {
  let wait = 0.4;
  let lost = 0;
  for (let card = cardOf(run); card && ("live" in card.dataset || "draft" in card.dataset); card = cardOf(run)) {
    rested.set(run, card.dataset.status);
    await pause(run, lost ? Math.min(slowest, 0.5 * 2 ** lost) : Math.max(wait, "draft" in card.dataset ? 10 : 0), !lost);
    card = cardOf(run);
    if (!card) return;
    try {
      const { events } = await api("GET", `/api/runs/${encodeURIComponent(run)}/events?after=${card.dataset.seq}`);
      lost = 0;
      wait = events.length ? 0.4 : Math.min(slowest, wait * 1.4);
      if (events.length) await refreshCard(run);
    } catch (failure) {
      if (failure instanceof Problem && !failure.passes) return;
      lost++;
      continue;
    }
    const now = cardOf(run);
    if (now && !("live" in now.dataset) && !("draft" in now.dataset)) {
      const added = await refreshChat().catch(() => {});
      if (added?.length && inSight(now)) added.at(-1).scrollIntoView({ block: "nearest", behavior: gently() });
      refreshChats();
    }
  }
}

const inSight = (node) => {
  const { top, bottom } = node.getBoundingClientRect();
  return bottom > 0 && top < innerHeight;
};

const early = new Set(); // runs of which something was told while they were being asked about

// awake is a follower that does not wait now: what it is told, it does next.
function awake(run) {
  followed.set(run, () => early.add(run));
}

// pause waits, and as long as nobody looks; looking again ends it. While the socket is connected and it is told, only a
// push ends it.
function pause(run, seconds, told) {
  if (early.delete(run)) return;
  return new Promise((resolve) => {
    let timer;
    const arm = () => {
      clearTimeout(timer);
      if (!told || !connected()) timer = setTimeout(() => !document.hidden && wake(), seconds * 1000);
    };
    const seen = () => !document.hidden && wake();
    function wake() {
      clearTimeout(timer);
      document.removeEventListener("socket", arm);
      document.removeEventListener("visibilitychange", seen);
      awake(run);
      resolve();
    }
    document.addEventListener("socket", arm);
    document.addEventListener("visibilitychange", seen);
    followed.set(run, wake);
    arm();
  });
}
