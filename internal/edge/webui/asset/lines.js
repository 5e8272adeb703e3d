// What can be done with one message: a branch of the chat at it, and what the person thinks of it.

import { api, newKey, Problem } from "./api.js";
import { announce, ask, busy, clear, problem, toast } from "./notice.js";
import { t } from "./text.js";
import { go, refreshChat, view } from "./view.js";

const idOf = (button) => button.closest(".line").id.slice(2);

// attempt runs work; a failure is told at the composer, because a line has no place for one.
const attempt = (button, work) => busy(button, async () => {
  const place = document.getElementById("composer-problem");
  clear(place);
  try {
    await work();
  } catch (failure) {
    if (!(failure instanceof Problem)) throw failure;
    problem(place, failure);
  }
});

const branch = (button) => attempt(button, async () => {
  const from = view().dataset.chat;
  const made = await api("POST", `/api/chats/${encodeURIComponent(from)}/branch`, { message_id: idOf(button) }, { "Idempotency-Key": newKey() });
  if (view().dataset.chat !== from) return; // somebody went elsewhere meanwhile
  if (await go("/?chat=" + encodeURIComponent(made.chat_id))) {
    announce(t("branched"));
    toast(t("branched"));
  }
});

async function keep(id, body, said) {
  const { chat } = view().dataset;
  await api("PUT", `/api/messages/${encodeURIComponent(id)}/feedback?chat_id=${encodeURIComponent(chat)}`, body);
  announce(said);
  await refreshChat();
}

const noteOf = (button) => button.closest(".line").querySelector(".feedback-note span")?.textContent || "";

// rate keeps a rating, with the note that there is; a pressed one is taken back.
const rate = (rating) => (button) => attempt(button, () => button.ariaPressed === "true"
  ? keep(idOf(button), { rating: null }, t("rating_gone"))
  : keep(idOf(button), { rating, note: noteOf(button) }, t("rated")));

const note = (button) => attempt(button, async () => {
  const id = idOf(button); // the line may be replaced while the person writes
  const { rating } = button.dataset;
  const said = await ask({ title: t("note"), label: t("note_label"), value: noteOf(button), yes: t("save"), optional: true, longest: 2000 });
  if (said) await keep(id, { rating, note: said.text }, t("rated"));
});

export const actions = { "branch-here": branch, "rate-up": rate("up"), "rate-down": rate("down"), "rate-note": note };
