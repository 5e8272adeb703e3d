// How the page speaks up: problems where they belong, toasts, the live region.

import { keepFocus, rest } from "./focus.js";
import { el, icon, t } from "./text.js";

/** problem shows a failure inside place, replacing what was said there before. */
export function problem(place, failure) {
  const text = el("div", { class: "problem-text" }, el("strong", {}, failure.title || t("unexpected")));
  if (failure.detail && failure.detail !== failure.title) text.append(el("span", {}, failure.detail + " "));
  if (failure.errors?.length) {
    text.append(el("ul", {}, ...failure.errors.map((e) => el("li", {}, where(e.loc) + (e.msg || e.type || "")))));
  }
  if (failure.action) text.append(el("p", { class: "problem-do" }, failure.action));
  if (failure.existing) text.append(el("p", { class: "problem-do" }, el("a", { href: "/?view=servers&id=" + encodeURIComponent(failure.existing), "data-nav": "" }, t("existing"))));
  if (failure.trace) text.append(el("p", { class: "problem-trace" }, t("trace") + " ", el("code", {}, failure.trace)));
  const box = el("div", { class: "problem", role: "alert" }, icon("warn"), text,
    el("button", { type: "button", class: "icon-button", "aria-label": t("close"), click: () => keepFocus(() => box.remove()) }, icon("close")));
  place.replaceChildren(box);
  box.scrollIntoView({ block: "nearest" });
  return box;
}

const where = (loc) => {
  const path = (loc || []).filter((part) => part !== "body").join(".");
  return path ? path + ": " : "";
};

/** clear takes back what problem said. */
export const clear = (place) => keepFocus(() => place?.replaceChildren());

/** announce says something to who does not see the page. Texts that come together are all said. */
export function announce(text) {
  const said = el("p", {}, text);
  document.getElementById("announce").append(said);
  setTimeout(() => said.remove(), 10_000);
}

/** toast says that something worked, for a moment; with a label it has a button, which ends it. One with a button stays
    while the pointer or the focus is on it, and in other views; over is called when its time is over. */
export function toast(text, { label, act, over, after = 5000 } = {}) {
  const box = el("div", { class: "toast" }, text);
  if (label) {
    box.classList.add("offers");
    box.append(el("button", { type: "button", class: "button", click: () => { clearTimeout(timer); box.remove(); act(); } }, label));
  } else document.addEventListener("leaving", () => box.remove(), { once: true });
  const end = () => {
    if (box.matches(".offers:is(:hover, :focus-within)")) {
      timer = setTimeout(end, 1000);
      return;
    }
    box.remove();
    over?.();
  };
  let timer = setTimeout(end, after);
  document.getElementById("toasts").append(box);
  return box;
}

let answered = () => {}; // of the question that is open

/** ask opens the dialog; it resolves to false, true, or the text typed into it; of a
    text that may be left out to {text}. */
export function ask({ title, text = "", yes, label, value, danger, optional, longest = 200 }) {
  const dialog = document.getElementById("ask");
  const input = document.getElementById("ask-input");
  const button = document.getElementById("ask-yes");
  document.getElementById("ask-title").textContent = title;
  document.getElementById("ask-text").textContent = text;
  document.getElementById("ask-field").hidden = !label;
  document.getElementById("ask-label").textContent = label || "";
  input.value = value || "";
  input.required = Boolean(label) && !optional;
  input.maxLength = longest;
  input.disabled = !label;
  button.textContent = yes;
  button.classList.toggle("danger", Boolean(danger));
  button.classList.toggle("primary", !danger);
  answered(false); // one question at a time
  dialog.returnValue = "no";
  dialog.showModal();
  const no = dialog.querySelector('button[value="no"]'); // no button of the form: Enter in the field means yes
  no.onclick = () => dialog.close("no");
  if (label) input.select();
  else no.focus();
  return new Promise((resolve) => {
    answered = resolve;
    dialog.onclose = () => {
      if (dialog.open) return; // the end of the question before this one
      const typed = input.value.trim();
      resolve(dialog.returnValue === "yes" && (optional ? { text: typed } : label ? typed : true));
    };
  });
}

/** busy runs work with its button switched off, so that nothing is sent twice. The button keeps the focus. */
export async function busy(button, work) {
  if (button.disabled || button.ariaBusy === "true") return;
  button.ariaBusy = button.ariaDisabled = "true"; // not disabled, which would take its focus away
  try {
    return await work();
  } finally {
    button.ariaBusy = button.ariaDisabled = null;
    if (!button.isConnected) rest();
  }
}
