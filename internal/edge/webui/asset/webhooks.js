// Webhooks (what comes in) and hooks (what goes out): making one, taking its secret
// along while it can be seen, and removing it. Of a hook also its log.

import { api, fragment } from "./api.js";
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
  "add-hook": async (form, data) => {
    const made = await api("POST", "/api/hooks", { url: data.get("url").trim(), events: data.getAll("events") });
    await again();
    const panel = document.getElementById("hook-secret").content.cloneNode(true);
    panel.querySelector("#made-hook-secret").value = made.secret;
    panel.querySelector("#made-hook-key").value = made.key;
    place("hook-made", panel);
    document.getElementById("made-hook-secret").select();
  },
};

// show tells the secret, this once: it is not on the page that a reload brings.
function show({ webhook_id, name, secret, key }) {
  const panel = document.getElementById("webhook-secret").content.cloneNode(true);
  panel.querySelector("#made-title").textContent = t("webhook_made", { name });
  panel.querySelector("#made-id").value = webhook_id;
  panel.querySelector("#made-secret").value = secret;
  panel.querySelector("#made-key").value = key;
  place("webhook-made", panel);
  document.getElementById("made-secret").select();
}

// place shows the panel of a secret where it belongs.
function place(id, panel) {
  const at = document.getElementById(id);
  at.replaceChildren(panel);
  at.scrollIntoView({ block: "nearest" });
}

// hookOf names the hook of a button, and its address in the API.
function hookOf(button) {
  const { hook } = button.closest("[data-hook]").dataset;
  return { hook, url: "/api/hooks/" + encodeURIComponent(hook) };
}

// showLog shows the newest deliveries of a hook.
async function showLog(hook) {
  const part = await fragment("/ui/hooks/" + encodeURIComponent(hook));
  document.getElementById("log-" + hook).replaceChildren(...part.nodes);
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
  "hook-log": async (button) => {
    const { hook } = hookOf(button);
    const log = document.getElementById("log-" + hook);
    if (log.hidden) await act(button, () => showLog(hook));
    log.hidden = !log.hidden;
    button.setAttribute("aria-expanded", String(!log.hidden));
  },
  "resend-hook": async (button) => {
    const { hook, url } = hookOf(button);
    await act(button, async () => {
      await api("POST", url + "/deliveries/" + encodeURIComponent(button.dataset.delivery) + "/resend");
      await showLog(hook);
      toast(t("hook_resent"));
      document.querySelector(`#log-${hook} [data-delivery="${button.dataset.delivery}"]`)?.focus();
    });
  },
  "hook-switch": async (button) => {
    const { hook, url } = hookOf(button);
    await act(button, async () => {
      await api("PATCH", url, { enabled: button.dataset.on === "true" });
      await again();
      document.querySelector(`[data-hook="${hook}"] [data-action="hook-switch"]`)?.focus();
    });
  },
  "delete-hook": async (button) => {
    const { url } = hookOf(button);
    if (!(await ask({ title: t("delete_hook", { url: button.dataset.address }), text: t("delete_hook_text"), yes: t("remove"), danger: true }))) return;
    await act(button, async () => {
      await api("DELETE", url);
      await again();
    });
  },
};
