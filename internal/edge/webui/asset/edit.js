// Editing a draft: a form for what is flat, JSON for the rest. A value that nobody
// touched goes back with the very digits it came with, so the plan is put together
// as text and never read into numbers.

import { api, fragment, Problem } from "./api.js";
import { onCard, refreshCard } from "./run.js";
import { t } from "./text.js";
import { refreshChat } from "./view.js";

const dialog = () => document.getElementById("editor");
const number = /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/;

// Wrong is a value that cannot be sent, at its input.
class Wrong extends Error {
  constructor(input, message) {
    super(message);
    this.input = input;
  }
}

// memberJSON is the JSON of an input; undefined when its member is left out: one that may be, and is empty, although the plan
// did not have it empty.
function memberJSON(input) {
  const { kind, raw, absent } = input.dataset;
  const empty = input.value.trim() === "";
  if (empty && (absent !== undefined || kind !== "text" || (!("needed" in input.dataset) && input.value !== untouched.get(input)))) {
    if ("needed" in input.dataset) throw new Wrong(input, t("needed"));
    return undefined;
  }
  if (kind === "truth" || kind === "choice") return input.value;
  if (kind === "number") {
    const text = input.value.trim();
    if (text.includes("${")) return JSON.stringify(text);
    if (!number.test(text)) throw new Wrong(input, t("bad_number"));
    return text;
  }
  if (raw && input.value === untouched.get(input)) return raw;
  if (kind === "json") return parsed(input, input.value.trim());
  return JSON.stringify(input.value);
}

// parsed is a text that is JSON.
function parsed(input, text) {
  try {
    JSON.parse(text);
  } catch (why) {
    throw new Wrong(input, t("bad_json", { why: why.message }));
  }
  return text;
}

// What inputs held when they were opened: they drop line ends that a value may have.
const untouched = new WeakMap();

const members = (part) =>
  [...part.querySelectorAll("[data-member]")].flatMap((input) => {
    const json = memberJSON(input);
    return json === undefined ? [] : [JSON.stringify(input.dataset.member) + ":" + json];
  });

// partJSON is the JSON of a query or a body; "" when there is none.
function partJSON(part) {
  const flat = part.querySelector("[data-flat]");
  if (flat && !flat.hidden) {
    const list = members(flat);
    return list.length ? "{" + list.join(",") + "}" : "";
  }
  const input = part.querySelector("[data-json] textarea");
  const text = input.value.trim();
  return text && parsed(input, text);
}

// needsOf are the steps that come before one: of those that are taken out, what they
// needed themselves.
function needsOf(step, steps, gone, seen = new Set()) {
  return JSON.parse(step.dataset.needs).flatMap((id) => {
    if (seen.has(id)) return [];
    seen.add(id);
    const dropped = gone.has(id) && steps.find((s) => s.dataset.id === id);
    return dropped ? needsOf(dropped, steps, gone, seen) : [id];
  });
}

function stepJSON(step, steps, gone) {
  const parts = [`"needs":${JSON.stringify(needsOf(step, steps, gone))}`, `"title":${JSON.stringify(step.querySelector("[data-loc=title]").value)}`];
  parts.push(`"path":${JSON.stringify(step.querySelector("[data-loc=path]")?.value.trim() ?? "")}`);
  const each = step.querySelector("[data-loc=for_each]").value.trim();
  if (each) parts.push(`"for_each":${JSON.stringify(each)}`);
  const when = step.querySelector("[data-loc=when]");
  if (when.value.trim()) parts.push(`"when":${parsed(when, when.value.trim())}`);
  for (const part of step.querySelectorAll("[data-part]")) {
    const json = partJSON(part);
    if (json) parts.push(`${JSON.stringify(part.dataset.part)}:${json}`);
  }
  return step.dataset.rest.slice(0, -1) + "," + parts.join(",") + "}";
}

// kept are the steps that stay, in their order: where the API counts to.
const kept = (form) => [...form.querySelectorAll("[data-edit-step]")].filter((step) => !step.querySelector("[data-drop]")?.checked);

function planJSON(form) {
  const steps = [...form.querySelectorAll("[data-edit-step]")];
  const stay = kept(form);
  const gone = new Set(steps.filter((s) => !stay.includes(s)).map((s) => s.dataset.id));
  const written = stay.map((step) => stepJSON(step, steps, gone));
  return `{"digest":${JSON.stringify(form.dataset.digest)},"goal":${JSON.stringify(form.elements.goal.value.trim())},"steps":[${written.join(",")}]}`;
}

function watch(node) {
  for (const input of node.querySelectorAll("[data-member]")) untouched.set(input, input.value);
}

function open(form) {
  document.getElementById("editor-place").replaceChildren(form);
  watch(form);
  dialog().showModal();
  form.elements.goal.focus();
}

function close() {
  dialog().close();
  document.getElementById("editor-place").replaceChildren();
}

// moved says that the plan is another one by now. What was typed stays, and the plan as it is stands beside it: the next
// try is for that one, when it is still a draft.
async function moved(form, failure) {
  const { run } = form.dataset;
  const card = await refreshCard(run).catch(() => undefined);
  const part = await fragment("/ui/runs/" + encodeURIComponent(run));
  const now = part.nodes[0];
  const draft = "draft" in now.dataset;
  for (const name of ["id", "data-draft", "data-live"]) now.removeAttribute(name); // it is no second card of the run
  now.querySelector(".card-foot")?.remove();
  const box = form.querySelector("[data-moved]");
  box.hidden = false;
  box.open = true;
  box.querySelector("[data-now]").replaceChildren(now);
  if (draft) form.dataset.digest = now.dataset.digest;
  else {
    form.querySelector('[data-action="edit-close"]').focus(); // all that is left to do
    form.querySelector("button.primary").disabled = true;
  }
  if (!card) refreshChat().catch(() => {});
  throw new Problem({ title: t("edit_moved"), detail: failure.detail || failure.title, action: draft ? t("edit_again") : "" }, failure.status);
}

/** submits sends the plan as it was edited; what is refused is said at its field. */
export const submits = {
  "save-plan": async (form) => {
    const { run, digest } = form.dataset;
    let body;
    try {
      body = planJSON(form);
    } catch (wrong) {
      if (!(wrong instanceof Wrong)) throw wrong;
      throw new Problem({ title: t("edit_wrong"), errors: [{ loc: wrong.input.dataset.loc.split("/"), msg: wrong.message, input: wrong.input }] }, 422);
    }
    try {
      await api("PATCH", `/api/runs/${encodeURIComponent(run)}/plan`, body);
    } catch (failure) {
      if (!(failure instanceof Problem) || ![404, 409, 410].includes(failure.status)) throw failure;
      await moved(form, failure);
      return;
    }
    close();
    const card = await refreshCard(run);
    if (card && card.dataset.digest !== digest) {
      card.setAttribute("tabindex", "-1");
      card.focus({ preventScroll: true });
      card.scrollIntoView({ block: "nearest" });
    }
  },
};

/** located finds the input of a place in a plan; the nearest above it when there is
    none. */
export function located(form, loc, input) {
  if (input) return input;
  const at = loc.indexOf("steps");
  const step = at < 0 ? form : kept(form)[loc[at + 1]];
  if (!step) return null;
  const rest = at < 0 ? loc : loc.slice(at + 2);
  for (let n = rest.length; n > 0; n--) {
    const name = rest.slice(0, n).join("/");
    const found = step.querySelector(`[data-loc="${CSS.escape(name)}"]:not([type=hidden])`);
    if (found && !found.closest("[hidden]")) return shown(found);
    const under = n === 1 && step.querySelector(`[data-part="${CSS.escape(name)}"] [data-member]`);
    if (under) return shown(under);
  }
  return null;
}

function shown(input) {
  const fold = input.closest("details");
  if (fold) fold.open = true;
  return input;
}

function move(button, by) {
  const step = button.closest("[data-edit-step]");
  const other = by < 0 ? step.previousElementSibling : step.nextElementSibling;
  if (!other) return;
  if (by < 0) other.before(step);
  else other.after(step);
  button.focus();
}

// addStep adds a step for the call that was chosen, after the others.
async function addStep(select) {
  const option = select.selectedOptions[0];
  const form = select.form;
  if (!option.value) return;
  const ids = [...form.querySelectorAll("[data-edit-step]")].map((step) => Number(step.dataset.id.slice(1)) || 0);
  const q = new URLSearchParams({ mcp: option.dataset.mcp, call: option.value, id: "s" + (Math.max(0, ...ids) + 1) });
  select.value = "";
  const part = await fragment("/ui/edit-step?" + q);
  if (!part.ok) return;
  const step = part.nodes[0];
  form.querySelector("[data-steps]").append(step);
  step.open = true;
  watch(step);
  step.querySelector("[data-loc=title]").focus();
}

export const changes = { "add-step": addStep };

export const actions = {
  "edit-run": (button) =>
    onCard(button, async ({ run }) => {
      const part = await fragment(`/ui/runs/${encodeURIComponent(run)}/edit`);
      if (!part.ok) throw new Problem({ title: t("edit_moved") }, 409);
      open(part.nodes[0]);
    }, { still: true }),
  "edit-close": close,
  "edit-up": (button) => move(button, -1),
  "edit-down": (button) => move(button, 1),
  "edit-json": (button) => {
    const part = button.closest("[data-part]");
    const flat = part.querySelector("[data-flat]");
    const field = part.querySelector("[data-json]");
    const input = field.querySelector("textarea");
    try {
      input.value = "{\n  " + members(flat).join(",\n  ").replaceAll('":', '": ') + "\n}";
    } catch (wrong) {
      if (!(wrong instanceof Wrong)) throw wrong;
      wrong.input.focus();
      return;
    }
    flat.hidden = true;
    field.hidden = false;
    button.remove();
    input.focus();
  },
};
