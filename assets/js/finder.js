// The history's search and list: what is asked for, what is chosen, and what stands around the rows.
(() => {
  "use strict";
  const { t, el, find, Entries, Sieve, toast } = window.tinglu;

  const TYPING_MS = 160; // this long after the last key the list is asked for
  const SLOW_MS = 300; // a list that takes longer says that it is coming
  const SHOWN_QUERY = 60; // characters of a query that nothing has
  const LOST_MS = 20000; // after this an answer is not waited for
  const ACT_LOST_MS = 600000; // the same for changes and exports, from their last news on
  const SORTS = ["newest", "oldest", "name", "longest", "shortest"];
  const PAGE = 50;

  /**
   * What is done with recordings is the History's: `open`, `remove`, `restore`, `purge`, `rename`,
   * `tag`, `undo`, `manage`, `storage`, `exportPicked`, `replacePicked`, `emptyBin`.
   */
  class Finder {
    constructor({ root, trigger, props }) {
      this.trigger = trigger;
      this.target = props.target;
      this.about = props.about;
      this.formats = props.formats;
      this.serial = 0;
      this.waiting = new Map(); // serial to what takes the answer
      this.tail = Promise.resolve(); // changes go one after the other
      this.cursors = [""]; // of the pages up to this one
      this.picked = new Set();
      this.all = false; // everything that is found is chosen, less `without`
      this.without = new Set();
      this.deleted = false; // the bin is shown
      this.view = null;
      this.opened = "";
      this.undoable = null;
      this.build(root);
      this.away = true; // another tab is shown
      new IntersectionObserver(() => this.seen()).observe(root);
      document.addEventListener("keydown", (event) => this.shortcut(event));
    }

    build(root) {
      root.className = "tl-root tl-card tl-history-card";
      this.entries = new Entries({
        open: (row) => this.open(row), pick: (ids, on) => this.pick(ids, on), picked: (id) => this.isPicked(id),
        remove: (ids, index) => this.remove(ids, index), restore: (ids) => this.restore(ids), purge: (ids, name) => this.purge(ids, name),
        rename: (row, name) => this.rename(row, name), tag: (row) => this.tag(row), undo: () => this.undo(), leave: () => this.field.focus(),
      });
      this.sieve = new Sieve(() => this.restart());
      this.field = el("input", { type: "search", class: "tl-field", placeholder: t("history.search"), "aria-label": t("history.search"), autocomplete: "off", spellcheck: "false", enterkeyhint: "search", dir: "auto",
        oninput: () => this.typed(), onkeydown: (event) => this.fieldKey(event) });
      this.bar = el("div", { class: "tl-history-bar" });
      this.buildBar();
      this.note = el("div", { class: "tl-bin-note", hidden: true });
      this.empty = el("div", { class: "tl-empty", hidden: true, role: "status" });
      this.back = el("button", { type: "button", class: "tl-button", text: t("history.previous"), onclick: () => this.turn(-1) });
      this.next = el("button", { type: "button", class: "tl-button", text: t("history.next"), onclick: () => this.turn(1) });
      this.range = el("span", { class: "tl-muted" });
      this.pager = el("nav", { class: "tl-pager", "aria-label": t("history.pages"), hidden: true }, this.range, el("span", { class: "tl-space" }), this.back, this.next);
      root.append(el("div", { class: "tl-history-top" }, el("div", { class: "tl-search", id: "history-query", role: "search" }, this.field), this.sieve.button),
        this.sieve.box, this.sieve.chips, this.note, this.bar, this.entries.root, this.empty, this.pager);
      this.root = root;
      this.entries.wait();
    }

    buildBar() {
      const button = (name, act, style = "") => el("button", { type: "button", class: `tl-button ${style}`, "data-do": name, text: t(`history.do.${name}`), onclick: act });
      this.whole = el("input", { type: "checkbox", class: "tl-pick", "aria-label": t("history.pick_page"), title: t("history.pick_page"), onchange: () => this.pickPage(this.whole.checked) });
      this.count = el("span", { class: "tl-history-count", role: "status" });
      this.sort = el("select", { class: "tl-select", "aria-label": t("history.sort"), onchange: () => this.restart() }, ...SORTS.map((name) => el("option", { value: name, text: t(`history.sort.${name}`) })));
      this.menu = this.buildMenu();
      this.tools = el("div", { class: "tl-history-tools" }, this.sort, this.menu);
      this.acts = el("div", { class: "tl-history-acts", role: "group", "aria-label": t("history.with_picked"), hidden: true },
        button("export", () => this.exportPicked()), button("replace", () => this.replacePicked()), button("tag", () => this.tag(null)), button("delete", () => this.remove(null)),
        button("restore", () => this.restore(null)), button("purge", () => this.purge(null)), button("none", () => this.pick(null, false)));
      this.more = el("div", { class: "tl-history-more", hidden: true });
      this.bar.append(this.whole, this.count, el("span", { class: "tl-space" }), this.tools, this.acts, this.more);
    }

    buildMenu() {
      const item = (name, act) => el("button", { type: "button", class: "tl-menu-item", "data-menu": name, text: t(`history.menu.${name}`), onclick: () => { menu.removeAttribute("open"); act(); } });
      this.binItem = item("bin", () => this.turnBin(true));
      const keys = el("dl", { class: "tl-keys" }, ...["search", "move", "pick", "open", "rename", "tag", "delete", "undo"].flatMap((name) => [el("dt", { text: t(`history.key.${name}`) }), el("dd", { text: t(`history.keys.${name}`) })]));
      const menu = el("details", { class: "tl-history-menu", onkeydown: (event) => event.key === "Escape" && (menu.removeAttribute("open"), menu.firstChild.focus()) }, el("summary", { class: "tl-button", text: "⋯", "aria-label": t("history.menu") }),
        el("div", { class: "tl-popover" }, item("tags", () => this.manage()), this.binItem, item("storage", () => this.storage()), keys));
      document.addEventListener("click", (event) => menu.contains(event.target) || menu.removeAttribute("open"));
      return menu;
    }

    /** Whoever comes back to the tab gets the list as it is now. */
    seen() {
      const away = !this.root.offsetParent;
      if (this.away && !away) this.renew();
      this.away = away;
    }

    /** The list, and what there is to filter by. */
    renew() {
      this.refresh();
      this.stale = true;
      this.sift();
    }

    sift() {
      if (this.sifting || !this.stale) return;
      this.sifting = true;
      this.stale = false;
      this.send("sift", {}, (view) => {
        this.sifting = false;
        if (view.facets) this.showFacets(view.facets);
        this.sift();
      });
    }

    showFacets(facets) {
      this.facets = facets;
      this.sieve.show(facets);
      this.binItem.textContent = facets.deleted ? t("history.menu.bin_count", { count: facets.deleted }) : t("history.menu.bin");
    }

    // Asking for the list: one at a time, and after it the newest that was wanted meanwhile.
    typed() {
      clearTimeout(this.soon);
      this.soon = setTimeout(() => this.restart(), TYPING_MS);
    }

    restart() {
      this.cursors = [""];
      this.unpickAll();
      this.entries.root.scrollTop = 0;
      this.refresh();
    }

    refresh() {
      clearTimeout(this.soon);
      if (this.looking) {
        this.again = true;
        return;
      }
      this.again = false;
      this.serial += 1;
      this.looking = this.serial;
      this.asked = this.field.value.trim();
      this.trigger("look", { serial: this.serial, query: this.asked, filters: this.filters(), sort: this.sort.value, cursor: this.cursors[this.cursors.length - 1] });
      clearTimeout(this.slow);
      this.slow = setTimeout(() => this.root.classList.add("tl-busy"), SLOW_MS);
      clearTimeout(this.lost);
      this.lost = setTimeout(() => this.update({ serial: this.looking, error: t("history.no_answer") }), LOST_MS);
    }

    filters() {
      return { ...this.sieve.filters(), deleted: this.deleted };
    }

    update(view) {
      if (view.serial !== this.looking) return;
      this.looking = 0;
      if (this.again) {
        this.refresh();
        return;
      }
      clearTimeout(this.slow);
      clearTimeout(this.lost);
      this.root.classList.remove("tl-busy");
      if (view.error) {
        this.fail(view.error);
        return;
      }
      if (!view.rows.length && this.cursors.length > 1) {
        this.cursors.pop(); // what this page had is gone
        this.refresh();
        return;
      }
      this.view = view;
      this.entries.show(view.rows, { deleted: this.deleted, binDays: view.bin_days });
      this.entries.light(this.opened);
      if (this.focusAt !== undefined) this.entries.focus(this.focusAt);
      this.focusAt = undefined;
      this.draw();
    }

    fail(error) {
      this.view = null;
      this.entries.show([], { deleted: this.deleted, binDays: 0 });
      this.pager.hidden = true;
      this.bar.hidden = true;
      this.empty.hidden = false;
      this.empty.replaceChildren(el("strong", { text: t("history.failed") }), el("span", { text: error }), el("button", { type: "button", class: "tl-button", text: t("history.again"), onclick: () => this.refresh() }));
    }

    // Changes: each is answered before the next one goes out.
    act(name, data = {}) {
      const run = () => new Promise((resolve) => this.send("act", { act: name, ...data }, resolve));
      const answer = this.tail.then(run).then((view) => {
        if (!view.error) return view;
        toast(view.error, { bad: true });
        return null;
      });
      this.tail = answer;
      return answer;
    }

    send(event, data, take) {
      this.serial += 1;
      const { serial } = this;
      const watch = () => setTimeout(() => this.answer({ serial, error: t("history.no_answer") }), ACT_LOST_MS);
      let lost = watch();
      this.waiting.set(serial, (view, last = true) => {
        clearTimeout(lost);
        if (last) this.waiting.delete(serial);
        else lost = watch();
        take(view);
      });
      this.trigger(event, { ...data, serial });
    }

    answer(view) {
      const take = this.waiting.get(view.serial);
      if (take) take(view, view.done === undefined);
    }

    async changed(answer) {
      if (!answer) return null;
      if (answer.changed) {
        this.entries.change(answer.changed);
        find(this.about).changed(answer.changed);
      }
      if (answer.tags) {
        this.stale = true;
        this.sift();
      }
      return answer;
    }

    // What is chosen.
    isPicked(id) {
      return this.all ? !this.without.has(id) : this.picked.has(id);
    }

    get pickedCount() {
      return this.all ? Math.max(0, this.view.total - this.without.size) : this.picked.size;
    }

    pick(ids, on) {
      if (ids === null) {
        this.picked.clear();
        this.unpickAll();
      }
      for (const id of ids || []) {
        if (this.all === on) this.without.delete(id);
        if (this.all && !on) this.without.add(id);
        else if (!this.all && on) this.picked.add(id);
        else if (!this.all) this.picked.delete(id);
      }
      this.entries.drawPicked();
      this.drawBar();
    }

    unpickAll() {
      this.all = false;
      this.without.clear();
    }

    pickPage(on) {
      this.pick(this.view.rows.map((row) => row.id), on);
    }

    pickAll() {
      this.picked.clear();
      this.without.clear();
      this.all = true;
      this.pick([], true);
      this.whole.focus();
    }

    /** The server's words for what is chosen; `ids` are given for single rows. */
    selection(ids) {
      if (ids) return { ids };
      if (!this.all) return { ids: [...this.picked] };
      return { all: true, query: this.asked, filters: this.filters(), without: [...this.without] };
    }

    turnBin(on) {
      this.deleted = on;
      this.pick(null, false);
      this.entries.wait();
      this.restart();
      this.field.focus();
    }

    turn(step) {
      if (step > 0) this.cursors.push(this.view.cursor);
      else this.cursors.pop();
      this.entries.root.scrollTop = 0;
      this.focusAt = 0;
      this.refresh();
    }

    // Keys.
    shortcut(event) {
      const typing = event.target.closest && event.target.closest("input, textarea, select, [contenteditable], dialog");
      if (event.key !== "/" || typing || event.ctrlKey || event.metaKey || !this.root.offsetParent) return;
      event.preventDefault();
      this.field.focus();
      this.field.select();
    }

    fieldKey(event) {
      if (event.isComposing) return;
      if (event.key === "ArrowDown") this.entries.focus(0);
      else if (event.key === "Enter") this.restart();
      else if (event.key === "Escape" && this.field.value) {
        this.field.value = "";
        this.restart();
      } else return;
      event.preventDefault();
    }

    // Everything around the rows.
    draw() {
      const { view } = this;
      const none = !view.rows.length;
      this.note.hidden = !this.deleted;
      if (this.deleted) this.drawNote();
      this.empty.hidden = !none;
      this.entries.root.hidden = none;
      if (none) this.drawEmpty();
      const page = this.cursors.length - 1;
      this.pager.hidden = none || (!page && !view.cursor);
      this.range.textContent = t("history.range", { first: page * PAGE + 1, last: page * PAGE + view.rows.length });
      this.back.disabled = !page;
      this.next.disabled = !view.cursor;
      this.drawBar();
    }

    drawNote() {
      const days = this.view.bin_days;
      this.note.replaceChildren(el("span", { text: days ? t("history.bin_note", { days }) : t("history.bin_off") }), el("span", { class: "tl-bin-acts" },
        el("button", { type: "button", class: "tl-button", text: t("history.bin_leave"), onclick: () => this.turnBin(false) }),
        el("button", { type: "button", class: "tl-button", text: t("history.bin_empty"), disabled: !this.view.rows.length, onclick: () => this.emptyBin() })));
    }

    drawEmpty() {
      const sifted = this.sieve.active;
      const key = this.asked ? "none" : sifted ? "sifted" : this.deleted ? "bin" : "empty";
      this.empty.replaceChildren(el("strong", { dir: "auto", text: t(`history.${key}`, { query: this.asked.length > SHOWN_QUERY ? `${this.asked.slice(0, SHOWN_QUERY)}…` : this.asked }) }), el("span", { text: t(sifted ? "history.sifted_hint" : `history.${key}_hint`) }),
        sifted ? el("button", { type: "button", class: "tl-button", text: t("history.clear"), onclick: () => this.sieve.clear() }) : "");
    }

    drawBar() {
      const { view } = this;
      if (!view) return;
      const count = this.pickedCount;
      this.bar.hidden = !view.rows.length && !count;
      const here = view.rows.filter((row) => this.isPicked(row.id)).length;
      this.whole.checked = here > 0 && here === view.rows.length;
      this.whole.indeterminate = here > 0 && here < view.rows.length;
      const total = this.total();
      this.count.textContent = count ? t("history.picked", { count: this.all && !view.exact ? `${count}+` : count }) : t("history.count", { total });
      this.tools.hidden = count > 0;
      this.acts.hidden = !count;
      for (const button of this.acts.children) button.hidden = this.deleted ? ["replace", "tag", "delete", "export"].includes(button.dataset.do) : ["restore", "purge"].includes(button.dataset.do);
      this.drawMore(here, count, total);
    }

    total() {
      const { total, exact } = this.view;
      return exact ? total.toLocaleString() : `${total.toLocaleString()}+`;
    }

    drawMore(here, count, total) {
      const { view } = this;
      const elsewhere = this.all ? 0 : count - here;
      const offer = !this.all && here > 0 && here === view.rows.length && (view.cursor || this.cursors.length > 1);
      this.more.hidden = !offer && !elsewhere && !this.all;
      this.more.replaceChildren(this.all ? t("history.all_picked", { total }) : elsewhere ? t("history.picked_elsewhere", { count: elsewhere }) : "",
        offer ? el("button", { type: "button", class: "tl-link", "data-do": "all", text: t("history.pick_all", { total }), onclick: () => this.pickAll() }) : "");
    }
  }

  window.tinglu.Finder = Finder;
})();
