// Lists: the batch, the history and the system cards.
(() => {
  "use strict";
  const { t, el, clock, day, badge, define, find } = window.tinglu;
  const FINAL = new Set(["done", "partial", "failed", "cancelled"]);

  function formatSelect(formats) {
    return el("select", { class: "tl-select", "aria-label": t("format") },
      ...formats.map((name) => el("option", { value: name, text: t(`format.${name}`) })));
  }

  class Batch {
    constructor({ root, trigger, props }) {
      this.rows = new Map();
      this.batch = "";
      root.className = "tl-root tl-card tl-panel";
      this.count = el("h2", { class: "tl-name", role: "status" });
      this.cancel = el("button", { type: "button", class: "tl-button", text: t("batch.cancel"), onclick: () => trigger("cancel_all", {}) });
      const format = formatSelect(props.formats);
      this.archive = el("button", { type: "button", class: "tl-button tl-export", text: t("batch.download"),
        onclick: () => trigger("archive", { format: format.value }) });
      this.tools = el("div", { class: "tl-tools" }, this.count, el("span", { class: "tl-space" }), this.cancel, format, this.archive);
      this.body = el("tbody");
      this.table = el("table", { class: "tl-table" },
        el("thead", {}, el("tr", {}, ...["name", "length", "state", "result"].map((key) => el("th", { scope: "col", text: t(`batch.${key}`) })))),
        this.body);
      this.empty = el("div", { class: "tl-empty" }, el("strong", { text: t("batch.empty") }), el("span", { text: t("batch.empty_hint") }));
      root.append(this.tools, this.table, this.empty);
      this.update({ batch: "", order: [], rows: [] });
    }

    known(batch) {
      if (batch !== this.batch) return [];
      return [...this.rows.values()].filter((row) => FINAL.has(row.state)).map((row) => row.job);
    }

    update(view) {
      if (view.batch !== this.batch) {
        this.rows.clear();
        this.body.replaceChildren();
        this.batch = view.batch;
      }
      for (const row of view.rows) this.rows.set(row.job, row);
      const kept = new Set(view.order); // a recording may have been deleted in the history
      for (const node of [...this.body.children]) {
        if (kept.has(node.dataset.job)) continue;
        this.rows.delete(node.dataset.job);
        node.remove();
      }
      const rows = view.order.map((job) => this.rows.get(job)).filter(Boolean);
      const drawn = new Map([...this.body.children].map((node) => [node.dataset.job, node]));
      for (const row of view.rows) {
        const node = this.row(row);
        if (drawn.has(row.job)) drawn.get(row.job).replaceWith(node);
        else this.body.append(node);
      }
      const done = rows.filter((row) => FINAL.has(row.state)).length;
      const failed = rows.filter((row) => row.state === "failed").length;
      this.count.textContent = t(failed ? "batch.count_failed" : "batch.count", { done, total: rows.length, failed });
      this.cancel.hidden = done === rows.length;
      this.archive.disabled = !rows.some((row) => row.state === "done" || row.state === "partial");
      this.tools.hidden = this.table.hidden = !rows.length;
      this.empty.hidden = rows.length > 0;
    }

    row(row) {
      const part = row.total_ms && !FINAL.has(row.state) ? Math.min(1, row.done_ms / row.total_ms) : null;
      const progress = row.state === "running"
        ? el("div", { class: "tl-bar", role: "progressbar", "aria-label": t("progress"), "aria-valuenow": part === null ? null : Math.round(part * 100) },
          el("i", { style: `width:${(part || 0) * 100}%` }))
        : null;
      return el("tr", { "data-job": row.job },
        el("td", { class: "tl-cell-name", text: row.name, title: row.name }),
        el("td", { class: "tl-cell-time", text: row.total_ms ? clock(row.total_ms) : "–" }),
        el("td", {}, badge(row.state)),
        el("td", { class: "tl-cell-result" }, progress || el("span", { class: row.error ? "tl-bad" : "tl-muted", text: row.error || row.preview })));
    }
  }

  class History {
    constructor({ root, trigger, props }) {
      this.trigger = trigger;
      this.target = props.target;
      this.list = el("div", { class: "tl-entries", role: "list", "aria-label": t("history.entries") });
      this.count = el("span", { class: "tl-muted", role: "status" });
      this.back = el("button", { type: "button", class: "tl-button", text: t("history.newer"), onclick: () => this.turn(-1) });
      this.next = el("button", { type: "button", class: "tl-button", text: t("history.older"), onclick: () => this.turn(1) });
      this.empty = el("div", { class: "tl-empty" });
      root.append(this.list, this.empty, el("div", { class: "tl-pager" }, this.count, el("span", { class: "tl-space" }), this.back, this.next));
      this.view = { rows: [], total: 0, offset: 0, limit: 50, query: "" };
      this.opened = "";
      this.removing = "";
      this.update(this.view);
    }

    turn(step) {
      this.trigger("turn_page", { offset: Math.max(0, this.view.offset + step * this.view.limit) });
    }

    update(view) {
      this.view = view;
      if (this.removing && !view.rows.some((row) => row.id === this.removing)) find(this.target).forget(this.removing);
      this.removing = "";
      this.list.replaceChildren(...view.rows.map((row) => this.entry(row)));
      const last = view.offset + view.rows.length;
      this.count.textContent = view.total ? t("history.range", { first: view.offset + 1, last, total: view.total }) : "";
      const paged = view.total > view.limit;
      this.back.hidden = this.next.hidden = !paged;
      this.back.disabled = view.offset === 0;
      this.next.disabled = last >= view.total;
      this.empty.hidden = view.rows.length > 0;
      const key = view.query ? "history.none" : "history.empty";
      this.empty.replaceChildren(el("strong", { text: t(key, { query: view.query }) }), el("span", { text: t(`${key}_hint`) }));
    }

    entry(row) {
      const facts = [day(row.created_ms), row.duration_ms ? clock(row.duration_ms) : "", row.model].filter(Boolean).join(" · ");
      const open = el("button", { type: "button", class: "tl-entry-open", onclick: () => this.open(row, node) },
        el("span", { class: "tl-entry-name", title: row.name }, ...this.marked(row.name)),
        el("span", { class: "tl-meta" }, row.state === "done" ? "" : badge(row.state), facts),
        row.preview ? el("span", { class: "tl-entry-preview" }, ...this.marked(row.preview)) : null);
      const remove = el("button", { type: "button", class: "tl-icon", text: "×", title: t("history.delete"),
        "aria-label": t("history.delete_name", { name: row.name }), onclick: () => this.ask(row, node) });
      const node = el("div", { class: "tl-entry", role: "listitem", "data-id": row.id }, open, remove);
      node.classList.toggle("tl-on", row.id === this.opened);
      return node;
    }

    /** A text with every hit of the search marked. */
    marked(text) {
      const query = this.view.query.toLowerCase();
      if (!query) return [text];
      const nodes = [];
      let at = 0;
      for (let hit = text.toLowerCase().indexOf(query); hit >= 0; hit = text.toLowerCase().indexOf(query, at)) {
        nodes.push(text.slice(at, hit), el("mark", { text: text.slice(hit, hit + query.length) }));
        at = hit + query.length;
      }
      nodes.push(text.slice(at));
      return nodes;
    }

    open(row, node) {
      for (const other of this.list.querySelectorAll(".tl-on")) other.classList.remove("tl-on");
      node.classList.add("tl-on");
      this.opened = row.id;
      this.trigger("open_entry", { id: row.id });
      if (window.matchMedia("(max-width: 760px)").matches) {
        document.getElementById(this.target).scrollIntoView({ behavior: "smooth" });
      }
    }

    ask(row, node) {
      const no = el("button", { type: "button", class: "tl-button", text: t("history.keep"), onclick: () => node.replaceWith(this.entry(row)) });
      const yes = el("button", { type: "button", class: "tl-button tl-danger", text: t("history.confirm"), onclick: () => this.remove(row) });
      node.classList.add("tl-asking");
      node.replaceChildren(el("span", { class: "tl-ask", text: t("history.ask", { name: row.name }) }), el("div", { class: "tl-ask-buttons" }, no, yes));
      no.focus();
    }

    remove(row) {
      this.removing = row.id;
      this.trigger("delete_entry", { id: row.id, offset: this.view.offset });
    }
  }

  define("batch", (context) => new Batch(context));
  define("history", (context) => new History(context));

  define("system", ({ root }) => ({
    update(view) {
      const cards = view.cards.map((card) => el("section", { class: "tl-card", "data-card": card.id }, el("h2", { class: "tl-name", text: card.title }),
        el("dl", { class: "tl-facts" }, ...card.rows.flatMap(([name, value, more]) => [
          el("dt", { text: name }),
          el("dd", {}, el("span", { text: value }), more ? el("small", { class: "tl-muted", text: more }) : null),
        ]))));
      const models = el("section", { class: "tl-card tl-wide" }, el("h2", { class: "tl-name", text: t("models.title") }),
        el("table", { class: "tl-table" },
          el("thead", {}, el("tr", {}, ...["name", "size", "licence", "state"].map((key) => el("th", { scope: "col", text: t(`models.${key}`) })))),
          el("tbody", {}, ...view.models.map((model) => el("tr", {},
            el("td", {}, el("span", { text: model.title }), el("small", { class: "tl-muted tl-path", text: model.path })),
            el("td", { class: "tl-cell-time", text: model.size }),
            el("td", { text: model.licence }),
            el("td", {}, el("span", { class: `tl-badge tl-is-${model.state}`, text: t(`models.${model.state}`) }),
              model.active ? el("span", { class: "tl-badge tl-is-active", text: t("models.active") }) : null))))));
      root.className = "tl-root tl-cards";
      root.replaceChildren(models, ...cards);
    },
  }));

  window.tinglu.known = (id, batch) => {
    const part = find(id);
    return part ? part.known(batch) : [];
  };
})();
