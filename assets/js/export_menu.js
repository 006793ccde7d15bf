// What a transcript is written as: the format and the choices that it heeds.
(() => {
  "use strict";
  const { t, el } = window.tinglu;

  const KEY = "tinglu-export";

  class ExportMenu {
    /** `props` has `formats` and `heeds` (options by format); `write(format, options)` is called. */
    constructor({ formats, heeds }, write) {
      this.heeds = heeds || {};
      this.kept = this.remembered();
      this.format = el("select", { class: "tl-select", "aria-label": t("format"), onchange: () => this.show() },
        ...formats.map((name) => el("option", { value: name, text: t(`format.${name}`) })));
      this.button = el("button", { type: "button", class: "tl-button tl-export", text: t("export"), onclick: () => write(this.format.value, this.options()) });
      this.fields = {
        times: this.choice("times", [["", "auto"], ["yes", "yes"], ["no", "no"]]),
        form: this.choice("form", [["written", "written"], ["spoken", "spoken"]]),
        speakers: this.check("speakers", true),
        words: this.check("words", false),
        line_chars: el("input", { type: "number", class: "tl-field tl-short", min: 8, max: 60, value: this.kept.line_chars || 21 }),
        title: el("input", { type: "text", class: "tl-field", maxlength: 200, placeholder: t("export.title_usual") }),
        name: el("input", { type: "text", class: "tl-field", maxlength: 200, placeholder: "{date} {name} {model}", value: this.kept.name || "" }),
      };
      this.rows = Object.entries(this.fields).map(([name, field]) =>
        el("label", { class: "tl-export-row", "data-option": name }, el("span", { text: t(`export.${name === "title" ? "headline" : name}`) }), field));
      this.summary = el("summary", { class: "tl-button", text: "⋯", "aria-label": t("export.options"), title: t("export.options") });
      this.box = el("details", { class: "tl-drop" }, this.summary, el("div", { class: "tl-popover tl-export-box" },
        el("strong", { text: t("export.options") }), ...this.rows, el("p", { class: "tl-muted", text: t("export.name_hint") })));
      document.addEventListener("click", (event) => this.box.contains(event.target) || this.box.removeAttribute("open"));
      this.box.addEventListener("keydown", (event) => {
        if (event.key !== "Escape" || !this.box.open) return;
        this.box.removeAttribute("open");
        this.summary.focus();
        event.stopPropagation();
      });
      this.root = el("div", { class: "tl-export-menu", role: "group", "aria-label": t("export") }, this.format, this.button, this.box);
      this.show();
    }

    remembered() {
      try {
        return JSON.parse(localStorage.getItem(KEY)) || {};
      } catch {
        return {};
      }
    }

    choice(name, values) {
      const field = el("select", { class: "tl-select" }, ...values.map(([value, key]) => el("option", { value, text: t(`export.${name}_${key}`) })));
      if (this.kept[name] !== undefined) field.value = this.kept[name];
      return field;
    }

    check(name, usual) {
      const field = el("input", { type: "checkbox", class: "tl-pick" });
      field.checked = this.kept[name] ?? usual;
      return field;
    }

    /** Only what the format heeds; every file has a name. */
    show() {
      const heeded = [...(this.heeds[this.format.value] || []), "name"];
      for (const row of this.rows) row.hidden = !heeded.includes(row.dataset.option);
    }

    options() {
      const { fields } = this;
      const heeded = [...(this.heeds[this.format.value] || []), "name"];
      const all = {
        times: fields.times.value === "" ? null : fields.times.value === "yes",
        form: fields.form.value,
        speakers: fields.speakers.checked,
        words: fields.words.checked,
        line_chars: Number(fields.line_chars.value) || 21,
        title: fields.title.value.trim(),
        name: fields.name.value.trim(),
      };
      localStorage.setItem(KEY, JSON.stringify({ ...all, title: undefined, times: fields.times.value }));
      return Object.fromEntries(heeded.filter((name) => name in all).map((name) => [name, all[name]]));
    }

    setDisabled(disabled) {
      this.button.disabled = this.format.disabled = disabled;
      this.box.hidden = disabled;
    }
  }

  window.tinglu.ExportMenu = ExportMenu;
})();
