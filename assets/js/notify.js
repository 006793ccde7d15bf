// News of what runs: the page's title, and the browser's notifications for whoever asked for them.
(() => {
  "use strict";
  const { t, el } = window.tinglu;

  const STORED = "tinglu-notify";
  const SAY_MS = 6000;
  const SIGNS = { done: "✓", partial: "✓", skipped: "✓", failed: "✕" };
  const able = "Notification" in window && window.isSecureContext;
  const sources = new Map(); // "file" and "batch": what each of them follows
  let base = "";

  /**
   * What the title is about, and when somebody is told.
   *
   * @param {string} source  who follows it: `file` or `batch`.
   * @param item  `{key, name, state, final, part, reason}`, or null when it follows nothing.
   */
  function news(source, item) {
    const before = sources.get(source);
    if (!item) {
      sources.delete(source);
    } else {
      const ended = item.final && before && before.key === item.key && !before.final;
      const kept = item.final && before && before.key === item.key && before.ended;
      sources.set(source, { ...item, ended: ended || kept });
      if (ended) tell(item);
    }
    write();
  }

  function write() {
    base = base || document.title;
    const all = [...sources.values()];
    const shown = all.find((item) => item.state === "running") || all.find((item) => !item.final) || all.find((item) => item.ended);
    const words = shown ? titleOf(shown) : "";
    document.title = words ? `${words} — ${t("brand")}` : base;
  }

  function titleOf(item) {
    if (!item.final) {
      const percent = `${Math.floor(item.part * 100)}%`;
      return `${item.state === "running" ? percent : t(`state.${item.state}`)} · ${item.name}`;
    }
    return SIGNS[item.state] ? `${SIGNS[item.state]} ${item.name}` : "";
  }

  function tell(item) {
    if (!document.hidden || !wanted()) return;
    const body = item.reason || t(`notify.${item.state}`);
    const note = new Notification(item.name, { body, tag: item.key, lang: window.tinglu.locale });
    note.onclick = () => {
      window.focus();
      note.close();
    };
  }

  function stored() {
    try {
      return localStorage.getItem(STORED) === "1";
    } catch {
      return false; // a browser that keeps nothing
    }
  }

  function store(on) {
    try {
      localStorage.setItem(STORED, on ? "1" : "0");
    } catch {
      // it holds for this visit only
    }
  }

  const wanted = () => able && Notification.permission === "granted" && stored();

  /** Switch with its name: notify me when a job ends. */
  function notifySwitch() {
    const node = el("button", { type: "button", class: "tl-notify", role: "switch", text: t("notify.label") });
    const draw = () => {
      const denied = able && Notification.permission === "denied";
      node.setAttribute("aria-checked", String(wanted()));
      node.disabled = !able;
      node.title = t(able ? (denied ? "notify.denied" : "notify.hint") : "notify.unable");
      node.classList.toggle("tl-denied", denied);
    };
    node.addEventListener("click", async () => {
      const on = !wanted();
      if (on && Notification.permission === "default") await Notification.requestPermission();
      store(on && Notification.permission === "granted");
      draw();
      if (Notification.permission === "denied") window.tinglu.say(t("notify.denied"));
    });
    draw();
    return node;
  }

  /** A sentence at the lower edge for some seconds; for what only this browser knows. */
  function say(text) {
    const node = el("div", { class: "tl-say", role: "status", text });
    document.body.append(node);
    setTimeout(() => node.remove(), SAY_MS);
  }

  Object.assign(window.tinglu, { news, notifySwitch, say });
})();
