// A batch: which one, how far it is, what can be done, and the table of its files.
(() => {
  "use strict";
  const { t, el, clock, span, day, badge, define, share, Rows } = window.tinglu;

  const HOUR_MS = 3600000;
  const RECENT_EVERY = 10; // polls between two looks at the list of batches
  const ALL_EVERY = 10; // polls between two looks at all rows, where the sums differ
  const OPEN = new Set(["running", "paused", "interrupted"]);
  const ENDED = new Set(["done", "partial", "failed", "cancelled", "skipped", "refused"]);
  const BAD = new Set(["failed", "refused", "partial", "cancelled"]);
  const COLUMNS = [["name", "tl-c-name"], ["length", "tl-c-num tl-c-length"], ["state", "tl-c-state"], ["result", "tl-c-result"],
    ["speed", "tl-c-num tl-c-speed"], ["left", "tl-c-num tl-c-left"], ["", "tl-c-act"]];
  const FILTERS = { all: () => true, left: (row) => !ENDED.has(row.state), good: (row) => row.state === "done" || row.state === "skipped", bad: (row) => BAD.has(row.state) };
  const BATCH_ACTIONS = { planning: ["pause", "cancel"], running: ["pause", "cancel"], paused: ["resume", "cancel"], done: [], cancelled: [] };
  const ROW_ACTIONS = { queued: ["pause", "cancel"], paused: ["resume", "cancel"], running: ["pause", "cancel"], failed: ["retry"], cancelled: ["retry"], partial: ["retry"] };
  const SIGNS = { pause: "❚❚", resume: "▶", cancel: "×", download: "↓" };
  const WORDS = { retry: "act.retry", open: "batch.open" };
  const HAS_TEXT = (row) => row.recording && (row.state === "done" || row.state === "partial" || row.state === "skipped");

  /** Where its results are; before there are any, only where they will go. */
  const filesOf = (row) => (["done", "partial", "skipped"].includes(row.state) ? row.outputs : []);

  class Batch {
    constructor({ root, trigger }) {
      this.trigger = trigger;
      this.rows = new Map();
      this.view = null;
      this.since = 0;
      this.polls = 0;
      this.filter = "all";
      this.selected = null;
      root.className = "tl-root tl-card tl-panel";
      this.build();
      root.append(this.wait, this.empty, this.head, this.table.box, this.none, this.detail);
      this.hide();
    }

    build() {
      this.pick = el("select", { class: "tl-select tl-recent", "aria-label": t("batch.recent"), onchange: () => this.choose(this.pick.value) });
      this.badge = el("span", { role: "status" });
      this.actions = el("div", { class: "tl-actions" });
      this.summary = el("p", { class: "tl-meta tl-summary" });
      this.where = el("p", { class: "tl-meta tl-where" });
      this.fill = el("i");
      this.bar = el("div", { class: "tl-bar", role: "progressbar", "aria-label": t("progress") }, this.fill);
      this.note = el("p", { class: "tl-note tl-note-bad", role: "alert", hidden: true });
      this.filters = el("div", { class: "tl-seg", role: "group", "aria-label": t("batch.filter") },
        ...Object.keys(FILTERS).map((name) => el("button", { type: "button", "data-filter": name, onclick: () => this.sift(name) })));
      this.format = el("select", { class: "tl-select", "aria-label": t("format") });
      this.archive = el("button", { type: "button", class: "tl-button tl-export", text: t("batch.download"),
        onclick: () => this.trigger("archive", { batch: this.view.id, format: this.format.value }) });
      this.head = el("div", { class: "tl-batch-head" },
        el("div", { class: "tl-batch-top" }, this.pick, this.badge, el("span", { class: "tl-space" }), this.actions),
        this.summary, this.bar, this.where, this.note,
        el("div", { class: "tl-tools" }, this.filters, el("span", { class: "tl-space" }), this.format, this.archive));
      this.table = new Rows({ label: t("batch.files"), columns: COLUMNS, draw: (row, cells, before) => this.draw(row, cells, before),
        open: (row) => HAS_TEXT(row) && this.open(row), select: (row) => this.show(row) });
      this.none = el("p", { class: "tl-muted tl-none", hidden: true });
      this.detail = el("div", { class: "tl-detail", hidden: true });
      this.wait = el("div", { class: "tl-empty" }, el("span", { text: t("batch.loading") }));
      this.empty = el("div", { class: "tl-empty" }, el("strong", { text: t("batch.empty") }), el("span", { text: t("batch.empty_hint") }));
    }

    hide() {
      for (const part of [this.head, this.table.box, this.detail, this.none, this.empty]) part.hidden = true;
    }

    /** What the page asks for news with. */
    known() {
      this.polls += 1;
      const open = {};
      for (const row of this.rows.values()) if (OPEN.has(row.state)) open[row.n] = row.state;
      return { batch: this.view ? this.view.id : "", since: this.since, open, recent: this.polls % RECENT_EVERY === 1 };
    }

    choose(batch) {
      this.trigger("show_batch", { batch });
    }

    update({ batch, rows, since, whole, recent }) {
      this.wait.hidden = true;
      if (!batch) {
        this.hide();
        this.view = null;
        this.empty.hidden = false;
        window.tinglu.news("batch", null);
        return;
      }
      if (!this.view || this.view.id !== batch.id) this.reset();
      this.view = batch;
      this.since = since;
      if (whole) this.rows.clear();
      for (const row of rows) this.rows.set(row.n, { ...row, key: String(row.n) });
      this.check();
      if (recent) this.list(recent);
      this.empty.hidden = true;
      this.head.hidden = false;
      this.drawHead();
      this.drawRows();
      this.tell();
    }

    reset() {
      this.rows.clear();
      this.unshow();
      this.table.focused = null;
      this.table.box.scrollTop = 0;
      this.shownActions = this.shownFormats = "";
      this.sift("all");
    }

    /** What another browser changed shows in the sums; then everything is asked for again. */
    check() {
      const sums = {};
      for (const row of this.rows.values()) sums[row.state] = (sums[row.state] || 0) + 1;
      const { counts } = this.view;
      const differs = [...Object.keys(sums), ...Object.keys(counts)].some((state) => sums[state] !== counts[state]);
      if (differs && this.polls % ALL_EVERY === 0) this.since = 0;
    }

    list(recent) {
      this.recent = recent;
      if (document.activeElement === this.pick) return; // not under the hands of whoever chooses
      this.pick.replaceChildren(...recent.map((item) => el("option", { value: item.id, text: this.title(item) })));
    }

    title(item) {
      return `${day(item.created_ms)} · ${item.name} · ${item.ended}/${item.total}`;
    }

    // The head.
    drawHead() {
      const { view } = this;
      const own = [...this.pick.options].find((option) => option.value === view.id);
      if (own) own.textContent = this.title(view);
      else this.pick.prepend(el("option", { value: view.id, text: this.title(view) }));
      this.pick.value = view.id;
      this.pick.title = view.name;
      this.badge.replaceChildren(badge(this.state()));
      this.summary.textContent = this.words().join(" · ") || t(`batch.nothing.${view.state}`);
      const part = share(view);
      this.bar.hidden = view.final;
      this.bar.classList.toggle("tl-unknown", view.state === "planning" && !view.total);
      this.bar.setAttribute("aria-valuenow", String(Math.round(part * 100)));
      this.fill.style.width = `${part * 100}%`;
      this.where.hidden = !view.output;
      this.where.textContent = view.output ? t("batch.output", { path: view.output }) : "";
      this.where.title = view.output;
      this.note.hidden = !view.error;
      this.note.textContent = view.error;
      this.drawFormats();
      this.drawActions();
    }

    state() {
      const { view } = this;
      if (view.watching && view.state === "running") return "watching";
      return view.watched && view.state === "cancelled" && view.good === view.total ? "stopped" : view.state;
    }

    words() {
      const { view } = this;
      const words = view.total ? [t("batch.count", { done: view.good, total: view.total })] : [];
      if (view.state === "planning") words.unshift(t("batch.planning"));
      if (view.counts.skipped) words.push(t("batch.skipped", { count: view.counts.skipped }));
      if (view.counts.failed || view.counts.refused) words.push(t("batch.failed", { count: (view.counts.failed || 0) + (view.counts.refused || 0) }));
      if (view.counts.partial) words.push(t("batch.partial", { count: view.counts.partial }));
      if (view.counts.cancelled) words.push(t("batch.cancelled", { count: view.counts.cancelled }));
      if (view.total_ms) words.push(t("batch.length", { time: view.total_ms < HOUR_MS ? clock(view.total_ms) : span(view.total_ms) }));
      if (!view.final && view.remaining_ms !== null && view.ended < view.total) words.push(t("remaining", { time: span(view.remaining_ms) }));
      return words;
    }

    drawFormats() {
      const { formats } = this.view;
      if (this.shownFormats === formats.join()) return;
      this.shownFormats = formats.join();
      const all = formats.length > 1 ? [el("option", { value: "", text: t("batch.all_formats", { names: formats.join(" ") }) })] : [];
      const others = this.view.every_format.filter((name) => !formats.includes(name));
      this.format.replaceChildren(...all, ...[...formats, ...others].map((name) => el("option", { value: name, text: t(`format.${name}`) })));
    }

    drawActions() {
      const { view } = this;
      const names = [...BATCH_ACTIONS[view.state]];
      if (view.counts.failed || view.counts.cancelled || view.counts.partial) names.unshift("retry");
      const key = [view.id, ...names].join();
      this.archive.disabled = !(view.counts.done || view.counts.partial || view.counts.skipped);
      if (key === this.shownActions) return;
      this.shownActions = key;
      const focused = this.actions.contains(document.activeElement);
      this.actions.replaceChildren(...names.map((name) => {
        const label = view.watching && name === "cancel" ? t("batch.act.stop") : t(`batch.act.${name}`);
        return el("button", { type: "button", class: "tl-button", "data-action": name, text: label, onclick: () => this.trigger("batch_act", { batch: view.id, action: name }) });
      }));
      if (focused && this.actions.firstChild) this.actions.firstChild.focus();
    }

    // The table.
    sift(name) {
      this.filter = name;
      this.table.box.scrollTop = 0;
      if (this.view) this.drawRows();
    }

    drawRows() {
      const all = [...this.rows.values()];
      for (const button of this.filters.children) {
        const name = button.dataset.filter;
        const count = all.filter(FILTERS[name]).length;
        button.textContent = t(`batch.filter.${name}`, { count });
        button.setAttribute("aria-pressed", String(name === this.filter));
        button.hidden = !count && name !== "all" && name !== this.filter;
      }
      const shown = all.filter(FILTERS[this.filter]).sort((a, b) => a.n - b.n);
      this.table.box.hidden = !shown.length;
      this.none.hidden = shown.length > 0;
      this.none.textContent = t(all.length ? "batch.none" : `batch.nothing.${this.view.state}`);
      this.table.show(shown);
      if (this.selected !== null && this.rows.has(this.selected)) this.show(this.rows.get(this.selected));
    }

    draw(row, cells, before) {
      const [name, length, state, result, speed, left, act] = cells;
      if (!before || before.path !== row.path) {
        const cut = row.path.lastIndexOf("/") + 1;
        name.replaceChildren(cut ? el("span", { class: "tl-c-folder", text: row.path.slice(0, cut) }) : "", el("span", { class: "tl-c-file", text: row.path.slice(cut) }));
        name.title = row.path;
      }
      length.textContent = row.total_ms ? clock(row.total_ms) : "–";
      if (!before || before.state !== row.state) state.replaceChildren(badge(row.state));
      result.parentNode.classList.toggle("tl-reasoned", Boolean(row.error || row.note) && !row.speed);
      this.drawResult(row, result);
      speed.textContent = row.speed ? t("times_real", { times: row.speed < 10 ? row.speed.toFixed(1) : Math.round(row.speed) }) : "";
      left.textContent = row.remaining_ms !== null && !ENDED.has(row.state) ? clock(row.remaining_ms) : "";
      this.drawRowActions(row, act, before);
    }

    drawResult(row, cell) {
      if (row.state === "running" || (row.done_ms > 0 && !ENDED.has(row.state))) {
        const part = share(row);
        let bar = cell.querySelector(".tl-bar");
        if (!bar) {
          bar = el("div", { class: "tl-bar", role: "progressbar", "aria-label": t("progress") }, el("i"));
          cell.replaceChildren(bar, el("span", { class: "tl-percent" }));
        }
        bar.setAttribute("aria-valuenow", String(Math.round(part * 100)));
        bar.firstChild.style.width = `${part * 100}%`;
        bar.classList.toggle("tl-unknown", row.state === "running" && !row.total_ms);
        cell.lastChild.textContent = row.total_ms ? `${Math.floor(part * 100)}%` : "";
        cell.title = "";
        return;
      }
      const text = this.outcome(row);
      const tone = row.error ? "tl-bad" : row.note === "renamed" ? "tl-warned" : "tl-muted";
      cell.replaceChildren(el("span", { class: tone, text }));
      cell.title = text;
    }

    /** What became of a file, in words. */
    outcome(row) {
      const files = filesOf(row).map((path) => path.slice(path.lastIndexOf("/") + 1)).join(t("batch.comma"));
      if (row.error) return row.error;
      const note = row.note ? t(`batch.note.${row.note}`) : "";
      return [note, files].filter(Boolean).join(t("batch.colon"));
    }

    drawRowActions(row, cell, before) {
      const names = [...(ROW_ACTIONS[row.state] || []).filter(() => row.job), ...(HAS_TEXT(row) ? ["download", "open"] : [])];
      const key = names.join();
      if (before && cell.dataset.names === key) return;
      cell.dataset.names = key;
      const focused = cell.contains(document.activeElement);
      cell.replaceChildren(...names.map((name) => el("button", { type: "button", class: name in WORDS ? "tl-link" : "tl-icon", tabindex: -1, "data-action": name, text: name in WORDS ? t(WORDS[name]) : SIGNS[name],
        title: t(`act.${name}`), "aria-label": t("batch.act_on", { act: t(`act.${name}`), name: row.path }), onclick: () => this.actOn(row.n, name) })));
      if (focused) (cell.firstChild || cell.parentNode).focus();
    }

    open(row) {
      window.tinglu.wanted = row.recording; // the tab that shows it may not be there yet
      this.trigger("open_row", { recording: row.recording });
    }

    actOn(number, name) {
      const row = this.rows.get(number);
      if (name === "open") this.open(row);
      else if (name === "download") this.trigger("export_row", { batch: this.view.id, number, format: this.format.value });
      else this.trigger("row_act", { number, job: row.job, action: name, ...this.known() });
    }

    /** Everything about the chosen row, without any ellipsis. */
    show(row) {
      this.selected = row.n;
      const facts = [[t("col.name"), row.path], [t("col.result"), [this.outcomeNote(row), ...filesOf(row)].filter(Boolean).join("\n")]].filter(([, text]) => text);
      const close = el("button", { type: "button", class: "tl-icon", text: "×", "aria-label": t("batch.close"), onclick: () => this.unshow() });
      this.detail.replaceChildren(close, ...facts.flatMap(([name, text]) => [el("span", { class: "tl-detail-name", text: name }), el("span", { class: "tl-detail-text", text })]));
      this.detail.hidden = false;
      this.table.box.classList.add("tl-shorter");
    }

    unshow() {
      this.selected = null;
      this.detail.hidden = true;
      this.table.box.classList.remove("tl-shorter");
    }

    outcomeNote(row) {
      return row.error || (row.note ? t(`batch.note.${row.note}`) : "");
    }

    /** News for the page's title. */
    tell() {
      const { view } = this;
      const idle = this.state() === "watching" && view.ended === view.total;
      const state = idle ? "watching" : view.state === "planning" ? "running" : view.state === "done" && view.good < view.total ? "failed" : view.state;
      window.tinglu.news("batch", { key: view.id, name: t("batch.title", { name: view.name, done: view.good, total: view.total }), state, final: view.final, part: share(view), reason: this.words().join(" · ") });
    }
  }

  define("batch", (context) => new Batch(context));
  window.tinglu.known = (id) => {
    const part = window.tinglu.find(id);
    return part ? part.known() : {};
  };
})();
