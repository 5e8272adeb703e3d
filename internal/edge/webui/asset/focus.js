// Where the focus goes: it is never nowhere.

/** landing is where one writes, but not on a device whose keyboard would then cover what is read; else the view. */
export const landing = () =>
  (matchMedia("(hover: hover)").matches && document.querySelector("[data-view=chat] #message, [data-view=new] #message")) || document.getElementById("view");

/** rest moves the focus there when the element that had it is gone, hidden or switched off. */
export function rest() {
  const at = document.activeElement;
  if (at && at !== document.body && at.checkVisibility() && !at.disabled) return;
  landing().focus({ preventScroll: true });
}

/** keepFocus makes a change that may remove, hide or switch off what has the focus. Some browsers take the focus away at
    once, others before the next frame; it is moved before that. */
export function keepFocus(change) {
  const had = document.activeElement;
  change();
  if (had && had !== document.body) rest();
}

const place = "piloto.focus";

/** startFocus puts the focus back after the reload that a choice of theme or language causes: to its button, or to where
    one writes. A new conversation begins where one writes, too. */
export function startFocus() {
  document.addEventListener("submit", ({ target, submitter }) => {
    if (target.matches('form[action^="/ui/"]') && submitter) keep(`.choices [name="${submitter.name}"][value="${submitter.value}"]`);
  });
  const kept = keep();
  if (kept) (document.querySelector(kept) || landing()).focus({ preventScroll: true });
  else if (document.querySelector("#view[data-name=new]")) rest();
}

// keep stores what gets the focus next, or returns what was stored. A browser may refuse to store anything.
function keep(css) {
  try {
    const kept = sessionStorage.getItem(place);
    if (css) sessionStorage.setItem(place, css);
    else sessionStorage.removeItem(place);
    return kept;
  } catch {
    return null;
  }
}
