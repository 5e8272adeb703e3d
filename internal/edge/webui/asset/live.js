// What the socket tells, brought to the screen: each push names what to ask for.
// Without the socket the same is asked for now and then.

import { recheck } from "./eligible.js";
import { follow } from "./run.js";
import { reachable } from "./connection.js";
import { connected, look, startSocket } from "./socket.js";
import { again, refreshChat, refreshChats, thread, view } from "./view.js";
import { waitingChanged } from "./waiting.js";
import { fade, render, write } from "./writing.js";

let typed = false; // something is written in a form of the view, which would be lost with it

const safety = 60; // seconds between two looks, whatever the socket says

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
  setInterval(() => !document.hidden && everything(), safety * 1000);
  setInterval(fade, 5000);
  setInterval(() => !document.hidden && !connected() && document.querySelector(".job[data-live]") && refreshChat().catch(() => {}), 5000);
}

/** everything brings the view and the list up to date. */
export function everything() {
  waitingChanged();
  if (!thread()) return;
  if (view().dataset.chat) refreshChat().catch(() => {});
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
    case "chat": // it was not known yet that it is open
    case "message":
      list();
      if (here(data)) refreshChat().catch(() => {});
      return;
    case "run":
      waitingChanged();
      if (!here(data)) return;
      if (document.getElementById("run-" + data.run_id)) follow(data.run_id);
      else refreshChat().catch(() => {});
      return;
    case "job":
      waitingChanged();
      if (here(data)) refreshChat().catch(() => {});
      return;
    case "ai:execution_blocked":
      if (here(data)) recheck();
  }
}
