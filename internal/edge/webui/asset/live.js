// What the socket tells, brought to the screen: each push names what to ask for.
// While it is connected nothing else is asked for. Without it the same is asked for
// now and then, and less often the longer nobody does anything.

import { recheck } from "./eligible.js";
import { follow, wakeAll } from "./run.js";
import { reachable } from "./connection.js";
import { connected, look, startSocket } from "./socket.js";
import { again, refreshChat, refreshChats, thread, view } from "./view.js";
import { waitingChanged } from "./waiting.js";
import { fade, render, write } from "./writing.js";

let typed = false; // something is written in a form of the view, which would be lost with it

const first = 60; // seconds between two looks without the socket
const firstOfJob = 5; // … while an agent works in the open chat
const slowest = 300; // … at most
const slowestOfJob = 60;

export function startLive() {
  startSocket(event, everything, () => (thread() && view().dataset.chat) || "");
  for (const change of ["entered", "begun"]) document.addEventListener(change, look);
  document.addEventListener("connection", () => {
    render();
    if (!reachable()) return;
    everything();
    if (!thread() && !typed) again();
  });
  document.addEventListener("entered", () => (typed = false));
  document.addEventListener("input", (e) => (typed ||= Boolean(view()?.contains(e.target))));
  for (const change of ["socket", "visibilitychange", "view", "input"]) document.addEventListener(change, poll);
  poll({});
  setInterval(fade, 5000);
}

let looking; // the timer of the next look
let looked = 0; // looks since somebody did something
let quick; // it is set for a job

// poll looks now and then while there is no socket and somebody may see it. A view that shows the same job again changes nothing.
function poll({ type }) {
  const job = Boolean(document.querySelector(".job[data-live]"));
  if (type === "view" && looking && quick === job) return;
  clearTimeout(looking);
  looking = undefined;
  if (connected() || document.hidden) return;
  if (quick !== job || type !== "view" && type !== "look") looked = 0;
  quick = job;
  const seconds = Math.min(job ? slowestOfJob : slowest, (job ? firstOfJob : first) * 1.5 ** looked);
  looking = setTimeout(() => {
    looked++;
    everything();
    poll({ type: "look" });
  }, seconds * 1000);
}

/** everything brings the view and the list up to date. */
export function everything() {
  waitingChanged();
  if (!thread()) wakeAll();
  else if (view().dataset.chat) refreshChat().catch(() => {});
}

const here = (data) => thread() && Boolean(data.conversationId) && data.conversationId === view().dataset.chat;

let listed;

// list refreshes the chats beside the view, for all that comes within a moment.
function list() {
  listed ??= setTimeout(() => {
    listed = undefined;
    refreshChats();
  }, 400);
}

function event(type, data) {
  switch (type) {
    case "ai:text":
    case "ai:text_reset":
    case "ai:text_end":
      write(type, data);
      return;
    case "chat": // something of it may wait by now, or no longer; or it was not known yet that it is open
      waitingChanged();
      if (here(data)) refreshChat().catch(() => {});
      if (!thread()) wakeAll();
      return;
    case "message":
      list();
      if (here(data)) refreshChat().catch(() => {});
      return;
    case "run":
      waitingChanged();
      if (document.getElementById("run-" + data.run_id)) follow(data.run_id);
      else if (here(data)) refreshChat().catch(() => {});
      return;
    case "job":
      waitingChanged();
      if (here(data)) refreshChat().catch(() => {});
      return;
    case "ai:execution_blocked":
      if (here(data)) recheck();
  }
}
