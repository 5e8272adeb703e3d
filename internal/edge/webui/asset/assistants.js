// Assistants and providers: their forms, and what the server knows of them now.

import { api, Problem } from "./api.js";
import { act } from "./form.js";
import { ask, toast } from "./notice.js";
import { el, t, tellTime } from "./text.js";
import { again, view } from "./view.js";

const assistantPath = (project) => (project ? `/api/projects/${encodeURIComponent(project)}/assistant` : "/ai/assistant");
const providerPath = (name, ...more) => ["/ai/providers", ...[name, ...more].map(encodeURIComponent)].join("/");
const nameOf = (node) => node.closest("[data-provider]").dataset.provider;

// choices reads the fallback order as it stands. All reasons are no list at all.
function choices(form) {
  return [...form.querySelectorAll(".stand-in")].map((row) => {
    const reasons = [...row.querySelectorAll("[name=on]")];
    const on = reasons.filter((box) => box.checked).map((box) => box.value);
    const choice = { provider: row.querySelector("[name=fallback_provider]").value, model: row.querySelector("[name=fallback_model]").value.trim() };
    return on.length && on.length < reasons.length ? { ...choice, on } : choice;
  });
}

// configOf is what the account sets of a provider, as its form has it: it is set
// as a whole.
function configOf(node) {
  const form = node.closest("[data-provider]").querySelector('[data-submit="save-provider"]');
  const data = new FormData(form);
  const body = { keyless: data.has("keyless") };
  if (data.get("base_url").trim()) body.base_url = data.get("base_url").trim();
  if (data.get("costs_credits")) body.costs_credits = data.get("costs_credits") === "yes";
  for (const name of ["prices", "windows"]) {
    const own = JSON.parse(form.dataset[name] || "null");
    if (own) body[name] = own;
  }
  return body;
}

/** without saves a provider without what it has of the button's model. */
const without = (button, name) => act(button, async () => {
  const body = configOf(button);
  delete body[name][button.dataset.model];
  await api("PUT", providerPath(nameOf(button)), body);
  await saved();
});

const micros = (dollars) => Math.round(Number(String(dollars).replace(",", ".")) * 1e6);

async function saved() {
  await again();
  toast(t("saved"));
}

export const submits = {
  "save-assistant": async (form, data) => {
    const body = {
      name: data.get("name").trim(), active: data.has("active"), provider: data.get("provider"), model: data.get("model").trim(),
      temperature: Number(data.get("temperature")), max_tokens: Number(data.get("max_tokens")), persona: data.get("persona"),
      time_zone: data.get("time_zone").trim() || undefined,
      automation: { mode: data.get("mode"), delay_ms: Math.round(Number(data.get("delay")) * 1000) }, conclude: data.get("conclude") || undefined,
      fallback: choices(form),
    };
    await api("PUT", assistantPath(form.dataset.project), body);
    await saved();
  },
  "save-entitlement": async (form, data) => {
    await api("PUT", "/ai/entitlement", { entitled: data.has("entitled"), enabled: data.has("enabled"), allowedProviders: data.getAll("allowed") });
    await saved();
  },
  "add-provider": async (form, data) => {
    const name = data.get("name").trim();
    const there = document.querySelector(`[data-provider="${CSS.escape(name)}"] [data-submit="save-provider"]`);
    await api("PUT", providerPath(name), { ...(there && configOf(there)), base_url: data.get("base_url").trim(), keyless: data.has("keyless") });
    if (data.get("key")) await api("PUT", providerPath(name, "key"), { key: data.get("key") });
    await again();
    toast(t("added", { name }));
  },
  "save-provider": async (form) => {
    await api("PUT", providerPath(nameOf(form)), configOf(form));
    await saved();
  },
  "save-price": async (form, data) => {
    const body = configOf(form);
    const price = { input_micros: micros(data.get("input_micros")), output_micros: micros(data.get("output_micros")) };
    if (data.get("cached_micros").trim()) price.cached_micros = micros(data.get("cached_micros"));
    await api("PUT", providerPath(nameOf(form)), { ...body, prices: { ...body.prices, [data.get("model").trim()]: price } });
    await saved();
  },
  "save-window": async (form, data) => {
    const body = configOf(form);
    const windows = { ...body.windows, [data.get("model").trim()]: Number(data.get("tokens")) };
    await api("PUT", providerPath(nameOf(form)), { ...body, windows });
    await saved();
  },
  "check-provider": async (form, data) => {
    const model = data.get("model").trim();
    await api("POST", providerPath(nameOf(form), "check"), model ? { model } : {});
    await again();
  },
  "set-provider-key": async (form, data) => {
    const key = data.get("key");
    form.reset();
    await api("PUT", providerPath(nameOf(form), "key"), { key });
    await saved();
  },
};

const rowOf = (button) => button.closest(".stand-in");

export const actions = {
  "add-stand-in": (button) => {
    const list = button.closest("form").querySelector(".stand-ins");
    list.append(document.getElementById("stand-in").content.cloneNode(true));
    chooseProvider(list.lastElementChild.querySelector("select"));
    list.lastElementChild.querySelector("select").focus();
  },
  "stand-in-up": (button) => {
    rowOf(button).previousElementSibling?.before(rowOf(button));
    button.focus();
  },
  "stand-in-down": (button) => {
    rowOf(button).nextElementSibling?.after(rowOf(button));
    button.focus();
  },
  "stand-in-remove": (button) => {
    const add = button.closest("form").querySelector("[data-action=add-stand-in]");
    rowOf(button).remove();
    add.focus();
  },
  "delete-assistant": async (button) => {
    if (!(await ask({ title: t("delete_assistant"), text: t("delete_assistant_text"), yes: t("remove"), danger: true }))) return;
    await act(button, async () => {
      await api("DELETE", assistantPath(button.form.dataset.project));
      await again();
    });
  },
  "remove-provider-key": async (button) => {
    const name = nameOf(button);
    if (!(await ask({ title: t("remove_key", { name }), text: t("remove_key_text"), yes: t("remove"), danger: true }))) return;
    await act(button, async () => {
      await api("DELETE", providerPath(name, "key"));
      await again();
    });
  },
  "remove-price": (button) => without(button, "prices"),
  "remove-window": (button) => without(button, "windows"),
  "delete-provider": async (button) => {
    const name = nameOf(button);
    if (!(await ask({ title: t("delete_provider", { name }), text: t("delete_provider_text"), yes: t("remove"), danger: true }))) return;
    await act(button, async () => {
      await api("DELETE", providerPath(name));
      await again();
    });
  },
};

/** chooseProvider offers the models of the provider that was chosen. */
export function chooseProvider(select) {
  const model = (select.closest(".stand-in") || select.form).querySelector("[list], [name=model], [name=fallback_model]");
  model.setAttribute("list", "models-" + select.value);
  if (model.name === "model") sayPrice(model);
}

/** chooseAutomation asks for a delay only where there is one. */
export const chooseAutomation = (select) => (select.form.querySelector("[data-delay]").hidden = select.value !== "automatic");

/** sayPrice tells what the chosen model costs, or that nobody knows. */
export function sayPrice(input) {
  const place = input.closest(".field").querySelector("[data-price]");
  const models = document.getElementById(input.getAttribute("list"));
  const known = [...(models?.options || [])].find((o) => o.value === input.value.trim());
  const free = ["demo", "keyless"].includes(models?.dataset.state);
  place.textContent = known ? known.label : input.value.trim() && !free ? t("unpriced") : "";
}

/** askStatus fills in what only the server can say: whether the provider answers,
    and whether the deployment has the keys that are taken from it. */
export async function askStatus() {
  const v = view();
  awaitChecks(v);
  if (v.dataset.name !== "assistants" && v.dataset.name !== "assistant") return;
  const model = v.querySelector("[data-input=model]");
  if (model) sayPrice(model);
  if (v.dataset.name !== "assistants") return;
  const [status, list] = await Promise.all([quietly("/ai/status"), quietly("/ai/providers")]);
  if (view() !== v) return;
  health(v, status);
  for (const p of list?.providers || []) {
    const state = v.querySelector(`[data-provider="${CSS.escape(String(p.provider))}"] [data-state=deployment]`);
    if (!state || p.has_key !== false) continue;
    state.dataset.state = "missing";
    state.querySelector("[data-key-state]").textContent = t("no_key");
  }
}

// awaitChecks shows the checks that go on once they have ended.
async function awaitChecks(v) {
  const names = [...v.querySelectorAll("[data-check=running]")].map(nameOf);
  while (names.length) {
    await new Promise((done) => setTimeout(done, 2000));
    if (view() !== v) return;
    const read = await Promise.all(names.map((name) => quietly(providerPath(name))));
    if (view() !== v) return;
    if (read.some((p) => p && p.check?.status !== "running")) return void again();
  }
}

async function quietly(url) {
  try {
    return await api("GET", url);
  } catch (failure) {
    if (!(failure instanceof Problem)) throw failure;
    return undefined;
  }
}

// standing says in a word what the account's AI is, the first hindrance first.
function standing(s) {
  if (!s) return ["offline", t("ai_unknown")];
  if (!s.entitled) return ["offline", t("ai_not_entitled")];
  if (!s.enabled) return ["offline", t("ai_disabled")];
  if (!s.configured) return ["offline", t("ai_unconfigured")];
  if (s.connected) return ["online", t("ai_ok")];
  const key = "ai_" + s.outcome;
  const said = t(key);
  return ["offline", said === key ? t("ai_down") : said];
}

function health(v, s) {
  const [presence, said] = standing(s);
  const line = v.querySelector("#ai-status-line");
  line.replaceChildren(el("span", { class: "presence " + presence }), el("strong", {}, said));
  if (s?.model) line.append(el("span", { class: "fine" }, `${s.provider} · ${s.model}`));
  if (s?.checked_at) line.append(el("span", { class: "fine" }, t("ai_checked"), " ", ago(s.checked_at)));
  const attempts = Array.isArray(s?.attempts) ? s.attempts : [];
  const fold = v.querySelector("#ai-attempts");
  fold.toggleAttribute("data-empty", !attempts.length);
  fold.querySelector("tbody").replaceChildren(...attempts.map(attemptRow));
  v.querySelector("#ai-status").removeAttribute("aria-busy");
  tellTime(v);
}

const ago = (at) => el("time", { datetime: at, "data-ago": "long" }, t("just_now"));

function attemptRow(a) {
  const key = "outcome_" + a.outcome;
  const said = t(key);
  return el("tr", {},
    el("td", {}, ago(a.at)),
    el("td", {}, `${a.provider} · ${a.model}`),
    el("td", { class: a.outcome === "ok" ? "good" : "bad" }, said === key ? String(a.outcome) : said),
    el("td", { class: "n" }, (a.latency_ms / 1000).toLocaleString(undefined, { maximumFractionDigits: 1 }) + " s"),
    el("td", { class: "n" }, `${a.estimated ? "≈ " : ""}${a.input_tokens + a.output_tokens}`));
}
