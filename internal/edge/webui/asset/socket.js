// The socket: what happens is heard at once, while it is connected. A push is a
// hint and the API is the truth: numbers that do not follow each other, and every
// new connection, say that something may have been missed, and it is asked for.

import { api, Problem } from "./api.js";
import { doubt, reachable } from "./connection.js";

const pingSeconds = 120; // between two pings, unless the server says another time
const hiddenSeconds = 9 * 60; // … in a hidden tab: API Gateway closes a connection that was silent for ten minutes
const longest = 24 * 3600; // what a timer can wait
const newSeconds = 3; // until the second ping: who pushes may not know a connection that is younger than 2 s
const answerSeconds = 10; // for the pong to come
const slowest = 300; // seconds between two attempts, at most

let socket; // the one that is open, or opening
let greeted = false; // it has answered a ping: its numbers are known
let seq; // of the last push
let attempts = 0;
let retry; // of the next attempt
let pinging;
let opened = 0; // when the socket was opened
let pinged = 0; // when the last ping was sent
let waiting = false; // for a pong
let silence;
let over = false; // nobody will answer: signed out, replaced, or there is none here
let heard = () => {};
let missed = () => {};
let chat = () => ""; // that is open
let said; // the chat that the last ping named

/** connected reports whether pushes come. */
export const connected = () => greeted;

/** startSocket connects and stays connected. onEvent gets each push, onMissed is
    called when some may not have come, and openChat returns the chat that is
    open: its pushes come whole, of any other it is told that it changed. */
export function startSocket(onEvent, onMissed, openChat) {
  heard = onEvent;
  missed = onMissed;
  chat = openChat;
  document.addEventListener("connection", () => reachable() && !socket && connect());
  document.addEventListener("visibilitychange", () => {
    if (socket) schedule();
    else if (!document.hidden) connect();
  });
  connect();
}

async function connect() {
  clearTimeout(retry);
  if (over || socket || !reachable()) return; // it is called again when the server answers
  socket = true; // so that there is one attempt at a time
  try {
    const place = await api("POST", "/api/realtime");
    open(new WebSocket(address(place)));
  } catch (failure) {
    socket = undefined;
    over = failure instanceof Problem && (failure.status === 401 || failure.status === 404 || failure.code === "realtime.unavailable");
    again();
  }
}

// address is where the socket is, with the ticket that opens it once.
function address({ url, ticket }) {
  const at = new URL(url, location.href);
  at.protocol = at.protocol.replace(/^http/, "ws");
  if (ticket && !at.searchParams.has("ticket")) at.searchParams.set("ticket", ticket);
  return at;
}

function open(fresh) {
  socket = fresh;
  fresh.onopen = () => {
    opened = Date.now();
    ping(fresh);
  };
  fresh.onmessage = (e) => fresh === socket && receive(e.data);
  fresh.onclose = () => fresh === socket && lost();
}

function lost() {
  clearTimeout(pinging);
  clearTimeout(silence);
  socket = seq = undefined;
  greeted = waiting = false;
  document.documentElement.removeAttribute("data-live");
  tell();
  doubt();
  again();
}

// tell tells that pushes come now, or that they do not come any more.
const tell = () => document.dispatchEvent(new CustomEvent("socket"));

// again waits a random part of a time that doubles, so that many pages do not
// come back at once.
function again() {
  if (over) return;
  const most = Math.min(slowest, 2 ** attempts++);
  retry = setTimeout(connect, Math.random() * most * 1000);
}

let every = pingSeconds;

// schedule sets the time of the next ping. Nobody looks at a hidden tab: it only keeps its connection, and the pushes come
// all the same. The timer is set by a push or an event, and not by a timer, because a browser delays chains of timers there.
function schedule() {
  clearTimeout(pinging);
  if (!greeted || waiting) return; // the pong sets it
  const to = socket;
  const seconds = young() ? newSeconds : document.hidden ? Math.max(every, hiddenSeconds) : every;
  pinging = setTimeout(() => ping(to), Math.max(0, pinged + seconds * 1000 - Date.now()));
}

// young reports whether the last ping was too early for who pushes to know the connection.
const young = () => pinged < opened + newSeconds * 1000;

function ping(to) {
  if (to !== socket || to.readyState !== WebSocket.OPEN) return;
  clearTimeout(pinging);
  pinged = Date.now();
  waiting = true;
  said = chat();
  to.send(JSON.stringify({ action: "ping", conversationId: said }));
  clearTimeout(silence);
  silence = setTimeout(() => to === socket && (to.close(), lost()), answerSeconds * 1000);
}

/** look says which chat is open now. */
export function look() {
  if (greeted && said !== chat()) ping(socket);
}

function receive(text) {
  let frame;
  try {
    frame = JSON.parse(text);
  } catch {
    return;
  }
  if (!frame || typeof frame !== "object") return;
  const data = frame.data && typeof frame.data === "object" ? frame.data : {};
  clearTimeout(silence);
  switch (frame.type) {
    case "hello":
      every = data.ping_seconds > 0 ? Math.min(longest, Number(data.ping_seconds)) : pingSeconds;
      return;
    case "pong":
      ponged(frame.seq);
      return;
    case "error":
      if (data.code === "auth_required" || data.code === "realtime.replaced") over = true;
      if (data.code === "auth_required") missed(); // which finds out that nobody is signed in
      return;
  }
  if (Number.isInteger(frame.seq)) {
    if (seq !== undefined && frame.seq <= seq) return; // twice, or late: it was asked for when it was missed
    const gap = seq !== undefined && frame.seq !== seq + 1;
    seq = frame.seq;
    if (gap) missed();
  }
  heard(frame.type, data);
}

function ponged(last) {
  const fresh = !greeted;
  waiting = false;
  const behind = fresh || last > seq;
  greeted = true;
  document.documentElement.setAttribute("data-live", "");
  seq = Math.max(seq ?? 0, last || 0);
  if (fresh) tell();
  if (!young()) attempts = 0; // a connection that ends at once again and again is tried less and less often
  if (behind) missed();
  schedule();
  look(); // a chat that was opened meanwhile
}
