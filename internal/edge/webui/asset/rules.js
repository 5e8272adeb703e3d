// Rules: adding one and removing one. All are sent together with the version they
// were read in, so that nobody's change is lost.

import { api } from "./api.js";
import { act } from "./form.js";
import { ask, toast } from "./notice.js";
import { t } from "./text.js";
import { again, view } from "./view.js";

const all = () => [...document.querySelectorAll("#rules [data-rule]")].map((row) => JSON.parse(row.dataset.rule));

async function put(rules) {
  await api("PUT", "/api/rules", { version: Number(view().dataset.version), rules });
  await again();
  toast(t("saved"));
}

export const submits = {
  "add-rule": async (form, data) => {
    const rule = { effect: data.get("effect"), reason: data.get("reason").trim() };
    for (const name of ["server", "method", "path"]) {
      const text = (data.get(name) || "").trim();
      if (text) rule[name] = name === "method" ? text.toUpperCase() : text;
    }
    const at = (data.get("over_at") || "").trim();
    const most = (data.get("over_most") || "").trim().replace(",", ".");
    if (at || most) rule.over = { at, most };
    if (data.has("another")) rule.another = true;
    if (data.get("minutes")) rule.minutes = Number(data.get("minutes"));
    await put([...all(), rule]);
  },
};

export const actions = {
  "remove-rule": async (button) => {
    const row = button.closest("[data-rule]");
    const said = row.querySelector(".entry-name").textContent;
    if (!(await ask({ title: t("remove_rule"), text: said, yes: t("remove"), danger: true }))) return;
    await act(button, () => put(all().filter((rule) => rule.id !== button.dataset.id)));
  },
};
