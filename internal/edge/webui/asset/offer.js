// The button of the plan that waits, beneath what the assistant said after its card: the card's own is out of sight by
// then. It says what is sent, in the card's sentences, because a goal is the model's. A press of it is a press of the card's button.

import { keepFocus } from "./focus.js";
import { pendingCard } from "./run.js";
import { el } from "./text.js";
import { thread } from "./view.js";

/** offer shows the button beneath the newest line while a plan waits and the line is a text of the assistant that asks nothing. */
export function offer() {
  const card = thread()?.lastElementChild?.matches(".line.assistant:not(.live):not(:has(.said[data-asks]))") ? pendingCard() : undefined;
  const now = document.getElementById("offer");
  const of = card && card.dataset.run + card.dataset.digest;
  if (now?.dataset.of === of) return;
  keepFocus(() => now?.remove());
  if (card) thread().after(drawn(card, of));
}

function drawn(card, of) {
  const says = [...card.querySelectorAll(".steps:not(.inner) > .step > .step-body")].map(said);
  const goal = el("div", { class: "offer-goal", id: "offer-goal" }, ...says.slice(0, mostSaid),
    ...(says.length > mostSaid ? [el("p", {}, "…")] : []));
  const sum = card.querySelector(".card-sum").cloneNode(true);
  const own = card.querySelector('[data-action="confirm-run"]');
  const button = el("button", { type: "button", class: own.className, "data-action": "confirm-run", "aria-describedby": "offer-goal" }, ...copies(own.childNodes));
  return el("div", { class: "offer", id: "offer", "data-of": of, "data-run": card.dataset.run, role: "group", "aria-labelledby": "offer-goal" },
    el("div", { class: "offer-text" }, goal, sum), button);
}

/** said returns what a step sends: the card's sentence, else its title and its request. */
function said(step) {
  const sentence = step.querySelector(":scope > .says");
  const parts = sentence ? [sentence] : [step.querySelector(".step-title"), step.querySelector("[data-request] .request")];
  const line = el("p", { class: "says" }, ...parts.flatMap((part) => (part ? [...copies(part.childNodes), " "] : [])));
  for (const unseen of line.querySelectorAll(".unseen")) unseen.remove();
  return line;
}

/** mostSaid bounds the steps whose sentences stand beside the button. A press shows what was not in sight, as on the card. */
const mostSaid = 3;

const copies = (nodes) => [...nodes].map((node) => node.cloneNode(true));
