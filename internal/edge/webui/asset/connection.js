// Whether the server answers. Who meets a failure says so here; the server is then asked
// until it answers, and meanwhile every view says that it does not.

import { announce } from "./notice.js";
import { clock, t } from "./text.js";

const first = 1500; // milliseconds for the answer that settles a doubt
const further = 5000; // … for the answer of a server that was lost
const pause = 1000; // milliseconds before the second question; it doubles
const longest = 10_000; // … before one of the later ones; each pause is up to twice as long, at random

let lost = false;
let asking; // a promise, while the server is asked
let wake = () => {}; // ends a pause

/** reachable reports whether the server answered when it was last asked something. */
export const reachable = () => !lost;

/** doubt asks the server whether it is there, because something failed. */
export function doubt() {
  asking ??= ask().finally(() => (asking = undefined));
}

/** returned resolves to true when the server answers again, or to false after so many seconds. */
export async function returned(seconds) {
  doubt();
  return Promise.race([asking.then(() => true), new Promise((give) => setTimeout(give, seconds * 1000, false))]);
}

addEventListener("offline", () => {
  set(true);
  doubt();
});
addEventListener("online", () => wake());
document.addEventListener("visibilitychange", () => !document.hidden && wake());

async function ask() {
  for (let n = 0; !(await answers(lost ? further : first)); n++) {
    set(true);
    await new Promise((resolve) => setTimeout((wake = resolve), Math.min(longest, pause * 2 ** n) * (1 + Math.random())));
  }
  set(false);
}

async function answers(milliseconds) {
  try {
    const response = await fetch("/health", { cache: "no-store", signal: AbortSignal.timeout(milliseconds) });
    return response.status < 502;
  } catch {
    return false;
  }
}

function set(now) {
  if (now === lost) return;
  lost = now;
  const sign = document.getElementById("connection");
  sign.hidden = !lost;
  if (lost) sign.querySelector("span").textContent = t("lost", { clock: clock.format(Date.now()) });
  document.documentElement.toggleAttribute("data-lost", lost);
  announce(lost ? sign.textContent.trim() : t("back_again"));
  document.dispatchEvent(new CustomEvent("connection"));
}
