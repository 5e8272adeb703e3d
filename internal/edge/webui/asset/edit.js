// Editing a draft: a form for what is flat, JSON for the rest. A value that nobody
// touched goes back with the very digits it came with, so the plan is put together
// as text and never read into numbers.

import { api, fragment, Problem } from "./api.js";
import { problem } from "./notice.js";
import { onCard, refreshCard } from "./run.js";
import { el, t } from "./text.js";
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

function memberJSON(input) {
  const { kind, raw } = input.dataset;
  if (kind === "truth") return input.value;
  if (kind === "number") {
    const text = input.value.trim();
    if (!number.test(text)) throw new Wrong(input, t("bad_number"));
    return text;
  }
  return raw !== undefined && input.value === untouched.get(input) ? raw : JSON.stringify(input.value);
}

// What inputs held when they were opened: they drop line ends that a value may have.
const untouched = new WeakMap();

const members = (part) => [...part.querySelectorAll("[data-member]")].map((input) => JSON.stringify(input.dataset.member) + ":" + memberJSON(input));

// partJSON is the JSON of a query or a body; "" when there is none.
function partJSON(part) {
  const flat = part.querySelector("[data-flat]");
  if (flat && !flat.hidden) return "{" + members(flat).join(",") + "}";
  const input = part.querySelector("[data-json] textarea");
  const text = input.value.trim();
  if (!text) return "";
  try {
    JSON.parse(text);
  } catch (why) {
    throw new Wrong(input, t("bad_json", { why: why.message }));
  }
  return text;
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

function open(form) {
  document.getElementById("editor-place").replaceChildren(form);
  for (const input of form.querySelectorAll("[data-member]")) untouched.set(input, input.value);
  dialog().showModal();
  form.elements.goal.focus();
}

function close() {
  dialog().close();
  document.getElementById("editor-place").replaceChildren();
}

/** savePlan sends the plan as it was edited; what is refused is said at its field,
    and a plan that moved meanwhile is shown as it is. */
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
      close();
      await refreshCard(run).catch(() => {});
      const place = document.querySelector(`#run-${CSS.escape(run)} [data-problem]`);
      if (place) problem(place, { ...failure, title: t("edit_moved"), detail: failure.detail || failure.title, errors: [] });
      refreshChat().catch(() => {});
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

export const actions = {
  "edit-run": (button) =>
    onCard(button, async ({ run }) => {
      const part = await fragment(`/ui/runs/${encodeURIComponent(run)}/edit`);
      if (!part.ok) throw new Problem({ title: t("edit_moved") }, 409);
      open(part.nodes[0]);
    }, { still: true }),
  "edit-close": close,
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
