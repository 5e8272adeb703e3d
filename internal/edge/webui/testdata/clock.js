// A clock that a test moves. Timers of a second or more wait for it; shorter ones run as ever. What the page sends and
// hears is counted, and whether anybody looks at it is what the test says.
(() => {
  const wait = window.setTimeout.bind(window), stop = window.clearTimeout.bind(window), now = Date.now.bind(Date);
  let ahead = 0, last = 1e9, hidden = false, busy = 0;
  const timers = new Map(), short = new Set(), sockets = new Map();
  window.seen = { requests: [], pings: 0, pongs: 0, pushes: 0 };
  Date.now = () => now() + ahead;
  window.setTimeout = (work, ms = 0, ...args) => {
    if (ms >= 1000) {
      timers.set(++last, { at: Date.now() + ms, work: () => work(...args) });
      return last;
    }
    const id = wait(() => { short.delete(id); work(...args); }, ms);
    short.add(id);
    return id;
  };
  window.setInterval = (work, ms) => (timers.set(++last, { at: Date.now() + ms, every: ms, work }), last);
  window.clearTimeout = window.clearInterval = (id) => { timers.delete(id); short.delete(id); stop(id); };
  Object.defineProperty(document, "hidden", { get: () => hidden });
  Object.defineProperty(document, "visibilityState", { get: () => (hidden ? "hidden" : "visible") });
  window.hide = (is) => { hidden = is; document.dispatchEvent(new Event("visibilitychange")); };

  const ask = window.fetch.bind(window);
  window.fetch = async (url, options) => {
    const live = document.documentElement.hasAttribute("data-live");
    window.seen.requests.push({ url: (options?.method || "GET") + " " + url, live, at: Date.now() });
    busy++;
    try { return await ask(url, options); } finally { busy--; }
  };
  const Plain = window.WebSocket;
  window.WebSocket = class extends Plain {
    constructor(...args) {
      super(...args);
      sockets.set(this, 0);
      this.addEventListener("close", () => sockets.delete(this));
      this.addEventListener("message", (e) => {
        const { type } = JSON.parse(e.data);
        if (type === "pong") { window.seen.pongs++; sockets.set(this, 0); } else if (type !== "hello") window.seen.pushes++;
      });
    }
    send(text) { window.seen.pings++; sockets.set(this, (sockets.get(this) || 0) + 1); super.send(text); }
  };
  window.notes = [];
  window.Notification = class { constructor(title, { body }) { window.notes.push(title + ": " + body); } close() {} };
  window.Notification.permission = "granted";

  // quiet waits until everything that began is over. A ping that nobody answers is waited for a while only.
  const quiet = async (silent) => {
    for (let n = 0; ; n++) {
      await null; await null; await null;
      const unanswered = !silent && n < 2000 && [...sockets].some(([s, sent]) => s.readyState < 2 && (sent || s.readyState === 0));
      if (!busy && !short.size && !unanswered) return;
      await new Promise((done) => wait(done, 5));
    }
  };
  // pass lets time pass, timer by timer. silent: nobody answers pings.
  window.pass = async (seconds, silent) => {
    const end = Date.now() + seconds * 1000;
    for (;;) {
      await quiet(silent);
      const [id, next] = [...timers].filter(([, t]) => t.at <= end).sort(([, a], [, b]) => a.at - b.at)[0] || [];
      if (!next) break;
      ahead += Math.max(0, next.at - Date.now());
      if (next.every) next.at += next.every; else timers.delete(id);
      next.work();
    }
    ahead += Math.max(0, end - Date.now());
    return true;
  };
  window.fresh = () => { window.seen = { requests: [], pings: 0, pongs: 0, pushes: 0 }; return true; };
})();
