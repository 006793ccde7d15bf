// What keys do in a transcript. While a word is being composed they do nothing of ours.
(() => {
  "use strict";
  const { t, el, caret } = window.tinglu;

  const MAC = /mac|iphone|ipad/i.test(navigator.platform);
  const BACK_MS = 3000;
  const COMPOSING = 229; // key code of what belongs to an input method

  /** `[key of the text, keys while typing, keys on a row]`, as people read them. */
  const SHEET = [
    ["keys.play", ["Alt", "K"], ["Space", "K"]],
    ["keys.back", ["Alt", "J"], ["J"]],
    ["keys.ahead", ["Alt", "L"], ["L"]],
    ["keys.slower", ["Alt", ","], [","]],
    ["keys.faster", ["Alt", "."], ["."]],
    ["keys.loop", ["Alt", "R"], ["R"]],
    ["keys.edit", [], ["Enter"]],
    ["keys.leave", ["Esc"], []],
    ["keys.split", ["Enter"], []],
    ["keys.merge", ["Backspace"], ["M"]],
    ["edit.confirm", ["Ctrl", "Enter"], ["Ctrl", "Enter"]],
    ["keys.doubt", ["Alt", "N"], ["N"]],
    ["keys.doubt_back", ["Alt", "Shift", "N"], ["Shift", "N"]],
    ["keys.who", ["Alt", "U"], ["U"]],
    ["edit.undo", ["Ctrl", "Z"], ["Ctrl", "Z"]],
    ["edit.redo", ["Ctrl", "Shift", "Z"], ["Ctrl", "Shift", "Z"]],
    ["find", ["Ctrl", "F"], ["Ctrl", "F"]],
    ["keys.save", ["Ctrl", "S"], ["Ctrl", "S"]],
    ["keys.zoom", ["Alt", "+", "/", "−"], ["+", "/", "−"]],
    ["keys.rows", [], ["↑", "↓"]],
    ["keys.mark", [], ["Shift", "↑", "↓"]],
    ["keys", ["Alt", "/"], ["?"]],
  ];

  class EditorKeys {
    constructor(editor) {
      this.editor = editor;
      this.host = editor.host;
      const keys = (names) => names.map((name) => el("kbd", { text: MAC ? name.replace("Ctrl", "⌘").replace("Alt", "⌥") : name }));
      const cell = (names) => el("td", {}, ...(names.length ? keys(names) : [el("span", { class: "tl-muted", text: "–" })]));
      this.root = el("section", { class: "tl-box tl-key-sheet", role: "dialog", "aria-label": t("keys"), hidden: true, tabindex: -1 },
        el("div", { class: "tl-find-row" }, el("strong", { text: t("keys") }), el("span", { class: "tl-space" }),
          el("button", { type: "button", class: "tl-icon", text: "×", "aria-label": t("close"), title: t("close"), onclick: () => this.toggle(false) })),
        el("table", { class: "tl-key-table" },
          el("thead", {}, el("tr", {}, el("th", {}), el("th", { text: t("keys.typing") }), el("th", { text: t("keys.row") }))),
          el("tbody", {}, ...SHEET.map(([key, typing, row]) => el("tr", {}, el("th", { scope: "row", text: t(key) }), cell(typing), cell(row))))));
      this.host.root.addEventListener("keydown", (event) => this.key(event));
    }

    /** The text of a button with its keys. */
    titled(key) {
      const found = SHEET.find(([name]) => name === key);
      return found ? `${t(key)} (${(found[1].length ? found[1] : found[2]).join("+")})` : t(key);
    }

    toggle(show = this.root.hidden) {
      this.root.hidden = !show;
      if (show) this.root.focus();
      else this.host.list.focus(this.host.list.at);
    }

    key(event) {
      if (event.isComposing || event.keyCode === COMPOSING || event.defaultPrevented) return;
      if (!this.host.lines.length || (event.ctrlKey && event.altKey)) return; // AltGr types letters
      const { typing } = this.editor;
      const inField = !typing && event.target.closest("input, textarea, select, button, summary, a");
      let act = null;
      if (event.ctrlKey || event.metaKey) act = this.withControl(event);
      else if (event.altKey) act = this.single(event.code, event.shiftKey, true);
      else if (typing) act = this.whileTyping(event);
      else if (event.key === "Escape" && !this.root.hidden) act = () => this.toggle(false);
      else if (!inField) act = this.onRow(event);
      if (!act) return;
      event.preventDefault();
      event.stopPropagation();
      act();
    }

    withControl(event) {
      const { editor, host } = this;
      if (!host.editable || event.altKey) return null;
      const inField = !editor.typing && event.target.closest("input, textarea, select");
      const key = event.key.toLowerCase();
      if (key === "f" && !editor.find.root.contains(event.target)) return () => editor.find.open();
      if (key === "s") return () => editor.flush();
      if (inField) return null;
      if (key === "enter") return () => editor.confirm();
      if (key === "z") return () => (event.shiftKey ? editor.redo() : editor.undo());
      if (key === "y") return () => editor.redo();
      return null;
    }

    /** Keys that mean the same with Alt while typing and alone on a row. */
    single(code, shift) {
      const { editor, host } = this;
      const { player } = host;
      const always = {
        KeyK: () => player.toggle(),
        KeyJ: () => player.go(Math.max(0, player.ms() - BACK_MS)),
        KeyL: () => player.go(Math.min(player.total(), player.ms() + BACK_MS)),
        KeyN: () => host.nextDoubt(shift ? -1 : 1),
        Comma: () => player.changeSpeed(-1),
        Period: () => player.changeSpeed(1),
        Equal: () => player.zoom(2),
        Minus: () => player.zoom(0.5),
        Slash: () => this.toggle(),
      };
      const editing = {
        KeyR: () => editor.part.loop(),
        KeyU: () => editor.speakers.open(editor.index()),
        KeyM: () => editor.merge(),
      };
      return always[code] || (host.editable && editing[code]) || null;
    }

    whileTyping(event) {
      const { editor } = this;
      const { text } = editor.draft.entry;
      const chosen = caret.selectionIn(text);
      if (event.key === "Escape") {
        const index = editor.index();
        return () => {
          editor.end();
          this.host.list.focus(index);
        };
      }
      if (event.key === "Enter" && !event.shiftKey) return () => editor.split();
      if (!chosen || chosen[0] !== chosen[1]) return null;
      const index = editor.index();
      const { length } = text.textContent;
      if (event.key === "Backspace" && chosen[0] === 0 && index > 0) return () => editor.merge();
      // The arrow keys leave a sentence at its first and last line.
      if (event.key === "ArrowUp" && index > 0 && this.atEdge(text, "top")) return () => editor.begin(index - 1, null, this.host.lines[index - 1] ? Infinity : 0);
      if (event.key === "ArrowDown" && this.atEdge(text, "bottom")) return () => editor.begin(index + 1);
      if (event.key === "ArrowLeft" && chosen[0] === 0 && index > 0) return () => editor.begin(index - 1, null, Infinity);
      if (event.key === "ArrowRight" && chosen[0] === length) return () => editor.begin(index + 1);
      return null;
    }

    atEdge(text, edge) {
      const rects = window.getSelection().getRangeAt(0).getClientRects();
      if (!rects.length) return true;
      const box = text.getBoundingClientRect();
      const half = rects[0].height;
      return edge === "top" ? rects[0].top - box.top < half : box.bottom - rects[0].bottom < half;
    }

    onRow(event) {
      const { editor, host } = this;
      if (event.key === "?") return () => this.toggle();
      if (event.key === "Escape" && host.list.range) return () => editor.part.close();
      if (event.key === "Enter" || event.key === "F2") return host.editable && event.target.closest(".tl-line") ? () => editor.begin(host.list.at, null, Infinity) : null;
      if (event.code === "Slash") return null;
      return this.single(event.code, event.shiftKey);
    }
  }

  window.tinglu.EditorKeys = EditorKeys;
})();
