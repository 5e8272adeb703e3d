// The page's script: it sends, follows and swaps. What is shown comes from the
// server; one listener for each kind of event finds what was meant by its name.

import { setAgent, startAgents, stopJob } from "./agents.js";
import * as assistants from "./assistants.js";
import { copyCode, offerCopies } from "./blocks.js";
import { actions as composing, askAnswer, chatID, sendText, startComposer } from "./chat.js";
import * as chats from "./chats.js";
import * as credits from "./credits.js";
import * as decisions from "./decide.js";
import * as edit from "./edit.js";
import { blocked, recheck, retryCheck, setMode, startEligible } from "./eligible.js";
import * as files from "./files.js";
import { arrange, submit } from "./form.js";
import { landing, startFocus } from "./focus.js";
import { chooseLetters, shortcut, startKeys, write } from "./keys.js";
import { everything, startLive } from "./live.js";
import * as lines from "./lines.js";
import * as manage from "./manage.js";
import { offer } from "./offer.js";
import * as palette from "./palette.js";
import { cancelRun, confirmRun, followAll, refreshCard } from "./run.js";
import * as rules from "./rules.js";
import * as seen from "./seen.js";
import { t, tellTime } from "./text.js";
import { tellRuns } from "./told.js";
import * as waiting from "./waiting.js";
import * as webhooks from "./webhooks.js";
import { arrived, atEnd, go, moreChats, older, refreshChat, seek, showAsked, toEnd, view } from "./view.js";
import { render, stopWriting, takeAway, writing } from "./writing.js";

const submits = { ...manage.submits, ...credits.submits, ...assistants.submits, ...webhooks.submits, ...edit.submits, ...rules.submits };

const actions = {
  ...chats.actions,
  ...composing,
  ...files.actions,
  ...lines.actions,
  ...palette.actions,
  ...manage.actions,
  ...credits.actions,
  ...assistants.actions,
  ...webhooks.actions,
  ...decisions.actions,
  ...edit.actions,
  ...rules.actions,
  ...seen.actions,
  ...waiting.actions,
  "confirm-run": confirmRun,
  "cancel-run": cancelRun,
  "drawer": () => drawer(true),
  "drawer-close": () => drawer(false),
  "palette": openPalette,
  "example": (button) => sendText(button.textContent),
  "older": older,
  "more-chats": moreChats,
  "to-end": () => (toEnd(true), landing().focus({ preventScroll: true })),
  "recheck": retryCheck,
  "stop": stopWriting,
  "stop-job": stopJob,
  "copy-code": copyCode,
};

const changes = {
  ...waiting.changes,
  ...edit.changes,
  "project": (select) => go("/" + (select.value ? "?project=" + encodeURIComponent(select.value) : "")),
  "active": manage.switchServer,
  "agent": setAgent,
  "arrange": arrange,
  "letters": chooseLetters,
  "mode": setMode,
  "movement": credits.chooseMovement,
  "provider": assistants.chooseProvider,
  "automation": assistants.chooseAutomation,
  "some-services": manage.chooseServices,
};

const inputs = { "find-chats": chats.findChats, "filter-text": waiting.filterText, "search": manage.search, "model": assistants.sayPrice };

document.addEventListener("click", (e) => {
  const link = e.target.closest("a[data-nav]");
  if (link && e.button === 0 && !e.metaKey && !e.ctrlKey && !e.shiftKey && !e.altKey) {
    e.preventDefault();
    if ("keep" in link.dataset) credits.showUsage(link).catch(() => go(link.href));
    else go(link.href);
    return;
  }
  const button = e.target.closest("[data-action]");
  if (button && !button.disabled) actions[button.dataset.action]?.(button);
});

document.addEventListener("change", (e) => changes[e.target.dataset?.change]?.(e.target));
document.addEventListener("input", (e) => inputs[e.target.dataset?.input]?.(e.target));
document.addEventListener("submit", (e) => {
  if ("filter" in e.target.dataset) e.preventDefault(); // the change did what is wanted
  if (!e.target.dataset.submit) return;
  e.preventDefault();
  submit(e.target, submits);
});

document.addEventListener("keydown", (e) => {
  if (e.key === "Escape" && document.body.classList.contains("drawer")) drawer(false);
  else if (e.key === "Escape" && !e.isComposing && writing() && !document.querySelector("dialog[open]")) stopWriting();
});

shortcut({ part: "page", key: "k", mod: true, says: t("key_palette"), act: openPalette });
shortcut({ part: "page", key: "/", says: t("key_search"), act: toSearch });
shortcut({ part: "page", key: "m", says: t("key_write"), act: write, when: () => view().dataset.name === "chat" });
shortcut({ part: "page", key: "escape", says: t("key_stop") });

// toSearch goes to the search field of the view, or to that of the chats.
function toSearch() {
  const field = document.querySelector("#view :is([data-input=search], input[type=search])");
  if (field?.checkVisibility()) field.focus();
  else chats.toSearch();
}

function openPalette() {
  if (document.body.classList.contains("drawer")) drawer(false);
  palette.openPalette();
}

function drawer(open) {
  document.body.classList.toggle("drawer", open);
  const button = document.querySelector(".menu");
  button?.setAttribute("aria-expanded", String(open));
  document.getElementById("main").inert = open;
  (open ? document.querySelector(".drawer-close") : button)?.focus();
}

const asking = ".card[data-draft], .offer";

// A card that has just come under the pointer is not pressed by a click that was
// meant for something else: its buttons wait a moment.
new MutationObserver((records) => {
  for (const node of records.flatMap((r) => [...r.addedNodes])) {
    if (node.nodeType !== Node.ELEMENT_NODE) continue;
    const draft = node.matches(asking) ? node : node.querySelector(asking);
    const button = draft?.querySelector('[data-action="confirm-run"]');
    if (!button || button.disabled || button === document.activeElement) continue;
    button.disabled = true;
    setTimeout(() => (button.disabled = false), 500);
  }
}).observe(document.getElementById("place"), { childList: true, subtree: true });

document.addEventListener("scroll", (e) => {
  if (e.target.id !== "scroller") return;
  const jump = document.querySelector(".to-end");
  if (jump) jump.hidden = atEnd();
}, true);

document.addEventListener("view", () => {
  document.getElementById("main").inert = document.body.classList.contains("drawer");
  tellRuns(view());
  followAll();
  render();
  offerCopies();
});
document.addEventListener("entered", assistants.askStatus);
document.addEventListener("lines", takeAway);
for (const change of ["lines", "card", "view", "writing"]) document.addEventListener(change, offer);

addEventListener("popstate", () => go(location.href, { push: false }));

// What happened while nobody looked: the conversation is fetched again.
document.addEventListener("visibilitychange", () => {
  if (document.hidden) return;
  everything();
  if (blocked()) recheck();
});

const over = new Set(); // times that are over, of which the server was asked what they changed

setInterval(() => {
  for (const time of tellTime()) {
    const card = time.closest(".card[data-draft], .card[data-live]");
    const what = card && card.dataset.run + time.dateTime;
    if (!card || over.has(what)) continue;
    over.add(what);
    refreshCard(card.dataset.run).then(() => refreshChat()).catch(() => over.delete(what));
  }
}, 15_000);
setInterval(() => document.querySelector("time[data-since]") && tellTime(), 1000);

startKeys();
startComposer();
files.startFiles(chatID);
chats.startChats();
palette.startPalette();
startEligible(askAnswer);
startAgents();
arrived();
toEnd();
showAsked();
seek();
seen.startSeen();
startLive();
waiting.startWaiting();
startFocus();
