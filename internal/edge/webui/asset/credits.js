// Credit: grants, refunds, sessions, limits and what a session costs.

import { api, fragment } from "./api.js";
import { act } from "./form.js";
import { ask, problem, toast } from "./notice.js";
import { t, tellTime } from "./text.js";
import { again, view } from "./view.js";


// One key for each movement as it was typed: pressed twice, or again after an
// answer was lost, it is made once.
const keys = new Map();

async function once(url, body) {
  const what = url + JSON.stringify(body);
  if (!keys.has(what)) keys.set(what, crypto.randomUUID?.() || String(Date.now()) + Math.random());
  const answer = await api("POST", url, body, { "Idempotency-Key": keys.get(what) });
  keys.delete(what); // the next one like it is another
  return answer;
}

const micros = (dollars) => Math.round(Number(String(dollars).replace(",", ".")) * 1e6) || 0;

// saveTerms stores terms, and says what they do not let be paid.
async function saveTerms(terms) {
  const { block } = await api("PUT", "/ai/terms", terms);
  await again();
  toast(t("saved"));
  if (block) problem(view().querySelector("[data-problem]"), { title: block.message, action: block.action });
}

export const submits = {
  "move-credit": async (form, data) => {
    await once("/ai/ledger", { kind: data.get("kind"), amount: Number(data.get("amount")), reason: data.get("reason").trim() });
    await again();
    toast(t("recorded"));
  },
  "save-limits": async (form, data) => {
    const limits = {};
    for (const name of ["day_micros", "month_micros", "run_micros"]) limits[name] = micros(data.get(name));
    await saveTerms({ limits });
  },
  "save-policy": async (form, data) => {
    const policy = {};
    for (const name of ["session_cost", "session_tokens", "session_minutes"]) policy[name] = Number(data.get(name));
    await saveTerms({ policy });
  },
};

export const actions = {
  "refund": async (button) => {
    const { entry, credits } = button.dataset;
    const reason = await ask({ title: t("refund", { n: credits }), text: t("refund_text"), label: t("refund_label"), yes: t("refund_go") });
    if (!reason) return;
    await act(button, async () => {
      await once("/ai/ledger", { kind: "refund", of: entry, reason });
      await again();
      toast(t("recorded"));
    });
  },
  "open-session": async (button) => {
    const cost = button.dataset.credits;
    if (!(await ask({ title: t("open_session", { n: cost }), text: t("open_session_text"), yes: t("open_session_go") }))) return;
    await act(button, async () => {
      await once("/ai/sessions");
      await again();
    });
  },
  "more-entries": (button) => act(button, async () => {
    const part = await fragment("/ui/credits?cursor=" + encodeURIComponent(button.dataset.cursor));
    if (!part.ok) return;
    button.closest("li").replaceWith(...part.nodes);
    tellTime(view());
  }),
};

/** chooseMovement lets an adjustment take as well as give. */
export function chooseMovement(select) {
  const adjusts = select.value === "adjustment";
  select.form.querySelector("[data-when=adjustment]").hidden = !adjusts;
  const amount = select.form.elements.amount;
  if (adjusts) amount.removeAttribute("min");
  else amount.min = 1;
}

/** showUsage adds the same usage up by something else, and moves nothing. */
export async function showUsage(link) {
  const url = new URL(link.href);
  const part = await fragment("/ui/credits?by=" + encodeURIComponent(url.searchParams.get("by")));
  const fresh = part.ok && part.nodes[0].querySelector("#usage");
  if (!fresh || view().dataset.name !== "credits") return;
  history.replaceState(null, "", url);
  document.getElementById("usage").replaceWith(fresh);
  fresh.querySelector("[aria-current]").focus();
}
