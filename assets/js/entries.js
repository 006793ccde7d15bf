// The rows of the history: one is reached by the tab key, the arrows go on from there.
(() => {
  "use strict";
  const { t, el, clock, day, badge, marked, nameField } = window.tinglu;

  const DAY_MS = 86400000;
  const JUMP = 8; // rows that Page Up and Page Down go
  const SHOWN_TAGS = 6;
  const BESIDE = ["hotword", "speaker", "note"]; // hits that have a line of their own
  const WAITING_ROWS = 5;
  const BEFORE = 14; // characters before the first hit, so that two lines show it

  /** A text with its first hit near the beginning. */
  function near(pieces) {
    if (pieces.length < 2 || pieces[0][1]) return pieces;
    const before = Array.from(pieces[0][0]);
    return before.length > BEFORE ? [[`…${before.slice(-BEFORE).join("")}`, false], ...pieces.slice(1)] : pieces;
  }

  class Entries {
    /** `on` are `open(row)`, `pick(ids, on)`, `remove(row)`, `restore(row)`, `rename(row, name)`, `tag(row)`, `leave()` and `picked(id)`. */
    constructor(on) {
      this.on = on;
      this.rows = [];
      this.nodes = [];
      this.at = 0;
      this.anchor = null; // index that a range begins at
      this.opened = "";
      this.root = el("div", { class: "tl-entries", role: "grid", "aria-multiselectable": "true", "aria-label": t("history.entries"),
        onkeydown: (event) => this.key(event), onclick: (event) => this.click(event), onfocusin: (event) => this.took(event) });
    }

    show(rows, { deleted, binDays }) {
      this.late = this.renaming ? [rows, { deleted, binDays }] : null;
      if (this.late) return; // not under the hands of whoever types a name
      const focused = this.root.contains(document.activeElement);
      const id = this.rows[this.at] && this.rows[this.at].id;
      this.deleted = deleted;
      this.binDays = binDays;
      this.rows = rows;
      this.anchor = null;
      this.nodes = rows.map((row, index) => this.build(row, index));
      this.root.replaceChildren(...this.nodes);
      const kept = rows.findIndex((row) => row.id === id);
      this.at = kept >= 0 ? kept : Math.max(0, Math.min(this.at, rows.length - 1));
      this.rove();
      if (focused && this.nodes[this.at]) this.nodes[this.at].focus({ preventScroll: true });
    }

    /** Rows of a list that is on its way. */
    wait() {
      this.rows = this.nodes = [];
      this.root.replaceChildren(...Array.from({ length: WAITING_ROWS }, () => el("div", { class: "tl-entry tl-entry-wait", "aria-hidden": "true" }, el("i"), el("i"), el("i"))));
    }

    /** Draw rows again that are now otherwise. */
    change(changed) {
      if (this.renaming) return; // the list that follows brings them
      const fresh = new Map(changed.map((row) => [row.id, row]));
      this.rows.forEach((row, index) => {
        const now = fresh.get(row.id);
        if (now) this.redraw(index, { ...now, hits: [] });
      });
    }

    redraw(index, row) {
      const focused = this.nodes[index].contains(document.activeElement);
      this.rows[index] = row;
      const node = this.build(row, index);
      this.nodes[index].replaceWith(node);
      this.nodes[index] = node;
      this.rove();
      if (focused) node.focus({ preventScroll: true });
    }

    build(row, index) {
      const picked = this.on.picked(row.id);
      const box = el("input", { type: "checkbox", class: "tl-pick", tabindex: -1, "aria-label": t("history.pick", { name: row.name }) });
      box.checked = picked;
      const button = (name, sign) => el("button", { type: "button", class: "tl-icon", tabindex: -1, "data-act": name, text: sign, title: t(`history.${name}`), "aria-label": t(`history.${name}_name`, { name: row.name }) });
      const acts = this.deleted ? [button("restore", "↺"), button("purge", "×")] : [button("rename", "✎"), button("delete", "×")];
      const node = el("div", { class: "tl-entry", role: "row", tabindex: -1, "data-id": row.id, "data-index": index, "aria-selected": String(picked) },
        el("div", { role: "gridcell", class: "tl-entry-pick" }, box),
        el("div", { role: "gridcell", class: "tl-entry-open" }, ...this.content(row)),
        el("div", { role: "gridcell", class: "tl-entry-acts" }, ...acts));
      node.classList.toggle("tl-on", row.id === this.opened);
      node.classList.toggle("tl-picked", picked);
      return node;
    }

    content(row) {
      const hits = new Map();
      for (const [field, pieces] of row.hits) if (!hits.has(field)) hits.set(field, pieces);
      const name = el("span", { class: "tl-entry-name", dir: "auto", title: row.name }, ...(hits.has("name") ? marked(hits.get("name")) : [row.name]));
      const facts = [row.duration_ms ? clock(row.duration_ms) : "", row.model, row.origin === "file" ? "" : t(`history.origin.${row.origin}`), row.owner].filter(Boolean);
      const meta = el("span", { class: "tl-meta" }, row.state === "done" ? "" : badge(row.state), hits.has("date") ? el("mark", { text: day(row.created_ms) }) : day(row.created_ms),
        ...facts.map((fact) => el("bdi", { class: "tl-fact", text: fact })));
      const text = hits.get("text");
      const preview = text || row.preview ? el("span", { class: "tl-entry-preview", dir: "auto" }, ...(text ? marked(near(text)) : [row.preview])) : null;
      const others = BESIDE.filter((field) => hits.has(field)).map((field) => el("span", { class: "tl-entry-hit" },
        el("b", { text: t(`history.field.${field}`) }), el("span", { dir: "auto" }, ...marked(hits.get(field)))));
      return [name, meta, preview, ...others, this.tags(row), this.left(row)];
    }

    tags(row) {
      if (!row.tags.length && !row.note) return null;
      const found = new Map(row.hits.filter(([field]) => field === "tag").map(([, pieces]) => [pieces.map(([text]) => text).join(""), pieces]));
      const shown = [...row.tags].sort((a, b) => found.has(b) - found.has(a)).slice(0, SHOWN_TAGS);
      const more = row.tags.length - shown.length;
      const noted = row.note && !row.hits.some(([field]) => field === "note");
      return el("span", { class: "tl-entry-tags" },
        ...shown.map((tag) => el("span", { class: "tl-tag", dir: "auto", title: tag }, ...(found.has(tag) ? marked(found.get(tag)) : [tag]))),
        more > 0 ? el("span", { class: "tl-muted", text: `+${more}` }) : null,
        noted ? el("span", { class: "tl-entry-note", dir: "auto", title: row.note, text: row.note }) : null);
    }

    left(row) {
      if (!row.deleted_ms || !this.binDays) return null;
      const days = Math.max(0, Math.ceil((row.deleted_ms + this.binDays * DAY_MS - Date.now()) / DAY_MS));
      return el("span", { class: "tl-entry-left", text: days ? t("history.days_left", { days }) : t("history.days_none") });
    }

    /** Draw again which rows are chosen. */
    drawPicked() {
      this.nodes.forEach((node, index) => {
        const on = this.on.picked(this.rows[index].id);
        node.classList.toggle("tl-picked", on);
        node.setAttribute("aria-selected", String(on));
        node.querySelector(".tl-pick").checked = on;
      });
    }

    light(id) {
      this.opened = id;
      this.nodes.forEach((node) => node.classList.toggle("tl-on", node.dataset.id === id));
    }

    rove() {
      this.nodes.forEach((node, index) => {
        node.tabIndex = index === this.at ? 0 : -1;
        for (const inside of node.querySelectorAll("button, .tl-pick")) inside.tabIndex = index === this.at ? 0 : -1;
      });
    }

    focus(index) {
      const to = Math.max(0, Math.min(index, this.rows.length - 1));
      if (!this.nodes[to]) return;
      this.at = to;
      this.rove();
      this.nodes[to].focus({ preventScroll: true });
      this.nodes[to].scrollIntoView({ block: "nearest" });
    }

    took(event) {
      const node = event.target.closest(".tl-entry");
      if (!node || Number(node.dataset.index) === this.at) return;
      this.at = Number(node.dataset.index);
      this.rove();
    }

    click(event) {
      const node = event.target.closest(".tl-entry");
      if (!node || !node.dataset.id) return;
      const index = Number(node.dataset.index);
      const row = this.rows[index];
      const button = event.target.closest("[data-act]");
      if (button) this.act(button.dataset.act, row, index);
      else if (event.shiftKey) this.range(index);
      else if (event.target.closest(".tl-entry-pick") || event.ctrlKey || event.metaKey) this.toggle(index);
      else if (event.target.closest(".tl-entry-open")) {
        this.focus(index);
        this.on.open(row);
      }
      if (event.target.classList.contains("tl-pick")) event.target.checked = this.on.picked(row.id);
    }

    toggle(index) {
      const row = this.rows[index];
      this.anchor = index;
      this.on.pick([row.id], !this.on.picked(row.id));
    }

    range(index) {
      window.getSelection().removeAllRanges();
      const from = this.anchor === null ? this.at : this.anchor;
      this.anchor = from;
      const ids = this.rows.slice(Math.min(from, index), Math.max(from, index) + 1).map((row) => row.id);
      this.on.pick(ids, true);
      this.focus(index);
    }

    act(name, row, index) {
      if (name === "rename") this.rename(index);
      else if (name === "restore") this.on.restore([row.id]);
      else if (name === "purge") this.on.purge([row.id], row.name);
      else this.on.remove([row.id], index);
    }

    rename(index) {
      const row = this.rows[index];
      const node = this.nodes[index];
      this.renaming = true;
      const back = (name) => {
        const focused = node.contains(document.activeElement);
        this.renaming = false;
        this.redraw(index, row);
        if (this.late) this.show(...this.late);
        if (focused) this.focus(this.at);
        if (name) this.on.rename(row, name);
      };
      node.querySelector(".tl-entry-name").replaceWith(nameField(row.name, t("history.rename"), back));
    }

    key(event) {
      const node = event.target.closest(".tl-entry");
      if (!node || event.isComposing || event.altKey) return;
      const index = Number(node.dataset.index);
      const row = this.rows[index];
      const step = { ArrowDown: 1, ArrowUp: -1, PageDown: JUMP, PageUp: -JUMP, Home: -this.rows.length, End: this.rows.length }[event.key];
      const onRow = event.target === node;
      if (step && event.shiftKey) this.range(Math.max(0, Math.min(index + step, this.rows.length - 1)));
      else if (step === -1 && index === 0) this.on.leave();
      else if (step) this.focus(index + step);
      else if (event.key === "Enter" && onRow) this.on.open(row);
      else if ((event.key === "x" || event.key === " ") && onRow && !event.ctrlKey && !event.metaKey) this.toggle(index);
      else if (event.key === "a" && (event.ctrlKey || event.metaKey)) this.on.pick(this.rows.map((each) => each.id), true);
      else if (event.key === "Delete" || (event.key === "Backspace" && event.metaKey)) this.removeAt(index);
      else if (event.key === "F2" && !this.deleted) this.rename(index);
      else if (event.key === "t" && onRow && !this.deleted && !event.ctrlKey && !event.metaKey) this.on.tag(this.on.picked(row.id) ? null : row);
      else if (event.key === "z" && (event.ctrlKey || event.metaKey)) this.on.undo();
      else if (event.key === "Escape") this.on.pick(null, false);
      else return;
      event.preventDefault();
      event.stopPropagation();
    }

    /** What is chosen, if this row is among it, else this row alone. */
    removeAt(index) {
      const row = this.rows[index];
      const ids = this.on.picked(row.id) ? null : [row.id];
      if (this.deleted) this.on.purge(ids, row.name);
      else this.on.remove(ids, index);
    }
  }

  window.tinglu.Entries = Entries;
})();
