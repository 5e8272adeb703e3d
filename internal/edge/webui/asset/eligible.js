// Whether the open conversation can be answered, and when: the strip above the
// composer and the choice of mode below it. The server decides; this asks, says
// why, and leads to where it can be mended.

import { api, Problem } from "./api.js";
import { announce, busy, clear, problem } from "./notice.js";
import { el, icon, t } from "./text.js";
import { refreshChat, single, thread, view } from "./view.js";
import { writing } from "./writing.js";

const strip = document.getElementById("strip");
const select = document.getElementById("mode");
const why = document.getElementById("mode-why");
const names = Object.fromEntries([...select.options].map((o) => [o.value, o.textContent]));

// What is known: kind is "", blocked, ready, manual, off or swap.
let known = { kind: "" };
let onAnswer = () => {};

/** startEligible begins; answer is called with the button that asks for one. */
export function startEligible(answer) {
  onAnswer = answer;
  document.addEventListener("entered", () => {
    if (!thread()) return;
    known = { kind: "" };
    draw();
    recheck();
  });
  document.addEventListener("view", draw);
  document.addEventListener("writing", draw);
  // Credits, keys and limits are mended elsewhere, too: at a terminal, or by somebody else.
  setInterval(() => blocked() && !document.hidden && recheck(), 15_000);
}

/** delay is how long the assistant waits for a further message, in milliseconds. */
export const delay = () => known.delay || 0;

/** blocked reports whether an answer cannot be had now. */
export const blocked = () => known.kind === "blocked";

const clean = (text) => String(text || "").replace(/^[\s⚠️]+/u, "");
const modeNow = (v) => v.dataset.mode || v.dataset.assistantMode || "automatic";

const ask = (what, where = "") => api("GET", "/ai/" + what + (where.toString() ? "?" + where : ""));

/** recheck asks the server again. What cannot be asked changes nothing. */
export const recheck = single(async () => {
  const v = view();
  if (!thread()) return;
  const { chat, project } = v.dataset;
  const general = new URLSearchParams(project ? { project_id: project } : {});
  let answer, beside;
  try {
    answer = await ask("eligibility", chat ? new URLSearchParams({ conversationId: chat }) : general);
    // A conversation that is off says nothing of whether it could be on.
    beside = chat && off(v, answer) ? await ask("eligibility", general) : answer;
  } catch (failure) {
    if (!(failure instanceof Problem)) throw failure;
    return;
  }
  if (view() !== v || v.dataset.chat !== chat) return;
  const before = known;
  known = decide(v, answer);
  known.why = !beside.canExecute && !off(v, beside) ? clean(beside.block?.message) : "";
  if (before.kind === "blocked" && known.kind !== "blocked" && known.kind !== "off") {
    announce(free(before.block?.reason) + (leftOver() ? " " + t("unanswered") : ""));
  }
  draw();
});

// off tells a conversation that is switched off from an account that is.
function off(v, answer) {
  if (modeNow(v) !== "off") return false;
  return answer.canExecute || (answer.block?.reason === "ai_disabled" && !("aiOff" in v.dataset));
}

function decide(v, answer) {
  const wait = answer.automation?.delay_ms;
  if (off(v, answer)) return { kind: "off" };
  if (!answer.canExecute) return { kind: "blocked", block: answer.block || {} };
  if (modeNow(v) === "manual") return { kind: "manual" };
  if (leftOver()) return { kind: "ready", delay: wait };
  if (answer.fallback) return { kind: "swap", text: answer.fallback.message, delay: wait };
  return { kind: "", delay: wait };
}

const lines = () => [...(thread()?.querySelectorAll(".line:not([data-local])") || [])];

// leftOver reports whether the last thing in the chat is that it could not be answered.
const leftOver = () => Boolean(lines().at(-1)?.matches(".blocked"));

// unanswered reports whether what was said last has no answer.
function unanswered() {
  const last = lines().filter((l) => l.matches(".user, .plan, .outcome, .note, .assistant[data-kind=text]")).at(-1);
  return Boolean(last?.matches(".user")) && !thread().querySelector("#writing, .line.sending");
}

// free says that an answer can be had, or, where a key was in the way, that it can be tried: nobody knows whether the
// provider takes another one.
const free = (reason) => t(reason === "no_api_key" ? "retriable" : "answerable");

let drawn = "";

// draw shows what is known. It is called whenever the thread changes, and leaves
// alone what would be the same: a button with the focus on it stays.
function draw() {
  if (!thread()) return;
  if (known.kind === "ready" && !leftOver()) known = { ...known, kind: "" };
  mode();
  const asks = known.kind === "manual" && unanswered();
  const kind = known.kind === "ready" && writing() ? "" : known.kind;
  const what = JSON.stringify([known, kind, asks, view().dataset.mode, view().dataset.chat]);
  if (what === drawn) return;
  drawn = what;
  const inside = strip.contains(document.activeElement);
  const parts = { blocked: blockedParts, ready: readyParts, manual: () => manualParts(asks), off: offParts, swap: swapParts }[kind]?.();
  strip.hidden = !parts;
  strip.dataset.kind = kind;
  strip.replaceChildren(...(parts || []));
  if (inside) (strip.querySelector("button, a") || document.getElementById("message")).focus();
}

const text = (role, ...said) => el("div", { class: "strip-text", role }, ...said);
const actions = (...buttons) => el("div", { class: "strip-actions" }, ...buttons);

const places = { manage_credits: ["/?view=credits", "manage_credits"], manage_assistants: ["/?view=assistants", "manage_assistants"] };

function blockedParts() {
  const { message, action, creditBalance, remedy, reason, provider } = known.block;
  const said = [el("strong", {}, clean(message))];
  if (Number.isInteger(creditBalance)) said.push(" ", el("span", { class: "strip-balance" }, t("balance", { n: creditBalance })));
  if (action) said.push(" ", el("span", {}, action));
  const place = places[remedy];
  const key = reason === "no_api_key" && provider;
  const label = key ? t("mend_key") : remedy === "manage_credits" ? t("manage_credits") : t("manage_assistants");
  return [icon("warn"), text("alert", ...said), actions(
    place && el("a", { class: "button primary", href: place[0] + (key ? "#key-" + encodeURIComponent(provider) : ""), "data-nav": true }, label),
    el("button", { type: "button", class: "button", "data-action": "recheck", "data-reason": reason }, icon("refresh"), t("recheck")),
  )];
}

const readyParts = () => [icon("check"), text("status", el("strong", {}, free(lines().at(-1)?.querySelector(".reason")?.textContent)), " ", t("unanswered")),
  actions(answerButton("primary", t("answer_now")),
    el("button", { type: "button", class: "icon-button", "aria-label": t("close"), click: dismiss }, icon("close")))];

const manualParts = (asks) => [icon("chat"), text("status", t("manual_strip")), asks ? actions(answerButton("primary", t("ask_answer"))) : ""];
const offParts = () => [icon("stop"), text("status", view().dataset.mode === "off" ? t("off_chat") : t("off_assistant"))];
const swapParts = () => [icon("cross"), text("status", clean(known.text))];

const answerButton = (kind, label) => el("button", { type: "button", class: "button " + kind, click: (e) => onAnswer(e.currentTarget) }, label);

function dismiss() {
  known = { ...known, kind: "" };
  draw();
}

/** retryCheck is the button that asks again. The provider is asked, too, where it was what stood in the way. */
export const retryCheck = (button) => busy(button, async () => {
  if (button.dataset.reason === "no_api_key") await ask("status").catch(() => {});
  await recheck();
});

// mode brings the choice up to date. While nothing can be answered, automatic
// cannot be chosen, and the control says why.
function mode() {
  const v = view();
  const stuck = known.why || "";
  const automatic = v.dataset.assistantMode === "automatic";
  for (const option of select.options) {
    const auto = option.value === "automatic" || (option.value === "" && automatic);
    const name = option.value === "" ? t("mode_as", { mode: names[v.dataset.assistantMode] || names.automatic }) : names[option.value];
    const said = auto && stuck ? t("mode_paused", { mode: name }) : name;
    if (option.textContent !== said) option.textContent = said;
    option.disabled = Boolean(auto && stuck);
  }
  if (select.value !== v.dataset.mode) select.value = v.dataset.mode;
  why.textContent = select.title = stuck ? t("mode_why", { why: stuck }) : "";
  select.parentElement.dataset.mode = stuck && modeNow(v) === "automatic" ? "blocked" : modeNow(v);
}

/** setMode keeps the choice: with the chat, or until there is one. */
export async function setMode() {
  const v = view();
  const before = v.dataset.mode;
  const place = document.getElementById("composer-problem");
  clear(place);
  v.dataset.mode = select.value;
  try {
    if (v.dataset.chat) await keepMode(v);
    await refreshChat();
  } catch (failure) {
    if (!(failure instanceof Problem)) throw failure;
    v.dataset.mode = before;
    problem(place, failure);
  }
  await recheck();
  draw();
}

/** keepMode writes the mode of a view's chat. */
export const keepMode = (v) => api("PATCH", "/api/chats/" + encodeURIComponent(v.dataset.chat), { automation: v.dataset.mode });
