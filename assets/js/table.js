// A long table: only the rows in sight are in the page, and only what changed is drawn again.
(() => {
  "use strict";
  const { t, el } = window.tinglu;

  const BEYOND = 8; // rows kept above and below what is in sight
  const NARROW = window.matchMedia("(max-width: 760px)");
  const ROW_PX = 44; // as --tl-row in the style sheet
  const NARROW_ROW_PX = 78;

  /**
   * Rows are objects with a `key`; a row that changed is a new object.
   *
   * `columns` are `[name, class]`; `make(row, cells)` fills the cells of a new row and
   * `draw(row, cells, before)` those of one that changed.
   */
  class Rows {
    constructor({ label, columns, draw, open, select }) {
      this.columns = columns;
      this.drawRow = draw;
      this.open = open;
      this.select = select;
      this.list = [];
      this.drawn = new Map(); // key to {node, cells, row, index}
      this.focused = null; // key
      this.body = el("div", { class: "tl-rows", role: "rowgroup", onkeydown: (event) => this.key(event), onfocusin: (event) => this.took(event),
        onclick: (event) => this.pick(event), ondblclick: (event) => this.openAt(event) });
      const head = el("div", { class: "tl-row tl-row-head", role: "row" },
        ...columns.map(([name, style]) => el("span", { class: style, role: "columnheader", text: name ? t(`col.${name}`) : "", "aria-label": name ? null : t("col.actions") })));
      this.box = el("div", { class: "tl-grid", role: "grid", "aria-label": label }, el("div", { role: "rowgroup", class: "tl-rows-head" }, head), this.body);
      this.soon = 0;
      const later = () => this.later();
      window.addEventListener("scroll", later, { capture: true, passive: true });
      window.addEventListener("resize", later);
      new ResizeObserver(later).observe(this.body);
    }

    get rowPx() {
      return NARROW.matches ? NARROW_ROW_PX : ROW_PX;
    }

    show(list) {
      this.list = list;
      this.box.setAttribute("aria-rowcount", String(list.length + 1));
      this.render();
    }

    later() {
      if (this.soon) return;
      this.soon = requestAnimationFrame(() => {
        this.soon = 0;
        this.render();
      });
    }

    /** First and last index in sight, whatever scrolls: the box or the page. */
    sight() {
      const box = this.box.getBoundingClientRect();
      const body = this.body.getBoundingClientRect();
      if (!box.height) return [0, -1];
      const top = Math.max(box.top, 0) - body.top;
      const bottom = Math.min(box.bottom, window.innerHeight) - body.top;
      return [Math.max(0, Math.floor(top / this.rowPx) - BEYOND), Math.min(this.list.length - 1, Math.ceil(bottom / this.rowPx) + BEYOND)];
    }

    render() {
      const { list, drawn, rowPx } = this;
      const height = `${list.length * rowPx}px`;
      if (this.body.style.height !== height) this.body.style.height = height;
      const [first, last] = this.sight();
      const kept = new Set();
      const fresh = document.createDocumentFragment();
      const place = (index) => {
        const row = list[index];
        kept.add(row.key);
        const known = drawn.get(row.key);
        const entry = known || this.build(row.key);
        if (entry.row !== row) this.drawRow(row, entry.cells, entry.row);
        entry.row = row;
        if (entry.index !== index || entry.px !== rowPx) {
          entry.node.style.transform = `translateY(${index * rowPx}px)`;
          entry.node.setAttribute("aria-rowindex", String(index + 2));
          Object.assign(entry, { index, px: rowPx });
        }
        if (!known) fresh.append(entry.node);
      };
      for (let index = first; index <= last; index += 1) place(index);
      // The focus must not fall out of the page when its row is scrolled away.
      const focus = this.focused === null ? -1 : list.findIndex((row) => row.key === this.focused);
      if (focus >= 0 && !kept.has(this.focused)) place(focus);
      if (focus < 0) this.focused = null;
      for (const [key, entry] of drawn) {
        if (kept.has(key)) continue;
        entry.node.remove();
        drawn.delete(key);
      }
      this.body.append(fresh);
      this.rove();
    }

    build(key) {
      const cells = this.columns.map(([, style]) => el("div", { class: style, role: "gridcell" }));
      const node = el("div", { class: "tl-row", role: "row", tabindex: -1, "data-key": key }, ...cells);
      const entry = { node, cells, row: null, index: -1 };
      this.drawn.set(key, entry);
      return entry;
    }

    /** Exactly one row is reached by the tab key, and with it its buttons. */
    rove() {
      const [first] = this.sight();
      const key = this.focused ?? (this.list[first] || {}).key;
      for (const [other, { node }] of this.drawn) {
        const on = other === key;
        node.tabIndex = on ? 0 : -1;
        node.classList.toggle("tl-on", other === this.focused);
        for (const button of node.querySelectorAll("button")) button.tabIndex = on ? 0 : -1;
      }
    }

    took(event) {
      const node = event.target.closest(".tl-row");
      if (!node) return;
      const entry = [...this.drawn.values()].find((known) => known.node === node);
      if (!entry || entry.row.key === this.focused) return;
      this.focused = entry.row.key;
      this.rove();
      this.select(entry.row);
    }

    key(event) {
      const node = event.target.closest(".tl-row");
      const entry = node && [...this.drawn.values()].find((known) => known.node === node);
      if (!entry) return;
      const page = Math.max(1, Math.floor(this.box.clientHeight / this.rowPx) - 2);
      const step = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -this.list.length, End: this.list.length }[event.key];
      if (step) this.focus(Math.min(this.list.length - 1, Math.max(0, entry.index + step)));
      else if (event.key === "Enter" && event.target === node) this.open(entry.row);
      else return;
      event.preventDefault();
    }

    focus(index) {
      this.focused = this.list[index].key;
      this.render();
      const { node } = this.drawn.get(this.focused);
      node.focus({ preventScroll: true });
      node.scrollIntoView({ block: "nearest" });
      this.select(this.list[index]);
    }

    pick(event) {
      const node = event.target.closest(".tl-row");
      if (node && !event.target.closest("button")) node.focus({ preventScroll: true });
    }

    openAt(event) {
      const node = event.target.closest(".tl-row");
      const entry = node && [...this.drawn.values()].find((known) => known.node === node);
      if (entry && !event.target.closest("button")) this.open(entry.row);
    }
  }

  window.tinglu.Rows = Rows;
})();
