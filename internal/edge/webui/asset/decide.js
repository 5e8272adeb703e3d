// What a person decides of a plan beside confirming it: rejecting it with a reason,
// approving a step that waits, saying what became of one in doubt, and going on from
// where a run ended.

import { api } from "./api.js";
import { announce, ask, toast } from "./notice.js";
import { onCard } from "./run.js";
import { readOn } from "./seen.js";
import { t } from "./text.js";
import { refreshChat, toEnd } from "./view.js";

const path = (run, verb) => `/api/runs/${encodeURIComponent(run)}/${verb}`;

// noteOf is what was written beside a button.
function noteOf(button) {
  const note = button.closest(".decision")?.querySelector("[data-note]")?.value.trim();
  return note ? { note } : {};
}

function decideStep(button, decision) {
  const place = button.closest(".decision");
  if (decision === "approve" && readOn(place)) return undefined;
  return onCard(button, async ({ run, digest }) => {
    await api("POST", path(run, "approve"), { step_id: button.dataset.step, decision, digest, request_digest: place.dataset.request, ...noteOf(button) });
    const approved = decision === "approve";
    announce(t(approved ? "approved" : "refused"));
  });
}

// A new draft comes after a run that ended: it is shown where it asks.
async function goOn(answer, said) {
  await refreshChat();
  const id = answer?.run?.run_id;
  const card = id && document.getElementById("run-" + id);
  if (card) {
    toEnd(true);
    card.setAttribute("tabindex", "-1");
    card.focus({ preventScroll: true });
  }
  toast(said);
}

export const actions = {
  "reject-run": async (button) => {
    const { digest } = button.closest(".card").dataset;
    const said = await ask({ title: t("reject"), text: t("reject_text"), label: t("reject_label"), yes: t("reject_yes"), optional: true, longest: 500 });
    if (!said) return;
    await onCard(button, ({ run }) => api("POST", path(run, "cancel"), { digest, ...(said.text ? { reason: said.text } : {}) }));
  },
  "approve-step": (button) => decideStep(button, "approve"),
  "refuse-step": (button) => decideStep(button, "refuse"),
  "resolve-step": (button) =>
    onCard(button, async ({ run }) => {
      const { step, outcome } = button.dataset;
      const answer = await api("POST", path(run, "settle"), { step_id: step, outcome, ...noteOf(button) });
      if (outcome === "retry") await goOn(answer, t("retried"));
      else toast(t("resolved"));
    }),
  "look-again": (button) =>
    onCard(button, async ({ run, digest }) => {
      const looked = await api("POST", path(run, "look"), { digest });
      const gone = looked.taken?.some((v) => v.gone);
      announce(t(gone ? "looked_gone" : "looked_same"));
    }),
  "retry-run": (button) => onCard(button, async ({ run }) => goOn(await api("POST", path(run, "retry"), {}), t("retried"))),
  "undo-run": (button) => onCard(button, async ({ run }) => goOn(await api("POST", path(run, "undo"), {}), t("undo_proposed"))),
  "repeat-run": (button) => onCard(button, async ({ run }) => goOn(await api("POST", path(run, "repeat"), {}), t("repeat_proposed"))),
};
