// What became of the hotwords of a transcript, and the corrections with a way back.
(() => {
  "use strict";
  const { t, el, stamp } = window.tinglu;

  const CORRECTED = 3;

  /** Corrected pieces of the lines with the number of their line. */
  function corrections(lines) {
    return lines.flatMap((line, position) =>
      line.written.filter((piece) => piece[2] === CORRECTED).map((piece) => ({ position, piece })));
  }

  function chip([word, recognized, corrected]) {
    const kind = corrected ? "fixed" : recognized ? "hit" : "miss";
    const count = recognized + corrected;
    return el("li", { class: `tl-word-chip tl-word-${kind}`, title: t(`words.${kind}`) },
      el("span", { text: word }), el("b", { text: count ? `×${count}` : t("words.none") }));
  }

  /** Closed at first; `play(ms)` and `undo(position, first_token)` are called for its buttons. */
  class WordPanel {
    constructor({ play, undo }) {
      this.play = play;
      this.undo = undo;
      this.summary = el("summary", { class: "tl-words-sum" });
      this.chips = el("ul", { class: "tl-word-chips", "aria-label": t("hotwords") });
      this.list = el("ul", { class: "tl-fixes", "aria-label": t("words.fixes") });
      this.root = el("details", { class: "tl-words" }, this.summary, this.chips, this.list);
    }

    update(view, lines) {
      const words = (view.final && view.words) || [];
      const fixes = view.final ? corrections(lines) : [];
      this.root.hidden = !words.length && !fixes.length;
      if (this.root.hidden) return;
      const hit = words.filter((use) => use[1]).length;
      const missing = words.filter((use) => !use[1] && !use[2]).length;
      this.summary.textContent = t("words.summary", { hit, fixed: fixes.length, missing });
      this.chips.replaceChildren(...words.map(chip));
      this.list.replaceChildren(...fixes.map((fix) => this.fix(fix)));
    }

    fix({ position, piece }) {
      const [text, start, , heard, first] = piece;
      return el("li", {},
        el("button", { type: "button", class: "tl-fix-at", text: stamp(start), onclick: () => this.play(start) }),
        el("del", { text: heard }), el("span", { "aria-hidden": "true", text: "→" }), el("ins", { text: text.trim() }),
        el("button", { type: "button", class: "tl-button", text: t("words.undo"), "aria-label": t("words.undo_of", { word: heard }),
          onclick: () => this.undo(position, first) }));
    }
  }

  window.tinglu.WordPanel = WordPanel;
})();
