// What people have written about the opened recording: its tags and its note; its name can be changed.
(() => {
  "use strict";
  const { t, el, day, define, find, tagField, nameField } = window.tinglu;

  const LONGEST_NOTE = 20000; // characters

  class About {
    constructor({ root, props }) {
      this.list = props.list;
      this.row = null;
      this.known = [];
      this.tags = el("span", { class: "tl-about-tags" });
      this.input = tagField((name) => this.tag({ add: [name] }), () => this.known, { has: () => this.row.tags });
      this.input.field.addEventListener("focus", () => this.learn());
      this.rename = el("button", { type: "button", class: "tl-link", "data-do": "rename", text: t("history.rename"), onclick: () => this.editName() });
      this.name = el("span", { class: "tl-about-name" });
      this.note = el("div", { class: "tl-about-note" });
      this.hint = el("p", { class: "tl-muted tl-about-hint" });
      root.className = "tl-root tl-card tl-about-card";
      root.setAttribute("role", "group");
      root.setAttribute("aria-label", t("about.title"));
      root.append(el("div", { class: "tl-about-line" }, this.tags, this.input.root, el("span", { class: "tl-space" }), this.rename, this.name), this.note, this.hint);
      this.root = root;
      root.hidden = true;
    }

    get history() {
      return find(this.list);
    }

    update({ row }) {
      this.row = row;
      this.root.hidden = !row;
      if (!row) return;
      this.history.openedElsewhere(row.id);
      this.draw();
    }

    /** Recordings that are otherwise now. */
    changed(rows) {
      const now = rows.find((row) => this.row && row.id === this.row.id);
      if (!now) return;
      this.row = now;
      this.draw();
    }

    /** A tag that is called otherwise now, or is gone (`null`). */
    retag(was, now) {
      if (!this.row || !this.row.tags.includes(was)) return;
      const others = this.row.tags.filter((tag) => tag !== was && tag !== now);
      this.changed([{ ...this.row, tags: now ? [...others, now].sort() : others }]);
    }

    async learn() {
      const answer = await this.history.act("tags");
      if (!answer) return;
      this.known = answer.tags;
      if (document.activeElement === this.input.field) this.input.field.dispatchEvent(new Event("input"));
    }

    draw() {
      const { row } = this;
      this.name.replaceChildren();
      this.rename.hidden = false;
      this.tags.replaceChildren(...row.tags.map((tag) => el("span", { class: "tl-tag tl-tag-own" }, el("bdi", { title: tag, text: tag }),
        el("button", { type: "button", text: "×", "aria-label": t("tags.take_name", { name: tag }), onclick: () => this.drop(tag) }))));
      if (!this.note.querySelector("textarea")) this.drawNote();
      const removed = row.audio_removed_ms ? t("about.no_sound", { day: day(row.audio_removed_ms).slice(0, 10) }) : "";
      this.hint.textContent = row.deleted_ms ? t("about.in_bin") : removed;
      this.hint.hidden = !this.hint.textContent;
    }

    drawNote() {
      const { note } = this.row;
      const focused = this.note.contains(document.activeElement);
      this.note.replaceChildren(note
        ? el("button", { type: "button", class: "tl-about-text", dir: "auto", title: t("about.edit_note"), text: note, onclick: () => this.editNote() })
        : el("button", { type: "button", class: "tl-link", "data-do": "note", text: t("about.add_note"), onclick: () => this.editNote() }));
      if (focused) this.note.firstChild.focus();
    }

    /** `typed` is what could not be saved before. */
    editNote(typed = null) {
      const { row } = this;
      let over = false;
      const end = async (save) => {
        if (over) return;
        over = true;
        const text = field.value.trim();
        if (this.row && this.row.id === row.id) this.drawNote();
        if (!save || text === row.note) return;
        const answer = await this.history.changed(await this.history.act("note", { id: row.id, note: text }));
        if (!answer && this.row && this.row.id === row.id && !this.note.querySelector("textarea")) this.editNote(text);
      };
      const field = el("textarea", { class: "tl-field", rows: 3, maxlength: LONGEST_NOTE, dir: "auto", "aria-label": t("about.note"), placeholder: t("about.note_hint"), onblur: () => end(true),
        onkeydown: (event) => {
          if (event.isComposing) return;
          const save = event.key === "Enter" && (event.ctrlKey || event.metaKey);
          if (!save && event.key !== "Escape") return;
          event.preventDefault();
          end(save);
          this.note.firstChild.focus();
        } });
      field.value = typed ?? row.note;
      this.note.replaceChildren(field);
      if (typed === null) field.focus();
    }

    editName() {
      const { row } = this;
      this.rename.hidden = true;
      this.name.replaceChildren(nameField(row.name, t("history.rename"), (name) => {
        this.name.replaceChildren();
        this.rename.hidden = false;
        if (name) this.history.rename(row, name);
      }));
    }

    async drop(tag) {
      await this.tag({ remove: [tag] });
      this.input.field.focus();
    }

    async tag(change) {
      const answer = await this.history.changed(await this.history.act("tag", { ids: [this.row.id], ...change }));
      if (answer) this.known = answer.tags;
    }
  }

  define("about", (context) => new About(context));
})();
