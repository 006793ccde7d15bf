// Who speaks: the name of one paragraph, or of everything that a speaker says.
(() => {
  "use strict";
  const { t, el } = window.tinglu;

  let serial = 0;

  class EditorSpeakers {
    constructor(editor) {
      this.editor = editor;
      this.host = editor.host;
      serial += 1;
      const id = `tl-speakers-${serial}`;
      this.known = el("datalist", { id });
      this.name = el("input", { type: "text", class: "tl-field", list: id, maxlength: 60, "aria-label": t("who"), placeholder: t("who.none"), autocomplete: "off" });
      this.one = el("button", { class: "tl-button tl-strong", text: t("who.paragraph") });
      this.all = el("button", { type: "button", class: "tl-button", onclick: () => this.rename() });
      this.root = el("form", { class: "tl-box tl-find-row tl-speakers", "aria-label": t("who"), hidden: true, onsubmit: (event) => this.label(event) },
        el("strong", { text: t("who") }), this.name, this.known, this.one, this.all,
        el("button", { type: "button", class: "tl-icon", text: "×", "aria-label": t("close"), title: t("close"), onclick: () => this.finish() }));
      this.root.addEventListener("keydown", (event) => {
        if (event.key !== "Escape" || event.isComposing) return;
        event.stopPropagation();
        this.finish();
      });
    }

    close() {
      this.root.hidden = true;
    }

    finish() {
      this.close();
      this.host.list.focus(this.index);
    }

    /** The paragraph of a sentence: what its speaker says without a break; the marked rows if any. */
    paragraph(index) {
      const { lines, list } = this.host;
      if (list.range && index >= list.range[0] && index <= list.range[1]) return list.range;
      const { who } = lines[index];
      if (!who) return [index, index];
      let [first, last] = [index, index];
      while (first > 0 && lines[first - 1].who === who) first -= 1;
      while (last + 1 < lines.length && lines[last + 1].who === who) last += 1;
      return [first, last];
    }

    open(index) {
      const line = this.host.lines[index];
      if (!line || !this.host.editable) return;
      this.editor.end();
      this.index = index;
      this.line = line;
      const [first, last] = this.paragraph(index);
      this.name.value = line.who;
      this.one.textContent = t("who.paragraph", { count: last - first + 1 });
      this.all.textContent = t("who.everywhere", { name: line.who });
      this.all.hidden = !line.who;
      const names = new Set(this.host.lines.map((one) => one.who).filter(Boolean));
      this.known.replaceChildren(...[...names].map((value) => el("option", { value })));
      this.root.hidden = false;
      this.root.scrollIntoView({ block: "nearest" });
      this.name.focus();
      this.name.select();
    }

    async label(event) {
      event.preventDefault();
      const speaker = this.name.value.trim();
      const [first, last] = this.paragraph(this.index);
      const line = this.host.lines[first];
      this.finish();
      await this.editor.log.run(({ lines }) => {
        const position = lines.indexOf(line);
        return position < 0 ? null : { op: "speaker", position, count: last - first + 1, speaker };
      });
    }

    async rename() {
      const old = this.line.who;
      const speaker = this.name.value.trim();
      this.finish();
      await this.editor.log.run(() => ({ op: "rename", old, speaker }));
    }
  }

  window.tinglu.EditorSpeakers = EditorSpeakers;
})();
