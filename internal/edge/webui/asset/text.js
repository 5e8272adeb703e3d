// What the page says: the sentences of its language, delivered with it, and
// times in the reader's own zone. Dynamic text is only ever set as text.

const boot = JSON.parse(document.getElementById("boot").textContent);

export const lang = boot.lang;
export const wordsURL = boot.words;

// How far the browser's clock is ahead of the server's, in milliseconds. Less than a minute is not the clock: an answer
// takes time.
let ahead = 0;

/** hearTime takes what an answer says of the time, in milliseconds. */
export function hearTime(at) {
  const by = Date.now() - at;
  if (at) ahead = Math.abs(by) < 60_000 ? 0 : by;
}
hearTime(boot.now);

/** t returns a sentence; {name} is filled, {n:one|many} is the first when n is 1. */
export function t(key, args = {}) {
  const sentence = boot.texts[key] ?? key;
  return sentence.replace(/\{([a-z_]+)(?::([^{}|]*)\|([^{}|]*))?\}/g, (all, name, one, many) => {
    if (!(name in args)) return all;
    if (one === undefined) return String(args[name]);
    return String(args[name]) === "1" ? one : many;
  });
}

/** el makes an element; properties that are functions are listeners. */
export function el(tag, props = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (typeof value === "function") node.addEventListener(name, value);
    else if (value !== undefined && value !== false) node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.filter((c) => c !== undefined && c !== null));
  return node;
}

/** icon draws a symbol of the page's sprite. */
export function icon(name) {
  const ns = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(ns, "svg");
  const use = document.createElementNS(ns, "use");
  svg.setAttribute("class", "icon");
  svg.setAttribute("aria-hidden", "true");
  use.setAttribute("href", "#i-" + name);
  svg.append(use);
  return svg;
}

function span(seconds) {
  if (seconds < 60) return Math.max(0, Math.floor(seconds)) + " s";
  if (seconds < 3600) return Math.floor(seconds / 60) + " min";
  if (seconds < 48 * 3600) return Math.floor(seconds / 3600) + " h";
  return Math.floor(seconds / 86400) + " d";
}

const decimals = new Intl.NumberFormat(lang, { maximumFractionDigits: 1 });

/** size formats a number of bytes. */
export function size(bytes) {
  const n = bytes < 1000 ? 0 : bytes < 1_000_000 ? 1 : 2;
  return decimals.format(bytes / 1000 ** n) + " " + ["B", "KB", "MB"][n];
}

const moments = new Intl.DateTimeFormat(lang, { dateStyle: "short", timeStyle: "short" });

/** moment formats a date and a time, as the API writes it. */
export const moment = (at) => moments.format(new Date(at));

/** clock formats a moment as hours and minutes. */
export const clock = new Intl.DateTimeFormat(lang, { hour: "2-digit", minute: "2-digit" });
const brief = new Intl.DateTimeFormat(lang, { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" });
const full = new Intl.DateTimeFormat(lang, { dateStyle: "long", timeStyle: "short" });

/** tellTime brings every <time> up to date; it returns the drafts whose time is over. */
export function tellTime(root = document) {
  const now = Date.now() - ahead;
  const over = [];
  for (const later of root.querySelectorAll("[data-from]")) later.hidden = now < Date.parse(later.dataset.from);
  for (const time of root.querySelectorAll("time[datetime]")) {
    const at = Date.parse(time.dateTime);
    const seconds = (now - at) / 1000;
    if (!time.title) time.title = full.format(at);
    if ("clock" in time.dataset) time.textContent = clock.format(at);
    else if ("when" in time.dataset) time.textContent = brief.format(at);
    else if ("ago" in time.dataset && seconds >= 60) time.textContent = time.dataset.ago ? t("ago", { span: span(seconds) }) : span(seconds);
    else if ("ahead" in time.dataset) time.textContent = seconds < 0 ? span(-seconds) : t("just_now");
    else if ("since" in time.dataset) {
      if (!document.documentElement.hasAttribute("data-lost")) time.textContent = span(seconds); // else nobody knows whether it goes on
    }
    else if ("until" in time.dataset) {
      if (seconds < 0) time.textContent = span(-seconds);
      else {
        time.textContent = t("expired");
        over.push(time);
      }
    }
  }
  return over;
}
