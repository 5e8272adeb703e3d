// The blocks of an answer that is being written: those that are complete are rendered by
// the server, as its message will be; the open one is shown as it comes.

import { fragment, Problem } from "./api.js";
import { toast } from "./notice.js";
import { el, t } from "./text.js";

const most = 64 << 10; // bytes that the server renders
const pause = 1000; // milliseconds between two requests
const longer = 5000; // … after one that failed

const fence = /^[\s>]*(?:[-*+]\s+|\d+[.)]\s+)?(`{3,}|~{3,})(.*)$/;

/** closed returns the length of the part of a text whose blocks are complete: a blank line ends one, outside a fence. */
export function closed(text) {
  let end = 0;
  let open = "";
  for (let at = 0; ; ) {
    const next = text.indexOf("\n", at) + 1;
    if (!next) return end;
    const line = text.slice(at, next - 1);
    const mark = fence.exec(line);
    if (!mark) {
      if (!open && line.trim() === "" && at > 0) end = next;
    } else if (!open) open = mark[1];
    else if (mark[1][0] === open[0] && mark[1].length >= open.length && mark[2].trim() === "") open = "";
    at = next;
  }
}

/** ask has the complete blocks of an answer rendered, at most about once a second, and calls done when there are more. */
export function ask(answer, done) {
  const { text } = answer;
  if (answer.asking || closed(text) <= (answer.rendered || 0)) return;
  answer.asking = true;
  setTimeout(async () => {
    const part = answer.text.slice(0, closed(answer.text));
    let wait = pause;
    try {
      if (new TextEncoder().encode(part).length > most) return; // the rest is shown as it comes
      const made = await fragment("/ui/text", part);
      if (made.ok && answer.text.startsWith(part)) Object.assign(answer, { nodes: made.nodes, rendered: part.length });
    } catch (failure) {
      if (!(failure instanceof Problem)) throw failure;
      wait = longer;
    }
    answer.next = Date.now() + wait;
    answer.asking = false;
    done();
  }, Math.max(0, (answer.next || 0) - Date.now()));
}

/** fill shows an answer in its place. What did not change stays as it is, so that what a reader selected stays selected. */
export function fill(place, { text, nodes = [], rendered = 0 }) {
  const [blocks, open] = place.children;
  let same = 0;
  while (same < nodes.length && blocks.children[same]?.isEqualNode(nodes[same])) same++;
  while (blocks.children.length > same) blocks.lastElementChild.remove();
  blocks.append(...nodes.slice(same).map((node) => node.cloneNode(true)));
  const rest = text.slice(rendered);
  if (open.firstChild && rest.startsWith(open.textContent)) open.firstChild.appendData(rest.slice(open.textContent.length));
  else open.textContent = rest;
}

/** offerCopies gives each block of code of a finished message a button that copies it. */
export function offerCopies() {
  if (!navigator.clipboard) return; // the page came by an address that the browser does not trust
  for (const code of document.querySelectorAll("#thread .line:not(#writing) figure.code")) {
    if (!code.querySelector(".copy-code")) code.prepend(el("button", { type: "button", class: "quiet copy-code", "data-action": "copy-code" }, t("copy")));
  }
}

/** copyCode copies the code beside a button. */
export async function copyCode(button) {
  await navigator.clipboard.writeText(button.parentElement.querySelector("code").textContent);
  toast(t("copied"));
}
