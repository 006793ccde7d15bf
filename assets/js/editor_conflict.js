// Somebody else changed the transcript meanwhile: both texts are shown, and one is chosen.
(() => {
  "use strict";
  const { t, el, caret, textOf, day } = window.tinglu;

  const MOST_LOADS = 3; // of a text that goes on changing

  /** Where a sentence stands after `[first, removed, added]` changes, and whether one touched it. */
  function follow(position, changes) {
    let touched = false;
    for (const [first, removed, added] of changes) {
      if (position >= first + removed) position += added - removed;
      else if (position >= first) {
        touched = true;
        position = first + Math.min(position - first, Math.max(0, added - 1));
      }
    }
    return { position, touched };
  }

  class EditorConflict {
    constructor(editor) {
      this.editor = editor;
      this.host = editor.host;
      this.shown = []; // what waits to be chosen; the first one is in sight
      this.root = el("section", { class: "tl-box tl-conflict", role: "alertdialog", "aria-label": t("conflict"), hidden: true });
    }

    get isOpen() {
      return !this.root.hidden;
    }

    close() {
      this.root.hidden = true;
      for (const { draft } of this.shown) this.editor.drafts.delete(draft);
      this.shown = [];
    }

    /** Another tab or person may have edited while this page was out of sight. */
    async look() {
      const { log } = this.editor;
      const { session } = log;
      if (!session || log.busy || this.editor.unsaved || this.isOpen || !this.host.root.isConnected) return;
      const where = await log.ask({ op: "open", recording: session.recording });
      if (!where || where.error || session.closed || where.stamp === session.stamp || this.editor.unsaved || log.busy) return;
      if (await this.reload({ wanted: () => !this.editor.unsaved && !log.busy })) this.editor.say(t("conflict.loaded"));
    }

    /**
     * Load the transcript as it is now, if it is still `wanted` when it has come; `changes` lead
     * to it where they are known. Resolves to what was being typed then (see `replace`), or to
     * `null` where nothing was loaded.
     */
    async reload({ wanted = () => true, changes = null } = {}) {
      const { log } = this.editor;
      const { session } = log;
      for (let load = 0; load < MOST_LOADS; load += 1) {
        const view = await log.ask({ op: "load", recording: session.recording });
        const where = await log.ask({ op: "open", recording: session.recording });
        if (!view || !where || view.error || where.error || session.closed) return null;
        if (view.revision !== where.revision) continue;
        await this.editor.settled();
        if (session.closed || !wanted()) return null;
        Object.assign(session, { stamp: where.stamp, can_undo: where.can_undo, can_redo: where.can_redo });
        return this.replace(view, changes);
      }
      return null;
    }

    /** Show other lines. Returns `{draft, text, base, chosen}` of the field that was closed; without one no draft. */
    replace(view, changes) {
      const { host, editor } = this;
      const { lines } = host;
      const { draft } = editor;
      const active = draft ? host.lines.indexOf(draft.line) : -1;
      const held = draft ? { draft, text: editor.text(), base: draft.base, chosen: caret.selectionIn(draft.entry.text) } : { draft: null };
      editor.stash();
      host.view = { ...host.view, ...view };
      host.list.show(view.lines, true);
      editor.log.session.lines = host.lines;
      host.list.at = Math.min(Math.max(0, active), view.lines.length - 1);
      host.draw();
      for (const one of editor.drafts) this.move(one, lines, changes);
      host.list.refresh();
      if (this.isOpen) this.draw();
      editor.drawUndo();
      return held;
    }

    /** What waits to be saved is about the sentence of the new lines, if nobody else has touched it. */
    move(draft, before, changes) {
      const { lines } = this.host;
      const old = draft.line;
      if (!old) return;
      const { position, touched } = changes ? follow(before.indexOf(old), changes)
        : { position: lines.findIndex((line) => line.start === old.start && textOf(line) === textOf(old)), touched: false };
      const line = lines[position];
      const isAsked = this.shown.some((one) => one.draft === draft);
      const isSame = Boolean(line) && !touched && textOf(line) === textOf(old);
      draft.moved = line;
      draft.line = isSame || isAsked ? line : null;
    }

    /** An edit was refused because of another one. Resolves to whether it may be tried again. */
    async meet(error, data) {
      const { editor, host } = this;
      const { saving } = editor;
      const changes = error.details.changes || [];
      const replaced = error.details.reason === "replaced";
      const held = await this.reload({ changes: replaced ? null : changes });
      if (!held) {
        editor.refused(error, data);
        return false;
      }
      const isOpen = held.draft && this.reopen(held);
      const isSaving = data.op === "text" && held.draft === saving;
      if (held.draft && !isOpen && !isSaving && held.text !== held.base) {
        editor.unsent.drop(held.draft);
        this.show({ mine: held.text, line: held.draft.moved, error });
      }
      if (data.op !== "text") {
        editor.say(t("conflict.again"));
        return false;
      }
      const { position, touched } = follow(data.position, changes);
      const line = replaced ? undefined : host.lines[position];
      const theirs = line ? textOf(line) : "";
      if (line && !touched && theirs === data.base) {
        saving.line = line;
        return true;
      }
      const mine = isSaving ? held.text : data.text;
      editor.unsent.drop(saving);
      if (theirs === mine) editor.state("saved");
      else this.show({ mine, line, error });
      return false;
    }

    /** The sentence that was being edited is open again, with what was typed since; false where it was changed. */
    reopen({ draft, text, base, chosen }) {
      const { editor, host } = this;
      if (!draft.line) return false;
      editor.unsent.drop(draft);
      editor.begin(host.lines.indexOf(draft.line));
      if (!editor.draft) return false;
      if (editor.text() !== text) editor.draft.entry.text.textContent = text;
      if (text !== base) editor.unsent.keep(editor.log.session, editor.draft, text);
      if (chosen) caret.select(editor.draft.entry.text, ...chosen);
      return true;
    }

    /**
     * Let people choose between their text and the kept one; several come one after the other.
     *
     * `line` is the sentence, none where it is gone; `refusal` says why nothing was saved.
     */
    show({ mine, line, error, refusal = "" }) {
      const draft = { line };
      this.editor.drafts.add(draft); // the line is followed through other edits
      this.editor.unsent.keep(this.editor.log.session, draft, mine, true);
      this.shown.push({ draft, mine, error, refusal });
      if (this.shown.length === 1) this.draw();
    }

    draw() {
      const { editor } = this;
      const [{ draft, mine, error, refusal }] = this.shown;
      const line = draft.line || null;
      const theirs = line ? textOf(line) : "";
      const done = () => {
        this.shown.shift();
        this.root.hidden = true;
        editor.drafts.delete(draft);
        editor.unsent.drop(draft);
        editor.state("saved");
        if (this.shown.length) this.draw();
        else if (!editor.typing) this.host.list.focus(draft.line ? this.host.lines.indexOf(draft.line) : this.host.list.at);
      };
      const keepMine = async () => {
        draft.base = draft.line ? textOf(draft.line) : "";
        done();
        await editor.save(draft, mine);
      };
      const details = (error && error.details) || {};
      const when = details.time_ms ? t("conflict.when", { who: details.who || t("conflict.somebody"), time: day(details.time_ms) }) : "";
      const side = (key, text) => el("div", { class: "tl-conflict-side" }, el("strong", { text: t(key) }), el("p", { text: text || t("conflict.gone") }));
      const copy = el("button", { type: "button", class: "tl-button", text: t("conflict.copy"), onclick: async () => {
        copy.textContent = t(await window.tinglu.copyText(mine));
      } });
      const use = el("button", { type: "button", class: "tl-button tl-strong", text: t("conflict.use_mine"), disabled: !line, onclick: keepMine });
      const take = el("button", { type: "button", class: "tl-button", text: t("conflict.use_theirs"), onclick: done });
      this.root.replaceChildren(el("p", {}, el("strong", { text: t(refusal ? "conflict.refused" : "conflict") }), " ", refusal || when),
        el("div", { class: "tl-conflict-texts" }, side("conflict.mine", mine), side("conflict.theirs", theirs)),
        el("div", { class: "tl-find-row" }, use, take, copy));
      this.root.hidden = false;
      editor.state(refusal ? "dirty" : "conflict");
      if (refusal) return; // it does not take the keys of whoever types on
      editor.end();
      (line ? use : take).focus();
      this.root.scrollIntoView({ block: "nearest" });
    }
  }

  window.tinglu.EditorConflict = EditorConflict;
})();
