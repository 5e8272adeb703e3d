// Servers and projects: forms, switches and dialogs.

import { api } from "./api.js";
import { act, attempt } from "./form.js";
import { ask, toast } from "./notice.js";
import { el, t } from "./text.js";
import { again, go, view } from "./view.js";

const path = (...parts) => "/api/" + parts.map(encodeURIComponent).join("/");
const serverOf = () => view().dataset.server;
const nameOf = () => view().dataset.serverName;

// told is what was typed into fields, without those left empty.
const told = (data, ...names) => Object.fromEntries(names.map((name) => [name, (data.get(name) || "").trim()]).filter(([, text]) => text));

// keyOf is the key that a form tells; prefix comes before its fields' names.
function keyOf(data, prefix) {
  const key = { in: data.get(prefix + "in"), value: data.get(prefix + "value") };
  for (const name of ["name", "token_url", "scope"]) {
    const text = (data.get(prefix + name) || "").trim();
    if (text) key[name] = text;
  }
  return key;
}

export const submits = {
  "add-server": async (form, data) => {
    const body = { url: data.get("url").trim(), kind: data.get("kind") || "openapi", allow_offline: data.has("allow_offline"), force: data.has("force"), ...told(data, "name", "role", "description", "document_url") };
    const words = (data.get("keywords") || "").split(/[,;\n]/).map((word) => word.trim()).filter(Boolean);
    if (words.length) body.keywords = words;
    if (data.get("reads")) body.reads = { mode: data.get("reads") };
    if (data.get("key_in")) body.key = keyOf(data, "key_");
    const server = await api("POST", "/api/mcps", body);
    form.reset();
    toast(t("added", { name: server.name }));
    await go("/?view=servers&id=" + encodeURIComponent(server.mcp_id));
  },
  "set-reads": async (form, data) => {
    const body = { mode: data.get("mode") };
    const circle = (data.get("circle") || "").trim();
    if (circle) body.circle = circle;
    const tools = data.getAll("tools");
    if (tools.length) body.tools = tools;
    const writing = [...form.querySelectorAll("input[name=tools][data-writes]:checked")].map((box) => box.value);
    if (writing.length) {
      if (!(await ask({ title: t("although"), text: t("although_text", { names: writing.join(", ") }), yes: t("although_yes"), danger: true }))) return;
      body.although = true;
    }
    await api("PUT", path("mcps", serverOf(), "reads"), body);
    await again();
    toast(t("saved"));
  },
  "set-errors": async (form, data) => {
    await api("PUT", path("mcps", serverOf(), "errors"), { errors: data.get("errors") });
    await again();
    toast(t("saved"));
  },
  "set-key": async (form, data) => {
    const body = keyOf(data, "");
    form.elements.value.value = ""; // it is nowhere on the page while it is on its way
    await api("PUT", path("mcps", serverOf(), "key"), body);
    await again();
    toast(t("saved"));
  },
  "add-project": async (form, data) => {
    const project = await api("POST", "/api/projects", { name: data.get("name").trim() });
    toast(t("added", { name: project.name }));
    await go("/?view=projects&id=" + encodeURIComponent(project.project_id));
  },
  "save-project": async (form, data) => {
    const all = data.get("services") === "all";
    const body = { name: data.get("name").trim(), context: data.get("context"), all_services: all };
    if (!all) body.mcp_ids = data.getAll("mcp_ids");
    await api("PATCH", path("projects", view().dataset.edit), body);
    await again();
    toast(t("saved"));
  },
};

/** chooseServices: who ticks a service means those that are ticked. */
export function chooseServices(box) {
  box.form.elements.services.value = "some";
}

/** switchServer takes its word back when the server does not agree. It keeps the focus meanwhile, and takes no other word. */
export async function switchServer(box) {
  if (box.ariaBusy === "true") {
    box.checked = !box.checked;
    return;
  }
  const name = box.closest(".row")?.querySelector(".row-name")?.firstChild.textContent.trim() || nameOf();
  box.ariaBusy = box.ariaDisabled = "true";
  await attempt(box, async () => {
    try {
      await api("PUT", path("mcps", box.dataset.server, "active"), { active: box.checked });
      toast(t(box.checked ? "switched_on" : "switched_off", { name }));
    } catch (failure) {
      box.checked = !box.checked;
      throw failure;
    }
  });
  box.ariaBusy = box.ariaDisabled = null;
}

/** search leaves the operations that hold every word. */
export function search(input) {
  const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
  let found = 0;
  for (const row of document.querySelectorAll("#operations > li")) {
    const text = row.dataset.find.toLowerCase();
    row.hidden = !words.every((w) => text.includes(w));
    found += row.hidden ? 0 : 1;
  }
  document.getElementById("operations-none").hidden = found > 0;
}

export const actions = {
  "refresh-server": async (button) => {
    const approves = "approve" in button.dataset;
    if (approves && !(await ask({ title: t("approve", { name: nameOf() }), text: t("approve_text"), yes: t("approve_yes") }))) return;
    await act(button, async () => {
      const answer = await api("POST", path("mcps", serverOf(), "refresh"));
      await again();
      document.getElementById("changes").replaceChildren(...changes(answer));
    });
  },
  "remove-server": async (button) => {
    const sure = await ask({ title: t("remove_server", { name: nameOf() }), text: t("remove_server_text"), yes: t("remove"), danger: true });
    if (!sure) return;
    await act(button, async () => {
      await api("DELETE", path("mcps", serverOf()));
      await go("/?view=servers");
    });
  },
  "remove-key": async (button) => {
    const sure = await ask({ title: t("remove_key", { name: nameOf() }), text: t("remove_key_text"), yes: t("remove"), danger: true });
    if (!sure) return;
    await act(button, async () => {
      const { in: place, keyName: name } = button.dataset;
      await api("DELETE", path("mcps", serverOf(), "key") + "?" + new URLSearchParams(place === "oauth" ? { in: place } : { in: place, name }));
      await again();
    });
  },
  "delete-project": async (button) => {
    if (!(await ask({ title: t("delete_project"), text: t("delete_project_text"), yes: t("delete"), danger: true }))) return;
    await act(button, async () => {
      await api("DELETE", path("projects", view().dataset.edit));
      await go("/?view=projects");
    });
  },
};

const marks = { added: "+ ", removed: "− ", changed: "± " };

function changes(answer) {
  const counts = Object.fromEntries(Object.keys(marks).map((k) => [k, (answer[k] || []).length]));
  if (!counts.added && !counts.removed && !counts.changed) return [t("no_changes")];
  const list = Object.entries(marks).flatMap(([k, mark]) => (answer[k] || []).map((name) => el("li", {}, mark + name)));
  return [t("changes", counts), el("ul", {}, ...list)];
}
