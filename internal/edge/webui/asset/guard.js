// The local guard: «confirmo», «cancela» or «detener» that begins a chat is answered
// here, without asking the server. After anything was said, only the server knows what it
// answers, and a bare «sí» or «no» always goes to the server. A yes, named or bare, to a plan of which steps were not on the screen shows
// these first, as the plan's button does. The guard reads a message as internal/chats/intent does, over the
// same closed lists. A longer yes names what is sent, which only the server knows: each message with a phrase that agrees
// may be one. Until the lists are here, or when they cannot be had, the server answers what is decided here otherwise, and
// any message may be such a yes.

import { wordsURL } from "./text.js";

let lists;

export async function loadWords() {
  if (lists) return;
  try {
    const words = await (await fetch(wordsURL, { credentials: "same-origin" })).json();
    lists = {
      confirm: new Set(words.confirm),
      assent: new Set(words.assent),
      cancel: new Set(words.cancel),
      agree: new Set(words.agree),
      hesitations: new Set(words.hesitations),
      slips: new Map(Object.entries(words.slips)),
      polite: words.polite,
      agreeing: words.agreeing,
      words: words.words,
    };
  } catch {
    lists = undefined;
  }
}

/** decides reports whether the whole message names confirming, cancelling or stopping. */
export function decides(message) {
  if (!lists || asks(message) || quotes(message)) return false;
  const text = normalize(message);
  return onList(text, message) || onList(repaired(text), message);
}

/** agrees reports whether the message may be a yes; without the lists every message may be one. */
export function agrees(message) {
  if (!lists) return true;
  if (asks(message) || quotes(message)) return false;
  const text = normalize(message);
  const isYes = (words) => (lists.confirm.has(words) || lists.assent.has(words)) && !contradicts(message);
  return text ? isYes(text) || isYes(repaired(text)) || mayAgree(text, message) : nods.test(message.replace(silent, ""));
}

const mayAgree = (text, message) => text.split(" ").length <= lists.words && !contradicts(message) && lists.agreeing.some((phrase) => ` ${text} `.includes(` ${phrase} `));

const nods = /^(?:\s*[👍👌])+\s*$/u;

const onList = (text, message) => (lists.confirm.has(text) && !contradicts(message)) || lists.cancel.has(text) || lists.cancel.has(curt(text));

function curt(text) {
  for (const p of lists.polite) {
    if (text.startsWith(p + " ")) return text.slice(p.length + 1);
    if (text.endsWith(" " + p)) return text.slice(0, -p.length - 1);
  }
  return text;
}

const repaired = (text) =>
  text
    .split(" ")
    .map((word) => word.replace(/(.)\1\1+/gu, "$1"))
    .map((word) => lists.slips.get(word) ?? word)
    .filter((word) => !lists.hesitations.has(word))
    .join(" ");

function normalize(message) {
  let text = message;
  for (let i = 0; i < 8; i++) {
    const next = once(text);
    if (next === text) break;
    text = next;
  }
  return text;
}

const silent = /[\u0300\u0301\u0302\u0303\u0308\u0327'’ʼ´\u00ad\u200b\u200c\u200d\u2060\ufeff\ufe0e\ufe0f\u{1F3FB}-\u{1F3FF}]/gu;
const emoji = /(?![\u0000-\u00ff\ufffc\ufffd])\p{So}/u;
const gap = /[\s\p{P}]|(?![\u0000-\u00ff\ufffc\ufffd])\p{So}/gu;

const once = (text) =>
  text.normalize("NFKC").toLowerCase().normalize("NFKD").replace(silent, "").replace(gap, " ").replace(/ +/g, " ").trim().normalize("NFKC");

const asks = (text) => text.includes("\u037e") || /[?¿؟‽⸮⸘❓❔\u{16844}]/u.test(text.normalize("NFKC"));
const quotes = (text) => /["“”„«»‹›`\\＂「」『』]/u.test(text.trim()) || /^['‘/]/u.test(text.trim());
const frown = /[:;=]['’-]?[([{/|]|\[\s*\]/u;
const contradicts = (text) => frown.test(text) || [...text.normalize("NFKC")].some((c) => emoji.test(c) && !lists.agree.has(c));
