// The line of one job: name, state, figures, progress and what can be done; the list of other jobs.
(() => {
  "use strict";
  const { t, el, clock, badge, define } = window.tinglu;

  const ACTIONS = {
    queued: ["first", "pause", "cancel"],
    paused: ["resume", "cancel"],
    running: ["pause", "cancel"],
    partial: ["retry"],
    failed: ["retry"],
    cancelled: ["retry"],
    interrupted: ["retry", "cancel"],
  };
  const SLOW = ["pause", "cancel"]; // what a running job does after its group of segments
  const AGAIN_MS = 20000; // after this a button that had no effect can be pressed again

  /** How far a job is, in [0, 1]; 0 while its length is unknown. */
  function share(view) {
    return view.total_ms ? Math.min(1, view.done_ms / view.total_ms) : 0;
  }

  /** Length, time, speed: what is known of a job. */
  function figures(view) {
    const words = [];
    if (view.total_ms) words.push(clock(view.total_ms));
    if (["queued", "paused", "interrupted"].includes(view.state)) {
      if (view.done_ms) words.push(t("done", { time: clock(view.done_ms) }));
      if (view.position) words.push(t("queue_position", { count: view.position }));
      return words;
    }
    const done = view.final ? view.total_ms : view.done_ms;
    if (!view.final) words.push(t("done", { time: clock(view.done_ms) }));
    if (view.elapsed_ms) words.push(t("elapsed", { time: clock(view.elapsed_ms) }));
    if (!view.final && view.remaining_ms !== null) words.push(t("remaining", { time: clock(view.remaining_ms) }));
    if (view.elapsed_ms && done && (view.state === "done" || !view.final)) {
      words.push(t("times_real", { times: (done / view.elapsed_ms).toFixed(1) }));
    }
    if (view.model) words.push(view.model, view.device.toUpperCase());
    return words;
  }

  class JobLine {
    /** `act(action)` is called for a button; without it there are none. */
    constructor(act) {
      this.act = act;
      this.asked = ""; // what was asked of the job and has not happened yet
      this.shown = "";
      this.name = el("h2", { class: "tl-name" });
      this.badge = el("span", { role: "status" });
      this.meta = el("p", { class: "tl-meta" });
      this.actions = el("div", { class: "tl-actions" });
      this.fill = el("i");
      this.bar = el("div", { class: "tl-bar", role: "progressbar", "aria-label": t("progress") }, this.fill);
      this.root = el("header", { class: "tl-job" },
        el("div", { class: "tl-job-text" }, el("div", { class: "tl-title" }, this.name, this.badge), this.meta), this.actions, this.bar);
    }

    update(view) {
      this.name.textContent = view.name;
      this.name.title = view.name;
      this.badge.replaceChildren(badge(view.state));
      this.meta.textContent = figures(view).join(" · ");
      const part = share(view);
      this.bar.hidden = Boolean(view.final);
      this.fill.style.width = `${part * 100}%`;
      this.bar.classList.toggle("tl-unknown", view.state === "running" && !view.total_ms);
      if (view.total_ms) this.bar.setAttribute("aria-valuenow", String(Math.round(part * 100)));
      else this.bar.removeAttribute("aria-valuenow");
      this.drawActions(view);
    }

    drawActions(view) {
      const key = [view.job, view.state, view.position > 1].join();
      if (key === this.shown) return; // a button keeps the focus while nothing changes
      this.shown = key;
      this.asked = "";
      const names = (this.act && ACTIONS[view.state]) || [];
      const focused = this.actions.contains(document.activeElement);
      this.actions.replaceChildren(...names.filter((name) => name !== "first" || view.position > 1)
        .map((name) => this.button(name, view)));
      if (focused && this.actions.firstChild) this.actions.firstChild.focus();
    }

    button(name, view) {
      const node = el("button", { type: "button", class: "tl-button", "data-action": name, text: t(`act.${name}`) });
      node.addEventListener("click", () => {
        for (const other of this.actions.children) other.disabled = true;
        if (SLOW.includes(name) && view.state === "running") node.textContent = t(`acting.${name}`);
        this.act(name);
        // What was refused leaves the state as it is; the buttons must not stay dead then.
        setTimeout(() => node.isConnected && this.again(view), AGAIN_MS);
      });
      return node;
    }

    again(view) {
      this.shown = "";
      this.drawActions(view);
    }
  }

  /** Jobs of the server that this page does not show: what a closed tab has left behind. */
  class Jobs {
    constructor({ root, trigger }) {
      this.trigger = trigger;
      this.summary = el("summary");
      this.list = el("div", { class: "tl-others", role: "list" });
      this.more = el("p", { class: "tl-meta", hidden: true });
      this.box = el("details", { class: "tl-card tl-running", hidden: true }, this.summary, this.list, this.more);
      root.append(this.box);
      this.seen = false;
      this.nodes = new Map(); // key to node, so that a click or the focus outlives the news
    }

    update({ rows, total }) {
      const transcript = window.tinglu.find("file-transcript"); // may be mounted later than this
      const attached = Boolean(transcript) && transcript.attached();
      this.summary.textContent = t(attached ? "jobs.others" : "jobs.title", { count: total });
      if (rows.length && !this.seen) this.box.open = !attached;
      this.seen = rows.length > 0;
      const kept = new Map();
      for (const row of rows) {
        const key = row.batch || row.job;
        const node = this.nodes.get(key) || this.node(row);
        this.draw(node.firstChild, row);
        kept.set(key, node);
        if (this.list.children[kept.size - 1] !== node) this.list.insertBefore(node, this.list.children[kept.size - 1] || null);
      }
      for (const [key, node] of this.nodes) if (!kept.has(key)) node.remove();
      this.nodes = kept;
      this.more.hidden = total <= rows.length;
      this.more.textContent = t("jobs.more", { count: total - rows.length });
      this.box.hidden = !rows.length;
    }

    node({ batch, job, name }) {
      const open = () => (batch ? this.trigger("open_batch", { batch }) : this.trigger("attach", { job }));
      return el("div", { class: "tl-other", role: "listitem" },
        el("button", { type: "button", class: "tl-other-open", title: name, onclick: open },
          el("span", { class: "tl-other-name", text: name }), el("span"), el("span", { class: "tl-meta" })));
    }

    draw(button, row) {
      const [, state, meta] = button.children;
      const words = row.batch
        ? [t("jobs.batch", row)]
        : [row.state === "running" && row.total_ms ? `${Math.round(share(row) * 100)}%` : "", row.total_ms ? clock(row.total_ms) : "", row.position ? t("queue_position", { count: row.position }) : ""];
      state.replaceChildren(badge(row.state));
      meta.textContent = words.filter(Boolean).join(" · ");
    }
  }

  define("jobs", (context) => new Jobs(context));
  Object.assign(window.tinglu, { JobLine, share });
})();
