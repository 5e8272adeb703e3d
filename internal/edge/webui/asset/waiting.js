// What waits for the person: its number wherever the page is, its list, and the decisions
// about several of its entries. Each entry shows its whole card in its place.

import { api, fragment, Problem } from "./api.js";
import { keepFocus, rest } from "./focus.js";
import { shortcut } from "./keys.js";
import { announce, busy, problem, toast } from "./notice.js";
import { follow } from "./run.js";
import { readOn, unseen } from "./seen.js";
import { el, icon, t, tellTime } from "./text.js";
import { entitle, go, letGo, partOf, refreshSide, view } from "./view.js";

const badge = () => document.getElementById("waiting-count");
const list = () => document.getElementById("waits");
const rows = () => [...(list()?.querySelectorAll(".wait") || [])];
const telling = "piloto.tell";

let known; // the keys of what waited at the last look

/** startWaiting counts what waits, and keeps its list up to date. */
export function startWaiting() {
  document.addEventListener("toggle", (e) => e.target.matches?.(".wait-fold") && e.target.open && unfold(e.target), true);
  shortcut({ part: "waiting", key: "j", says: t("key_next"), act: () => move(1), when: list });
  shortcut({ part: "waiting", key: "k", says: t("key_back"), act: () => move(-1), when: list });
  shortcut({ part: "waiting", key: "enter", says: t("key_open") });
  shortcut({ part: "waiting", key: "x", says: t("key_pick"), act: () => document.activeElement.closest(".wait")?.querySelector(".wait-pick")?.click(), when: list });
  document.addEventListener("card", ({ target }) => target.closest(".wait") && tellEntry(target.closest(".wait"), target));
  document.addEventListener("seen", ({ target }) => target.closest("#review") && tellUnseen());
  document.addEventListener("entered", offerToTell);
  document.addEventListener("waits", (e) => count(e.detail));
  offerToTell();
  setTimeout(() => known || waitingChanged(), 2000); // else the socket asked by now
}

let later;

/** waitingChanged looks again, for all that changes within a moment. The list of chats is brought up to date with it. */
export function waitingChanged() {
  later ??= setTimeout(() => {
    later = undefined;
    refreshSide();
    if (list()) refresh().catch(() => {});
  }, 500);
}

function count({ waits, more }) {
  const text = waits.length ? waits.length + (more ? "+" : "") : "";
  const place = badge();
  place.textContent = text;
  place.hidden = !text;
  entitle(undefined, text);
  const sign = document.querySelector("link[rel=icon]");
  sign.dataset.plain ??= sign.getAttribute("href");
  sign.setAttribute("href", text ? sign.dataset.waiting : sign.dataset.plain);
  const fresh = known && waits.filter((w) => !known.has(w.key));
  known = new Set(waits.map((w) => w.key));
  if (fresh?.length) tell(fresh);
}

// tell says outside the page that something began to wait, where that is wanted and the page is not looked at.
function tell(fresh) {
  if (!document.hidden || !mayTell()) return;
  const note = new Notification(t("waiting_title"), { body: fresh.map((w) => w.title).join("\n").slice(0, 200), tag: "piloto-waiting", icon: document.querySelector("link[rel=icon]").href });
  note.onclick = () => {
    focus();
    note.close();
    location.assign("/?view=waiting");
  };
}

const mayTell = () => "Notification" in window && Notification.permission === "granted" && stored() === "on";

function stored() {
  try {
    return localStorage.getItem(telling);
  } catch {
    return null; // there is no storage: nothing is told
  }
}

function offerToTell() {
  const button = document.querySelector('[data-action="tell-me"]');
  if (!button || !("Notification" in window)) return;
  button.hidden = false;
  button.lastElementChild.textContent = mayTell() ? t("tell_me_on") : t("tell_me");
}

async function toggleTelling() {
  const on = !mayTell() && (await Notification.requestPermission()) === "granted";
  try {
    localStorage.setItem(telling, on ? "on" : "off");
  } catch { /* it is asked again next time */ }
  if (!on && Notification.permission === "denied") toast(t("tell_me_no"));
  offerToTell();
}

async function unfold(fold) {
  const row = fold.closest(".wait");
  const place = fold.querySelector("[data-place]");
  if (!row.dataset.run || place.firstElementChild) return;
  try {
    const card = await cardOf(row.dataset.run);
    place.replaceChildren(card);
    follow(row.dataset.run);
  } catch (failure) {
    if (!(failure instanceof Problem)) throw failure;
    problem(place, failure);
  }
}

async function cardOf(run) {
  const part = await fragment("/ui/runs/" + encodeURIComponent(run));
  const card = part.nodes[0];
  tellTime(card);
  return card;
}

// tellEntry says on an entry that was decided what its run is by now, and why it failed.
function tellEntry(row, card) {
  const waits = { draft: "draft" in card.dataset, approval: card.querySelector(`[data-action="approve-step"][data-step="${CSS.escape(row.dataset.step)}"]`),
    doubt: card.querySelector(`[data-action="resolve-step"][data-step="${CSS.escape(row.dataset.step)}"]`) };
  if (waits[row.dataset.kind] ?? true) return;
  row.dataset.decided = "";
  row.querySelector(".wait-pick")?.replaceWith(el("span"));
  row.querySelector("summary > :is(.wait-state, .status)").replaceWith(card.querySelector(".status").cloneNode(true));
  let end = row.querySelector(".wait-end");
  if (!end) {
    end = el("p", { class: "wait-end" }, el("span"), row.querySelector(".wait-fold > p > a"));
    row.append(end);
  }
  end.firstElementChild.textContent = card.querySelector(":scope > .notice.error")?.textContent.trim() || "";
  picked();
}

// refresh takes over what waits by now. An entry that is open stays, because it may be read, and so does one that was
// decided here, because it says what became of it.
async function refresh() {
  const part = await fragment(partOf(new URL(location.href)));
  await letGo();
  const now = list();
  const next = part.nodes[0]?.querySelector("#waits");
  if (!now || !next) return;
  const focused = document.activeElement; // an entry that is kept is moved, and loses it
  for (const old of rows()) {
    const same = next.querySelector("#" + CSS.escape(old.id));
    const open = old.querySelector(".wait-fold").open;
    const decided = "decided" in old.dataset;
    if (!same && !open && !decided) old.remove();
    else if (!same) old.dataset.gone = "";
    else if (open || decided || old.querySelector(":checked, :focus")) same.replaceWith(old);
  }
  const kept = rows().filter((row) => "gone" in row.dataset);
  if (kept.length) next.querySelector(".empty")?.remove();
  now.replaceChildren(...next.childNodes, ...kept);
  if (focused !== document.body && focused.isConnected) focused.focus({ preventScroll: true });
  else if (focused !== document.body) rest();
  tellTime(now);
  picked();
}

// move puts the focus on the entry so many further on.
function move(by) {
  const all = rows();
  const at = all.indexOf(document.activeElement.closest(".wait"));
  all[Math.min(all.length - 1, Math.max(0, at + by))]?.querySelector("summary").focus();
}

const chosen = () => rows().filter((row) => row.querySelector(".wait-pick")?.checked);

function picked() {
  const bar = document.getElementById("together");
  if (!bar) return;
  const n = chosen().length;
  keepFocus(() => (bar.hidden = n < 1));
  document.getElementById("together-count").textContent = t("picked", { n });
}

let reviewed = []; // the rows and the cards that are on the screen to be decided

// placeOf is what is decided of a card: the draft, or the request that waits; nothing when it waits no longer.
const placeOf = ({ row, card }) => (row.dataset.kind === "draft" ? card : card.querySelector(`.decision[data-state=open][data-step="${CSS.escape(row.dataset.step)}"]`));

// effects counts the steps that write, those that destroy, and those that may repeat what was done. Of an approval only its step counts.
function effects({ row, card }) {
  const sum = row.dataset.kind === "draft" && card.querySelector(".card-sum");
  const { risk } = row.dataset;
  if (!sum) return { writes: Number(risk === "write"), destroys: Number(risk === "destructive"), repeats: 0 };
  return { writes: Number(sum.dataset.writes), destroys: Number(sum.dataset.destroys), repeats: Number(sum.dataset.repeats) };
}

// isAlone reports what no press for several confirms: what destroys, and what may have been done already.
const isAlone = (one) => effects(one).destroys + effects(one).repeats > 0;

const together = () => (reviewed.length > 1 ? reviewed.filter((one) => !isAlone(one)) : reviewed);

async function review() {
  const dialog = document.getElementById("review");
  const place = document.getElementById("review-place");
  const picks = chosen().slice(0, 50);
  const cards = await Promise.all(picks.map((row) => cardOf(row.dataset.run)));
  reviewed = picks.map((row, i) => ({ row, card: cards[i] }));
  compare(cards);
  place.replaceChildren(...reviewed.map(({ row, card }) => el("section", { class: "reviewed", "data-of": row.id, "aria-label": row.dataset.chatName },
    el("p", { class: "reviewed-of" }, icon("chat"), row.dataset.chatName), card, alone({ row, card }), el("div", { "data-said": true }))));
  sumUp();
  dialog.showModal();
}

// alone is the button of what is confirmed by itself, while there are others.
function alone(one) {
  if (!isAlone(one)) return "";
  return el("p", { class: "reviewed-alone", "data-alone": true }, el("span", {}, t(effects(one).destroys ? "review_alone" : "review_again")),
    el("button", { type: "button", class: "button danger", "data-action": "decide-all", "data-yes": "yes", "data-only": one.row.id }, t("review_one")));
}

// sumUp says what is decided, how much of it writes and destroys, and what one press confirms.
function sumUp() {
  const n = reviewed.length;
  let writes = 0, destroys = 0;
  for (const one of reviewed) {
    const sum = effects(one);
    writes += sum.writes;
    destroys += sum.destroys;
  }
  const yes = document.getElementById("review-yes");
  const at = together().length;
  document.getElementById("review-title").textContent = t("review", { n });
  document.getElementById("review-text").hidden = n < 2;
  document.getElementById("review-sum").textContent = t("review_sum", { n, writes, destroys });
  yes.hidden = at === 0;
  yes.previousElementSibling.textContent = t(n > 1 ? "review_none" : "review_not");
  yes.classList.toggle("danger", destroys > 0 && n === 1);
  yes.classList.toggle("primary", destroys === 0 || n > 1);
  for (const place of document.querySelectorAll("#review [data-alone]")) place.hidden = n < 2;
  tellUnseen();
}

// tellUnseen says how much of what is decided together has not been in sight, and what one press does: it shows that, or
// confirms.
function tellUnseen() {
  const at = together().length;
  const n = together().reduce((sum, one) => sum + (placeOf(one) ? unseen(placeOf(one)).length : 0), 0);
  const told = document.getElementById("review-unseen");
  told.hidden = n === 0;
  told.textContent = n ? t("unseen", { n }) : "";
  const [sign, yes] = document.getElementById("review-yes").children;
  sign.firstElementChild.setAttribute("href", n ? "#i-eye" : "#i-check");
  if (n) yes.textContent = t("review_unseen", { n });
  else yes.textContent = at < reviewed.length ? t("review_rest", { n: at }) : t(reviewed.length > 1 ? "review_all" : "review_one");
}

// compare marks the values that are equal in all cards, so that those which differ stand out.
function compare(cards) {
  if (cards.length < 2) return;
  const values = cards.map((card) => [...card.querySelectorAll(".said-pair strong")]);
  if (values.some((list) => list.length !== values[0].length)) return;
  values[0].forEach((_, i) => {
    if (values.every((list) => list[i].textContent === values[0][i].textContent)) values.forEach((list) => list[i].classList.add("same"));
  });
}

// decideAll confirms what was all in sight, else it shows what was not. What stands alone is confirmed by its own button.
function decideAll(button) {
  const yes = Boolean(button.dataset.yes);
  const { only } = button.dataset;
  const left = (yes && !only ? together() : reviewed).filter(({ row }) => row.isConnected && (!only || row.id === only));
  if (!left.length || yes && readOn(...left.map(placeOf).filter(Boolean))) return undefined;
  const items = left.map((one) => ({
    run_id: one.row.dataset.run,
    digest: one.card.dataset.digest, // of the plan that is shown
    ...(one.row.dataset.kind === "approval"
      ? { step_id: one.row.dataset.step, request_digest: placeOf(one)?.dataset.request, decision: yes ? "approve" : "refuse" }
      : { decision: yes ? "confirm" : "reject" }),
  }));
  return busy(button, async () => {
    try {
      const answer = await api("POST", "/api/decisions", { items });
      const counts = {};
      answer.items.forEach((item, i) => {
        const { row, card } = left[i];
        const said = document.querySelector(`[data-of="${CSS.escape(row.id)}"] [data-said]`);
        if (item.problem) problem(said, new Problem(item.problem, item.status));
        else {
          const { decision } = items[i];
          counts[decision] = (counts[decision] || 0) + 1;
          said.closest(".reviewed").remove();
          left[i].row = undefined;
          became(row, card);
        }
      });
      reviewed = reviewed.filter(({ row }) => row?.isConnected);
      if (reviewed.length) counts.left = reviewed.length;
      toast(Object.entries(counts).map(([what, n]) => decided[what](n)).join(" · "));
      if (reviewed.length) sumUp();
      else close();
      waitingChanged();
    } catch (failure) {
      if (!(failure instanceof Problem)) throw failure;
      problem(view().querySelector("[data-problem]"), failure);
      close();
    }
  });
}

const decided = {
  confirm: (n) => t("decided_confirm", { n }), reject: (n) => t("decided_reject", { n }), approve: (n) => t("decided_approve", { n }),
  refuse: (n) => t("decided_refuse", { n }), left: (n) => t("decided_left", { n }),
};

// became follows the run of an entry that was just decided, until it ends. Its card is in its entry from now on.
function became(row, card) {
  const place = row.querySelector("[data-place]");
  if (!place.firstElementChild) place.replaceChildren(card);
  follow(row.dataset.run);
}

function close() {
  document.getElementById("review").close();
  picked();
  (rows()[0]?.querySelector("summary") || view()).focus();
}

// sortRows sorts a table by a column, and the other way around when it is sorted by it.
function sortRows(button) {
  const head = button.closest("th");
  const body = head.closest("table").tBodies[0];
  const at = head.cellIndex;
  const down = head.getAttribute("aria-sort") === "ascending";
  for (const other of head.parentElement.cells) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", down ? "descending" : "ascending");
  const value = (row) => row.cells[at].dataset.sort;
  const compare = new Intl.Collator(undefined, { numeric: true }).compare;
  const rows = [...body.rows].filter((row) => !row.matches(".more")).sort((a, b) => (down ? -1 : 1) * compare(value(a), value(b)));
  body.prepend(...rows);
}

// moreRows adds the next page of a list.
async function moreRows(button) {
  const part = await fragment(button.dataset.of);
  const table = part.nodes[0]?.querySelector("tbody"); // rows come in a table, because they are read in no other place
  if (part.ok) button.closest(".more").replaceWith(...(table ? table.children : part.nodes));
}

export const actions = { "tell-me": toggleTelling, "review": review, "review-close": close, "decide-all": decideAll, "more-rows": moreRows, "sort-rows": sortRows };

// filters is the query of the form of an input.
function filters(input) {
  const q = new URLSearchParams(new FormData(input.form));
  for (const [name, value] of [...q]) if (!value) q.delete(name);
  return q;
}

// filter shows the list that a form's values leave.
function filter(input) {
  clearTimeout(asking);
  asked++; // what was typed is in the form, too
  return go("/?" + filters(input), { focus: false }).then(() => document.querySelector(`[data-filter] [name="${CSS.escape(input.name)}"]`)?.focus());
}

let asking; // the delay before a search
let asked = 0; // searches; only the last one is shown

/** filterText shows the runs with the words that were typed. The field stays as it is, because somebody writes in it. */
export function filterText(input) {
  clearTimeout(asking);
  const mine = ++asked;
  asking = setTimeout(async () => {
    const url = new URL("/?" + filters(input), location.origin);
    let part;
    try {
      part = await fragment(partOf(url));
    } catch (failure) {
      if (!(failure instanceof Problem)) throw failure;
      if (mine === asked) problem(view().querySelector("[data-problem]"), failure);
      return;
    }
    if (mine !== asked || !input.isConnected || !part.ok) return;
    history.replaceState(null, "", url);
    for (const id of ["run-list", "run-file"]) document.getElementById(id).replaceWith(part.nodes[0].querySelector("#" + id));
    const list = document.getElementById("run-list");
    tellTime(list);
    announce(t("found", { n: list.querySelectorAll("[data-run]").length }));
  }, 250);
}

export const changes = { "pick": picked, "filter": filter };
