// Lists: the history and the system cards.
(() => {
  "use strict";
  const { t, el, clock, day, badge, define, find } = window.tinglu;
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
      const open = el("button", { type: "button", class: "tl-entry-open", onclick: () => this.open(row) },
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

    open(row) {
      this.opened = row.id;
      for (const node of this.list.children) node.classList.toggle("tl-on", node.dataset.id === row.id);
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

  define("history", (context) => new History(context));

  define("system", ({ root }) => ({
    update(view) {
      const cards = view.cards.map((card) => el("section", { class: "tl-card", "data-card": card.id }, el("h2", { class: "tl-name", text: card.title }),
        el("dl", { class: "tl-facts" }, ...card.rows.flatMap(([name, value, more]) => [
          el("dt", { text: name }),
          el("dd", {}, el("span", { text: value }), more ? el("small", { class: "tl-muted", text: more }) : null),
        ]))));
      root.className = "tl-root tl-cards";
      root.replaceChildren(...cards);
    },
  }));
})();
