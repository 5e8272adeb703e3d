// Texts that were begun and not sent: one for each chat, kept by the browser.

import { view } from "./view.js";

const place = "piloto.drafts";
const most = 30; // chats; the one that was written in longest ago is dropped

// A browser may refuse to keep anything. Then nothing is kept.
function read() {
  try {
    return JSON.parse(localStorage.getItem(place)) || [];
  } catch {
    return [];
  }
}

function write(drafts) {
  try {
    if (drafts.length) localStorage.setItem(place, JSON.stringify(drafts));
    else localStorage.removeItem(place);
  } catch { /* it is full, or refused */ }
}

// key names the open chat, or a new one in a project.
const key = () => view().dataset.chat || "new " + (view().dataset.project || "");

/** keepDraft keeps what is written in the open chat; an empty text removes it. */
export function keepDraft(text) {
  const of = key();
  const others = read().filter(([chat]) => chat !== of);
  write(text.trim() ? [[of, text], ...others].slice(0, most) : others);
}

/** draft is what was written in the open chat and not sent. */
export const draft = () => read().find(([chat]) => chat === key())?.[1] || "";

// Whoever signs in next reads none of it.
document.addEventListener("submit", (e) => e.target.matches('form[action="/signout"]') && write([]));
