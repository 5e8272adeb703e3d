// What was seen of what a person decides about: a draft, or a request that waits for an approval. A draft that is longer
// than the screen says how many of its steps have not been in sight. Either is confirmed when all of it was, or when its
// reader says so.

import { announce } from "./notice.js";
import { t } from "./text.js";

const seen = new Set(); // what was in sight, by keyOf
const watchers = new WeakMap(); // by what is decided about

const asked = ".card[data-draft], .decision[data-state=open]";
const keyOf = (mark) => {
  const place = mark.closest(asked);
  return [mark.closest(".card").dataset.run, place.dataset.request || place.dataset.digest, mark.closest(".step").dataset.step, mark.dataset.row, mark.dataset.along].join(" ");
};
const marks = (place) => [...place.querySelectorAll(".step-end")].filter((mark) => mark.checkVisibility());

/** unseen are the first marks that were not in sight, of each part of a draft, or of a request that waits. */
export function unseen(place) {
  const parts = new Map();
  for (const mark of marks(place)) if (!seen.has(keyOf(mark)) && !parts.has(mark.parentElement)) parts.set(mark.parentElement, mark);
  return [...parts.values()];
}

// What is taller than this, in pixels, has marks along its way to the one at its end, so that nobody jumps over it.
const stride = 150;

function markAlong(end) {
  for (let at = Number(end.previousElementSibling?.dataset.along || 0) + stride; at < end.offsetTop; at += stride) {
    const mark = end.cloneNode();
    mark.dataset.along = at;
    mark.style.top = `min(${at}px, 100%)`; // a fold may be closed again
    end.before(mark);
  }
}

/** startSeen watches everything to decide about that comes to the screen. */
export function startSeen() {
  new MutationObserver(watch).observe(document.getElementById("place"), { childList: true, subtree: true });
  watch();
}

function watch() {
  for (const place of document.querySelectorAll(asked)) {
    if (watchers.has(place)) continue;
    const dialog = place.closest("dialog");
    const foot = (dialog || place).querySelector(dialog ? ".dialog-actions" : ".card-foot")?.offsetHeight || 0; // it covers what is below it
    watchers.set(place, new IntersectionObserver(note, { root: dialog || document.getElementById("scroller"), rootMargin: `0px 0px -${foot}px 0px` }));
    grown.observe(place); // it calls at once, too
  }
}

// A fold that opens and a window that narrows make what is decided about taller.
const grown = new ResizeObserver((entries) => entries.forEach(({ target }) => mark(target)));

// mark puts marks along what is tall, and watches all of them.
function mark(place) {
  place.querySelectorAll(".step-end:not([data-along])").forEach(markAlong);
  place.querySelectorAll(".step-end").forEach((one) => watchers.get(place).observe(one));
  count(place);
}

function note(entries) {
  const places = new Set();
  for (const { isIntersecting, target } of entries) {
    const place = target.closest(asked);
    if (!place) continue;
    if (isIntersecting) seen.add(keyOf(target));
    places.add(place);
  }
  places.forEach(count);
}

function count(place) {
  const n = unseen(place).length;
  const told = place.querySelector("[data-unseen]");
  if (told) {
    told.hidden = n === 0;
    told.firstElementChild.textContent = n ? t("unseen", { n }) : "";
  }
  place.dispatchEvent(new CustomEvent("seen", { bubbles: true }));
}

// A press this soon, in milliseconds, after a part was shown was meant for that part: nobody has read it.
const glance = 700;
let shownAt = -glance;

/** isUnread reports whether something was not in sight, or only just came to be. */
export const isUnread = (place) => unseen(place).length > 0 || performance.now() - shownAt < glance;

/** readOn shows the first part of the places that was not in sight, and reports whether the press that asked for it is used up. */
export function readOn(...places) {
  if (!places.some(isUnread)) return false;
  shownAt = performance.now();
  const left = unseen(places.find((place) => unseen(place).length) || places[0]);
  const next = left[0]?.closest(".step, .decision");
  if (!next) return true;
  announce(t("unseen", { n: left.length }));
  next.setAttribute("tabindex", "-1");
  const before = left[0].previousElementSibling;
  (before?.dataset.along ? before : left[0].closest("tr") || next).scrollIntoView({ block: "start" }); // what was read last stays in sight
  left[0].scrollIntoView({ block: "nearest", inline: "nearest" });
  next.focus({ preventScroll: true });
  return true;
}

export const actions = {
  "seen": (button) => {
    const card = button.closest(".card");
    marks(card).forEach((mark) => seen.add(keyOf(mark)));
    shownAt = -glance;
    count(card);
    card.querySelector('[data-action="confirm-run"]').focus();
  },
  "unfold": (button) => {
    const folds = [...button.closest(".card").querySelectorAll("details[data-request]")];
    const open = folds.some((fold) => !fold.open);
    folds.forEach((fold) => (fold.open = open));
  },
};
