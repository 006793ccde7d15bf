// Find and replace in the transcript that is open, also in what is not drawn.
(() => {
  "use strict";
  const { t, el, stamp, caret, textOf } = window.tinglu;

  const SOON_MS = 120; // after the last letter of the query
  const MOST_SHOWN = 200; // sentences of a preview

  function pattern(query, exact) {
    return new RegExp(query.replace(/[.*+?^${}()|[\]\\/-]/g, (char) => `\\u{${char.codePointAt(0).toString(16)}}`), exact ? "gu" : "giu");
  }

  class EditorFind {
    constructor(editor) {
      this.editor = editor;
      this.host = editor.host;
      this.hits = []; // [line, start, end] in UTF-16 units
      this.at = -1;
      this.build();
      this.close();
    }

    build() {
      const button = (key, act, more = {}) => el("button", { type: "button", class: "tl-button", text: t(key), onclick: act, ...more });
      this.query = el("input", { type: "search", class: "tl-field", "aria-label": t("find.query"), placeholder: t("find.query"), autocomplete: "off", spellcheck: "false",
        oninput: (event) => event.isComposing || this.later(), oncompositionend: () => this.later(), onkeydown: (event) => this.key(event) });
      this.count = el("span", { class: "tl-muted tl-find-count", role: "status" });
      this.exact = el("input", { type: "checkbox", class: "tl-pick", onchange: () => this.search() });
      this.replacement = el("input", { type: "text", class: "tl-field", "aria-label": t("find.replacement"), placeholder: t("find.replacement"), autocomplete: "off", spellcheck: "false",
        oninput: () => this.hidePreview(), onkeydown: (event) => this.replaceKey(event) });
      this.previewButton = button("find.preview", () => this.preview());
      this.applyButton = button("find.replace_all", () => this.replaceAll(), { class: "tl-button tl-strong" });
      this.list = el("ol", { class: "tl-preview", "aria-label": t("find.preview") });
      this.told = el("p", { class: "tl-told", role: "status" });
      this.root = el("section", { class: "tl-find tl-box", "aria-label": t("find") },
        el("div", { class: "tl-find-row" }, this.query, this.count,
          button("find.back", () => this.step(-1), { text: "↑", "aria-label": t("find.back"), title: t("find.back") }),
          button("find.next", () => this.step(1), { text: "↓", "aria-label": t("find.next"), title: t("find.next") }),
          el("label", { class: "tl-check" }, this.exact, el("span", { text: t("find.case") })),
          el("span", { class: "tl-space" }),
          el("button", { type: "button", class: "tl-icon", text: "×", "aria-label": t("close"), title: t("close"), onclick: () => this.close() })),
        el("div", { class: "tl-find-row" }, this.replacement, this.previewButton, this.applyButton), this.told, this.list);
      this.root.addEventListener("keydown", (event) => {
        if (event.key !== "Escape" || event.isComposing) return;
        event.stopPropagation();
        this.close();
        this.host.list.focus(this.host.list.at);
      });
    }

    get isOpen() {
      return !this.root.hidden;
    }

    open() {
      const chosen = String(window.getSelection());
      this.root.hidden = false;
      if (chosen && !/[\r\n]/.test(chosen)) this.query.value = chosen;
      this.query.focus();
      this.query.select();
      this.search();
    }

    close() {
      this.root.hidden = true;
      this.hits = [];
      this.hidePreview();
      this.highlight();
    }

    key(event) {
      if (event.isComposing || event.key !== "Enter") return;
      event.preventDefault();
      this.step(event.shiftKey ? -1 : 1);
    }

    replaceKey(event) {
      if (event.isComposing || event.key !== "Enter") return;
      event.preventDefault();
      this.preview();
    }

    later() {
      clearTimeout(this.timer);
      this.timer = setTimeout(() => this.search(), SOON_MS);
    }

    refresh() {
      if (this.isOpen) this.search(true);
    }

    /** Every hit of the form that is shown, drawn or not. */
    search(quiet = false) {
      const query = this.query.value;
      this.hits = [];
      if (!quiet) {
        clearTimeout(this.timer);
        this.timer = 0;
        this.hidePreview();
      }
      if (query) {
        const regex = pattern(query, this.exact.checked);
        for (const line of this.host.lines) {
          for (const match of textOf(line, this.host.form).matchAll(regex)) this.hits.push([line, match.index, match.index + match[0].length]);
        }
      }
      if (!quiet) {
        const from = this.host.list.at;
        this.at = this.hits.length ? Math.max(0, this.hits.findIndex(([line]) => this.host.lines.indexOf(line) >= from)) : -1;
        if (this.at >= 0) this.go();
      } else this.at = Math.min(this.at, this.hits.length - 1);
      this.tell();
      this.highlight();
    }

    tell() {
      this.count.textContent = this.query.value ? t("find.count", { at: this.at + 1, total: this.hits.length }) : "";
      const can = this.hits.length > 0 && this.host.editable && this.host.form === "written";
      this.previewButton.disabled = this.applyButton.disabled = !can;
    }

    step(by) {
      if (!this.hits.length) return;
      this.at = (this.at + by + this.hits.length) % this.hits.length;
      this.go();
      this.tell();
      this.highlight();
    }

    go() {
      const index = this.host.lines.indexOf(this.hits[this.at][0]);
      if (index < 0) return;
      this.host.list.at = index;
      this.host.list.reveal(index);
    }

    /** Marks over the rows that are drawn, where the browser can; nothing in the text changes. */
    highlight() {
      if (!window.CSS || !CSS.highlights) return;
      const name = `tl-find-${this.host.id}`;
      const marks = [new Highlight(), new Highlight()];
      for (const [line, start, end] of this.isOpen ? this.hits : []) {
        const entry = this.host.list.drawn.get(line);
        const range = entry && window.tinglu.caret.rangeOf(entry.text, start, end);
        if (range) marks[line === this.hits[this.at][0] && start === this.hits[this.at][1] ? 1 : 0].add(range);
      }
      CSS.highlights.set(name, marks[0]);
      CSS.highlights.set(`${name}-now`, marks[1]);
    }

    hidePreview() {
      this.list.replaceChildren();
      this.told.textContent = "";
      this.stamp = "";
      this.applyButton.hidden = true;
    }

    /** What replacing every hit makes of each sentence. */
    async preview() {
      if (this.timer) this.search(); // what was typed just now counts
      if (this.previewButton.disabled) return;
      await this.editor.flush();
      const asked = { query: this.query.value, text: this.replacement.value, case: this.exact.checked };
      const found = await this.editor.log.question("preview", asked);
      if (!found) return;
      const { session } = this.editor.log;
      if (found.stamp && session && found.stamp !== session.stamp) {
        // It shows a text that others have changed: the page has to have that one, too.
        if (await this.editor.conflict.reload()) this.editor.say(t("conflict.again"));
        return;
      }
      this.asked = asked;
      this.stamp = found.stamp;
      this.told.textContent = t("find.would", { hits: found.hits, lines: found.lines.length });
      this.applyButton.hidden = !found.hits;
      this.list.replaceChildren(...found.lines.slice(0, MOST_SHOWN).map((one) => this.row(one)));
      if (found.lines.length > MOST_SHOWN) this.list.append(el("li", { class: "tl-muted", text: t("find.more", { count: found.lines.length - MOST_SHOWN }) }));
      if (found.hits) this.applyButton.focus();
    }

    row({ position, before, hits, after, places }) {
      const line = this.host.lines[position];
      return el("li", {}, el("time", { text: line ? stamp(line.start) : "" }),
        el("div", {}, el("p", {}, ...marked(before, hits, "del")), el("p", {}, ...(after ? marked(after, places, "ins") : [t("find.removed")]))));
    }

    async replaceAll() {
      const { asked, stamp: at } = this;
      if (!at) return;
      const answer = await this.editor.log.run(() => ({ op: "replace", ...asked, stamp: at }));
      if (!answer) return;
      this.hidePreview();
      this.search(true);
      this.told.textContent = t("find.done");
    }
  }

  /** A text with places, counted in characters, each inside an element of its own. */
  function marked(text, places, tag) {
    const nodes = [];
    let at = 0;
    for (const place of places) {
      const [start, end] = place.map((characters) => caret.toUnits(text, characters));
      nodes.push(text.slice(at, start), el(tag, { text: text.slice(start, end) }));
      at = end;
    }
    nodes.push(text.slice(at));
    return nodes;
  }

  window.tinglu.EditorFind = EditorFind;
})();
