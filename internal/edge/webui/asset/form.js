// Forms: sending one, and telling what was refused at the field that it is about.

import { Problem } from "./api.js";
import { located } from "./edit.js";
import { busy, clear, problem } from "./notice.js";
import { el, t } from "./text.js";
import { view } from "./view.js";

/** attempt runs work; a failure is told at its fields, and in the nearest place for one. */
export async function attempt(near, work) {
  const form = near.closest("form");
  const place = form?.querySelector("[data-problem]") || view().querySelector("[data-problem]") || document.getElementById("composer-problem");
  clear(place);
  if (form) unmark(form);
  try {
    await work();
  } catch (failure) {
    if (!(failure instanceof Problem)) throw failure;
    const rest = form ? failure.errors.filter((e) => !mark(form, e)) : failure.errors;
    const marked = rest.length < failure.errors.length;
    problem(place, { ...told(failure), errors: rest });
    if (marked) form.querySelector("[aria-invalid=true]").focus();
  }
}

const told = ({ title, detail, action, trace, existing }) => ({ title, detail, action, trace, existing });

/** act runs work with its button switched off. */
export const act = (button, work) => busy(button, () => attempt(button, work));

/** submit sends a form by the one of the senders that it names. */
export function submit(form, senders) {
  const button = form.querySelector("button:not([type=button])");
  return act(button, () => senders[form.dataset.submit](form, new FormData(form)));
}

/** arrange shows the parts of a form that its choices call for: data-shown and
    data-required name an input and the values that do ("in:header,query"). What is
    not shown is not sent. */
export function arrange({ form }) {
  const holds = (condition) => {
    const [name, values] = condition.split(":");
    const input = form.elements[name];
    return !input.matches(":disabled") && values.split(",").includes(input.value);
  };
  // Those that hold inputs come first, the outer before the inner: what they
  // switch off is chosen no more.
  for (const part of form.querySelectorAll("fieldset[data-shown]")) part.disabled = part.hidden = !holds(part.dataset.shown);
  for (const part of form.querySelectorAll(":not(fieldset)[data-shown]")) part.hidden = !holds(part.dataset.shown);
  for (const input of form.querySelectorAll("[data-required]")) input.required = holds(input.dataset.required);
}

function unmark(form) {
  form.querySelectorAll(".field-error").forEach((said) => said.remove());
  for (const input of form.querySelectorAll("[aria-invalid]")) {
    input.removeAttribute("aria-invalid");
    input.removeAttribute("aria-describedby");
  }
}

let marks = 0;

// mark says what is wrong with a field below it; false when the form has none of
// that name.
function mark(form, { loc, msg, type, input: known }) {
  const place = (loc || []).slice(loc?.[0] === "body" && loc.length > 1 && !known ? 1 : 0);
  const input = "located" in form.dataset ? located(form, place, known) : fieldOf(form, place.filter((part) => part !== "body"));
  if (!input) return false;
  const said = el("small", { class: "field-error", id: "field-error-" + ++marks }, sentence(type) || msg || type || "");
  input.setAttribute("aria-invalid", "true");
  input.setAttribute("aria-describedby", said.id);
  (input.closest(".stand-in, .field, .check") || input.parentElement).append(said);
  return true;
}

const sentence = (type) => {
  const key = "bad_" + type;
  const text = t(key);
  return text === key ? "" : text;
};

// fieldOf finds the input of a member: by its name, or in a list's row by the
// row's number and its name.
function fieldOf(form, loc) {
  const at = loc.findIndex(Number.isInteger);
  const last = loc.filter((part) => typeof part === "string").at(-1);
  if (!last) return null;
  const list = at > 0 && form.querySelector(`[data-list="${CSS.escape(loc[at - 1])}"]`);
  const scope = list ? list.children[loc[at]] : form;
  const names = list ? [`${loc[at - 1]}_${last}`, last] : [loc.join("_"), loc.slice(-2).join("_"), last, ...loc];
  for (const name of names) {
    const input = scope?.querySelector(`[name="${CSS.escape(String(name))}"]:not([type=checkbox])`) || scope?.querySelector(`[name="${CSS.escape(String(name))}"]`);
    if (input) return input;
  }
  return null;
}
