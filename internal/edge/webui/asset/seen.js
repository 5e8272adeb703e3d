// What was seen of a draft: a plan that is longer than the screen says how many of its
// steps have not been in sight, and is confirmed when all were, or when its reader says so.

import { t } from "./text.js";

const seen = new Set(); // digest and step of each that was in sight
const watched = new WeakSet();

let watcher;

const keyOf = (mark) => mark.closest(".card").dataset.digest + mark.closest(".step").dataset.step;
const marks = (card) => [...card.querySelectorAll(".step-end")].filter((mark) => mark.checkVisibility());
const unseen = (card) => marks(card).filter((mark) => !seen.has(keyOf(mark)));

/** startSeen watches every draft that comes to the screen. */
export function startSeen() {
  const place = document.getElementById("place");
  new MutationObserver(watch).observe(place, { childList: true, subtree: true });
  document.addEventListener("toggle", watch, true); // a fold shows more steps
  watch();
}

function watch() {
  for (const card of document.querySelectorAll(".card[data-draft]")) {
    if (watched.has(card)) continue;
    watched.add(card);
    const foot = card.querySelector(".card-foot")?.offsetHeight || 0;
    const root = document.getElementById("scroller");
    if (watcher?.root !== root || watcher.foot !== foot) {
      watcher = new IntersectionObserver(note, { root, rootMargin: `0px 0px -${foot}px 0px` });
      watcher.foot = foot;
    }
    card.querySelectorAll(".step-end").forEach((mark) => watcher.observe(mark));
    count(card);
  }
}

function note(entries) {
  const cards = new Set();
  for (const { isIntersecting, target } of entries) {
    const card = target.closest(".card[data-draft]");
    if (!card) continue;
    if (isIntersecting) seen.add(keyOf(target));
    cards.add(card);
  }
  cards.forEach(count);
}

function count(card) {
  const place = card.querySelector("[data-unseen]");
  const n = unseen(card).length;
  place.hidden = n === 0;
  place.firstElementChild.textContent = n ? t("unseen", { n }) : "";
}

/** readOn shows the first step that was not in sight, and reports whether there is one. */
export function readOn(card) {
  const next = unseen(card)[0]?.closest(".step");
  if (!next) return false;
  next.setAttribute("tabindex", "-1");
  next.scrollIntoView({ block: "start" });
  next.focus({ preventScroll: true });
  return true;
}

export const actions = {
  "seen": (button) => {
    const card = button.closest(".card");
    marks(card).forEach((mark) => seen.add(keyOf(mark)));
    count(card);
    card.querySelector('[data-action="confirm-run"]').focus();
  },
  "unfold": (button) => {
    const folds = [...button.closest(".card").querySelectorAll("details[data-request]")];
    const open = folds.some((fold) => !fold.open);
    folds.forEach((fold) => (fold.open = open));
  },
};
