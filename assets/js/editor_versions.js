// Versions of a transcript: name one, see what changed since, go back to it.
(() => {
  "use strict";
  const { t, el, day, stamp } = window.tinglu;

  const TAGS = { insert: "ins", delete: "del", equal: "span" };

  class EditorVersions {
    constructor(editor) {
      this.editor = editor;
      this.name = el("input", { type: "text", class: "tl-field", maxlength: 100, placeholder: t("versions.name"), "aria-label": t("versions.name"), autocomplete: "off" });
      this.list = el("ul", { class: "tl-version-list", "aria-label": t("versions") });
      this.told = el("p", { class: "tl-told", role: "status" });
      this.changes = el("ol", { class: "tl-preview", "aria-label": t("versions.changes") });
      const form = el("form", { class: "tl-find-row", onsubmit: (event) => this.keep(event) }, this.name, el("button", { class: "tl-button", text: t("versions.keep") }));
      this.root = el("section", { class: "tl-box", "aria-label": t("versions"), hidden: true },
        el("div", { class: "tl-find-row" }, el("strong", { text: t("versions") }), el("span", { class: "tl-space" }),
          el("button", { type: "button", class: "tl-icon", text: "×", "aria-label": t("close"), title: t("close"), onclick: () => this.close() })),
        form, this.list, this.told, this.changes);
      this.root.addEventListener("keydown", (event) => {
        if (event.key !== "Escape" || event.isComposing) return;
        event.stopPropagation();
        this.close();
        editor.host.list.focus(editor.host.list.at);
      });
    }

    toggle() {
      if (this.root.hidden) this.open();
      else this.close();
    }

    close() {
      this.root.hidden = true;
      this.changes.replaceChildren();
      this.told.textContent = "";
    }

    async open() {
      await this.editor.flush();
      const found = await this.editor.log.question("versions");
      if (!found) return;
      this.root.hidden = false;
      this.show(found.versions);
      this.name.focus();
    }

    /** After an edit another version is the current one. */
    async refresh() {
      const found = this.root.hidden ? null : await this.editor.log.question("versions");
      if (found) this.show(found.versions);
    }

    show(versions) {
      this.list.replaceChildren(...versions.map((version) => this.row(version)));
    }

    row({ revision, name, created_ms: made, current }) {
      const title = name || t("versions.recognized");
      const button = (key, act) => el("button", { type: "button", class: "tl-button", text: t(key), "aria-label": t(`${key}_of`, { name: title }), onclick: act });
      return el("li", {}, el("span", { class: "tl-version-name", text: title }), el("span", { class: "tl-muted", text: day(made) }),
        current ? el("span", { class: "tl-badge", text: t("versions.now") }) : null, el("span", { class: "tl-space" }),
        current ? null : button("versions.diff", () => this.diff(revision, title)), current ? null : button("versions.restore", () => this.restore(revision)));
    }

    async keep(event) {
      event.preventDefault();
      await this.editor.flush();
      const found = await this.editor.log.question("name", { name: this.name.value });
      if (!found) return;
      this.name.value = "";
      this.show(found.versions);
      this.told.textContent = t("versions.kept");
    }

    /** What changed from a version to the text as it is now. */
    async diff(revision, name) {
      await this.editor.flush();
      const now = await this.editor.log.question("open");
      const found = now && (await this.editor.log.question("diff", { before: revision, after: now.revision }));
      if (!found) return;
      this.told.textContent = t("versions.changed", { name, count: found.differences.length });
      this.changes.replaceChildren(...found.differences.map(({ start, who, pieces }) =>
        el("li", {}, el("time", { text: stamp(start) }), el("p", {},
          who[0] !== who[1] ? el("span", { class: "tl-muted", text: t("versions.who", { before: who[0] || "–", after: who[1] || "–" }) }) : null,
          ...pieces.map(([kind, text]) => el(TAGS[kind], { text }))))));
    }

    async restore(revision) {
      await this.editor.flush();
      const answer = await this.editor.log.run(() => ({ op: "restore", revision }));
      if (!answer) return;
      await this.open();
      this.changes.replaceChildren();
      this.told.textContent = t("versions.restored");
    }
  }

  window.tinglu.EditorVersions = EditorVersions;
})();
