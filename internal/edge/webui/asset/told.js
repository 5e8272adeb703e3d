// What a reader who does not see the page is told of the runs on it: that a plan was
// proposed and confirmed, how each of its steps ended, that it waits, and how it ended.
// Each is told once, whichever request brought it.

import { announce } from "./notice.js";
import { t } from "./text.js";

const ended = ["done", "error", "in_doubt", "skipped"];
const known = new Map(); // run → its status, the states of its steps, and which of their ends were told: an older answer may come later
let shown; // the view whose cards are told of

/** tellRuns tells what changed of all runs in a view. What was there when the view was entered is not told. */
export function tellRuns(view) {
  const fresh = view !== shown;
  shown = view;
  for (const card of view.querySelectorAll(".card")) {
    if (fresh) known.set(card.dataset.run, { ...stateOf(card), told: new Set() });
    else tellRun(card);
  }
}

/** tellRun tells what changed of the run of a card. */
export function tellRun(card) {
  const { run, status } = card.dataset;
  const before = known.get(run) || { steps: new Map(), told: new Set() };
  const now = { ...stateOf(card), told: before.told };
  known.set(run, now);
  const goal = card.querySelector(".goal").textContent;
  const said = [];
  if (!before.status && status === "draft") said.push(t("plan_asks", { goal }));
  if ((!before.status || before.status === "draft") && "live" in card.dataset) said.push(t("run_confirmed", { goal }));
  for (const [step, { state, words }] of now.steps) {
    const end = step + " " + state;
    if (ended.includes(state) && before.steps.get(step)?.state !== state && !now.told.has(end)) {
      now.told.add(end);
      said.push(words);
    }
  }
  if (before.status !== status && !["draft", "queued", "running"].includes(status)) {
    said.push(t("run_status", { goal, status: card.querySelector(".status").textContent.trim() }));
  }
  said.forEach(announce);
}

function stateOf(card) {
  const steps = new Map();
  for (const step of card.querySelectorAll(".step:not(.group)")) {
    const title = [...step.querySelector(".step-title").childNodes].map((part) => part.textContent.trim()).join(" ");
    const word = step.querySelector(".step-meta .unseen, .step-meta .said")?.textContent || "";
    steps.set(step.dataset.step, { state: step.dataset.state, words: title + ": " + word });
  }
  return { status: card.dataset.status, steps };
}
