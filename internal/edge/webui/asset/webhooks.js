// Webhooks: making one, taking its secret along while it can be seen, and
// removing it.

import { api } from "./api.js";
import { act } from "./form.js";
import { ask, toast } from "./notice.js";
import { t } from "./text.js";
import { again } from "./view.js";

export const submits = {
  "add-webhook": async (form, data) => {
    const made = await api("POST", "/api/webhooks", { name: data.get("name").trim() });
    await again();
    show(made);
  },
};

// show tells the secret, this once: it is not on the page that a reload brings.
function show({ webhook_id, name, secret, key }) {
  const panel = document.getElementById("webhook-secret").content.cloneNode(true);
  panel.querySelector("#made-title").textContent = t("webhook_made", { name });
  panel.querySelector("#made-id").value = webhook_id;
  panel.querySelector("#made-secret").value = secret;
  panel.querySelector("#made-key").value = key;
  const place = document.getElementById("webhook-made");
  place.replaceChildren(panel);
  place.scrollIntoView({ block: "nearest" });
  document.getElementById("made-secret").select();
}

export const actions = {
  "copy": async (button) => {
    const input = document.getElementById(button.dataset.of);
    input.select();
    try {
      await navigator.clipboard.writeText(input.value);
      toast(t("copied"));
    } catch {
      input.focus(); // it is selected: the keyboard can
      toast(t("copy_by_hand"));
    }
  },
  "delete-webhook": async (button) => {
    const { webhook, webhookName } = button.dataset;
    if (!(await ask({ title: t("delete_webhook", { name: webhookName }), text: t("delete_webhook_text"), yes: t("remove"), danger: true }))) return;
    await act(button, async () => {
      await api("DELETE", "/api/webhooks/" + encodeURIComponent(webhook));
      await again();
    });
  },
};
