// Two texts side by side: error counts, the differences in place, confusions, words for hotwords.
(() => {
  "use strict";
  const { t, el, define } = window.tinglu;

  const EQUAL = 0;
  const REPLACED = 1;
  const DELETED = 2;
  const CHUNK_CHARS = 6000; // of running text that is drawn at once
  const CHUNK_ROWS = 150; // of differences that are drawn at once
  const AROUND = 12; // characters of context beside a difference
  const FEW = 10; // confusions shown at first

  /** Nodes of one difference: what was said struck through, what was recognized beside it. */
  function change([kind, said, heard]) {
    if (kind === REPLACED) {
      return el("span", { class: "tl-diff tl-diff-replace", tabindex: -1, title: t("compare.replaced", { said, heard }) }, el("del", { text: said }), el("ins", { text: heard }));
    }
    if (kind === DELETED) {
      return el("span", { class: "tl-diff tl-diff-delete", tabindex: -1, title: t("compare.deleted", { said }) }, el("del", { text: said }));
    }
    return el("span", { class: "tl-diff tl-diff-insert", tabindex: -1, title: t("compare.inserted", { heard }) }, el("ins", { text: heard }));
  }

  class Compare {
    constructor({ root }) {
      this.view = null;
      this.only = false;
      this.root = root;
      root.className = "tl-root tl-compare";
      this.empty = el("div", { class: "tl-card tl-panel tl-compare-empty" },
        el("div", { class: "tl-empty" }, el("strong", { text: t("compare.empty") }), el("span", { text: t("compare.empty_hint") })));
      this.head = el("div", { class: "tl-card tl-compare-head", role: "status" });
      this.buildText();
      this.words = el("div", { class: "tl-card", hidden: true });
      this.pairs = el("div", { class: "tl-card", hidden: true });
      root.append(this.empty, this.head, this.text, this.words, this.pairs);
      this.head.hidden = this.text.hidden = true;
    }

    buildText() {
      this.all = el("button", { type: "button", text: t("compare.all"), onclick: () => this.choose(false) });
      this.some = el("button", { type: "button", text: t("compare.only"), onclick: () => this.choose(true) });
      this.next = el("button", { type: "button", class: "tl-button", text: t("compare.next"), onclick: () => this.go() });
      this.body = el("div", { class: "tl-compare-text" });
      this.more = el("button", { type: "button", class: "tl-button", onclick: () => this.draw() });
      this.text = el("div", { class: "tl-card tl-compare-panel" },
        el("div", { class: "tl-tools" },
          el("div", { class: "tl-seg", role: "group", "aria-label": t("compare.show") }, this.all, this.some),
          el("span", { class: "tl-space" }), this.next),
        this.body, this.more);
    }

    /** While the server compares; a refusal ends it too. */
    wait(on) {
      this.root.setAttribute("aria-busy", String(on));
      this.root.classList.toggle("tl-waiting", on);
    }

    update(view) {
      this.view = view;
      this.empty.hidden = true;
      this.head.hidden = this.text.hidden = false;
      this.changes = view.pieces.map((piece, index) => [piece, index]).filter(([piece]) => piece[0] !== EQUAL);
      this.drawHead();
      this.drawWords();
      this.drawPairs();
      this.choose(this.only);
      if (window.matchMedia("(max-width: 760px)").matches) this.root.scrollIntoView({ behavior: "smooth" });
    }

    drawHead() {
      const { view } = this;
      const count = (kind, number) => el("span", { class: `tl-count tl-count-${kind}` }, el("i", { "aria-hidden": "true", text: t(`compare.sign_${kind}`) }), t(`compare.count_${kind}`, { count: number }));
      this.head.replaceChildren(
        el("div", { class: "tl-rate" }, el("strong", { text: `${view.rate}%` }), el("span", { text: t("compare.rate") })),
        el("div", { class: "tl-counts" }, count("replace", view.substitutions), count("delete", view.deletions), count("insert", view.insertions),
          el("span", { class: "tl-muted", text: t("compare.chars", { count: view.chars }) })));
      if (view.empty) this.head.append(el("p", { class: "tl-note", text: t("compare.no_hypothesis") }));
    }

    choose(only) {
      this.only = only;
      this.all.setAttribute("aria-pressed", String(!only));
      this.some.setAttribute("aria-pressed", String(only));
      this.drawn = 0;
      this.offset = 0;
      this.at = -1;
      this.body.replaceChildren();
      this.body.classList.toggle("tl-compare-rows", only);
      this.next.hidden = !this.changes.length;
      if (!this.changes.length) {
        this.body.append(el("p", { class: "tl-same", text: t("compare.same") }));
        if (only) {
          this.more.hidden = true;
          return;
        }
      }
      this.draw();
    }

    /** Draw the next part; what is left waits behind a button. */
    draw() {
      if (this.only) this.drawRows();
      else this.drawRun();
      const list = this.only ? this.changes : this.view.pieces;
      const left = this.changes.filter(([, index]) => index >= (this.only ? 0 : this.drawn)).length - (this.only ? this.drawn : 0);
      this.more.hidden = this.drawn >= list.length;
      this.more.textContent = t("compare.more", { count: left });
    }

    drawRun() {
      const fragment = document.createDocumentFragment();
      const { pieces } = this.view;
      let room = CHUNK_CHARS;
      while (this.drawn < pieces.length && room > 0) {
        const piece = pieces[this.drawn];
        if (piece[0] === EQUAL) {
          const whole = piece[1] + piece[3];
          const part = whole.slice(this.offset, this.offset + room);
          fragment.append(part);
          room -= part.length;
          this.offset += part.length;
          if (this.offset < whole.length) break;
        } else {
          fragment.append(change(piece), piece[3]);
          room -= piece[1].length + piece[2].length + 1;
        }
        this.offset = 0;
        this.drawn += 1;
      }
      this.body.append(fragment);
    }

    drawRows() {
      const fragment = document.createDocumentFragment();
      for (const [piece, index] of this.changes.slice(this.drawn, this.drawn + CHUNK_ROWS)) {
        fragment.append(el("div", { class: "tl-compare-row" },
          el("span", { class: "tl-muted", text: this.around(index, -1) }), change(piece), el("span", { class: "tl-muted", text: piece[3] + this.around(index, 1) })));
      }
      this.drawn = Math.min(this.changes.length, this.drawn + CHUNK_ROWS);
      this.body.append(fragment);
    }

    /** A few characters of what was said before or after a piece. */
    around(index, step) {
      let text = "";
      for (let at = index + step; this.view.pieces[at] && text.length < AROUND; at += step) {
        const part = this.view.pieces[at][1] + this.view.pieces[at][3];
        text = step < 0 ? part + text : text + part;
      }
      return step < 0 ? text.slice(-AROUND) : text.slice(0, AROUND);
    }

    go() {
      let nodes = this.body.querySelectorAll(".tl-diff");
      if (this.at + 1 >= nodes.length && !this.more.hidden) {
        this.draw();
        nodes = this.body.querySelectorAll(".tl-diff");
      }
      this.at = this.at + 1 < nodes.length ? this.at + 1 : 0;
      if (!nodes.length) return;
      nodes[this.at].focus({ preventScroll: true });
      nodes[this.at].scrollIntoView({ block: "nearest", behavior: "smooth" });
    }

    drawWords() {
      const { suggestions } = this.view;
      this.words.hidden = !suggestions.length;
      const copy = el("button", { type: "button", class: "tl-button", text: t("compare.copy"), onclick: () => this.copy(copy) });
      this.words.replaceChildren(
        el("div", { class: "tl-tools" }, el("h2", { class: "tl-name", text: t("compare.words") }), el("span", { class: "tl-space" }), copy),
        el("p", { class: "tl-hint", text: t("compare.words_hint") }),
        el("div", { class: "tl-word-list", role: "list" }, ...suggestions.map(([word, missed, total]) =>
          el("span", { class: "tl-word-chip", role: "listitem", title: t("compare.missed", { missed, total }) }, word, el("small", { text: `${missed}/${total}` })))));
    }

    async copy(button) {
      button.textContent = t(await window.tinglu.copyText(this.view.suggestions.map(([word]) => word).join("\n")));
      setTimeout(() => { button.textContent = t("compare.copy"); }, 1600);
    }

    drawPairs() {
      const { confusions } = this.view;
      this.pairs.hidden = !confusions.length;
      const list = el("div", { class: "tl-pairs", role: "list" });
      const more = el("button", { type: "button", class: "tl-button" });
      let shown = 0;
      const draw = (count) => {
        list.append(...confusions.slice(shown, shown + count).map((pair) => this.pair(pair)));
        shown = Math.min(confusions.length, shown + count);
        more.hidden = shown >= confusions.length;
        more.textContent = t("compare.more_pairs", { count: confusions.length - shown });
      };
      more.addEventListener("click", () => draw(confusions.length));
      draw(FEW);
      this.pairs.replaceChildren(el("h2", { class: "tl-name", text: t("compare.pairs") }), list, more);
    }

    pair([said, heard, count, places]) {
      return el("div", { class: "tl-pair", role: "listitem" },
        el("span", { class: "tl-pair-words" }, change([REPLACED, said, heard])),
        el("span", { class: "tl-pair-count", text: t("compare.times", { count }) }),
        el("span", { class: "tl-pair-places" }, ...places.map(([before, was, , after]) =>
          el("span", { class: "tl-muted" }, before, el("b", { text: was }), after))));
    }
  }

  define("compare", (context) => new Compare(context));
})();
