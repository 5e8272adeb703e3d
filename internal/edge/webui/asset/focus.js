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
