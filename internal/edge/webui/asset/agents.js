// The choice of the agent that answers the open conversation, beside the composer.

import { api, Problem } from "./api.js";
import { busy, clear, problem } from "./notice.js";
import { el } from "./text.js";
import { refreshChat, thread, view } from "./view.js";

const select = document.getElementById("agent");
const asJob = document.getElementById("as-job");

// The agents that may be chosen, by name; undefined until they were asked for.
let agents;

/** startAgents begins. The agents are asked for when somebody comes near the choice, and when it is opened. */
export function startAgents() {
  for (const near of ["pointerover", "focusin"]) select.form.addEventListener(near, () => agents || ask(), { once: true });
  document.addEventListener("entered", draw);
  document.addEventListener("view", draw);
  select.addEventListener("focus", ask);
}

async function ask() {
  try {
    const answer = await api("GET", "/api/agents");
    agents = new Map(answer.agents.filter((a) => a.kind === "loop").map((a) => [a.name, a.description]));
  } catch (failure) {
    if (!(failure instanceof Problem)) throw failure;
    return;
  }
  draw();
}

/** draw shows the choice of the open conversation. The router chooses by itself in its own. */
function draw() {
  if (!thread()) return;
  const v = view();
  const chosen = v.dataset.agent || "";
  select.parentElement.hidden = "routed" in v.dataset;
  const names = [...(agents?.keys() || [])];
  if (chosen && !names.includes(chosen)) names.push(chosen);
  const shown = [...select.options].slice(1).map((o) => o.value);
  if (shown.join() !== names.join()) {
    while (select.options.length > 1) select.options[1].remove();
    select.append(...names.map((name) => el("option", { value: name, title: agents?.get(name) || "" }, name)));
  }
  if (select.value !== chosen) select.value = chosen;
  select.title = agents?.get(chosen) || "";
  asJob.parentElement.hidden = !chosen || select.parentElement.hidden;
}

/** worker is the agent that a message is a job for; "" when it is to be answered in a turn. */
export const worker = () => (asJob.checked && !asJob.parentElement.hidden ? view().dataset.agent : "");

/** startJob has an agent work on a message in a chat. */
export const startJob = (agent, chat, prompt) => api("POST", `/api/agents/${encodeURIComponent(agent)}/jobs`, { chat_id: chat, prompt });

/** stopJob asks the job of a button to stop. */
export function stopJob(button) {
  const place = () => document.getElementById("job-" + button.dataset.job)?.querySelector("[data-problem]");
  return busy(button, async () => {
    clear(place());
    try {
      await api("POST", `/api/jobs/${encodeURIComponent(button.dataset.job)}/stop`);
    } catch (failure) {
      if (!(failure instanceof Problem)) throw failure;
      await refreshChat().catch(() => {});
      if (place()) problem(place(), failure);
      return;
    }
    await refreshChat().catch(() => {});
  });
}

/** setAgent keeps the choice: with the chat, or until there is one. */
export async function setAgent() {
  const v = view();
  const before = v.dataset.agent;
  const place = document.getElementById("composer-problem");
  clear(place);
  v.dataset.agent = select.value;
  try {
    if (v.dataset.chat) await keepAgent(v);
  } catch (failure) {
    if (!(failure instanceof Problem)) throw failure;
    v.dataset.agent = before;
    problem(place, failure);
  }
  draw();
}

/** keepAgent writes the agent of a view's chat. */
export const keepAgent = (v) => api("PATCH", "/api/chats/" + encodeURIComponent(v.dataset.chat), { agent: v.dataset.agent });
