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
      this.root = el("section", { class: "tl-box tl-conflict", role: "alertdialog", "aria-label": t("conflict"), hidden: true });
    }

    close() {
      this.root.hidden = true;
    }

    /** Another tab or person may have edited while this page was out of sight. */
    async look() {
      const { log } = this.editor;
      const { session } = log;
      if (!session || log.busy || this.editor.unsaved || !this.host.root.isConnected) return;
      const where = await log.ask({ op: "open", recording: session.recording });
      if (!where || where.error || session.closed || where.stamp === session.stamp || this.editor.unsaved || log.busy) return;
      if (await this.reload()) this.editor.say(t("conflict.loaded"));
    }

    /** Load the transcript as it is now; false where that cannot be had. */
    async reload() {
      const { log } = this.editor;
      const { session } = log;
      for (let load = 0; load < MOST_LOADS; load += 1) {
        const view = await log.ask({ op: "load", recording: session.recording });
        const where = await log.ask({ op: "open", recording: session.recording });
        if (!view || !where || view.error || where.error || session.closed) return false;
        if (view.revision !== where.revision) continue;
        await this.editor.settled();
        Object.assign(session, { stamp: where.stamp, can_undo: where.can_undo, can_redo: where.can_redo });
        this.replace(view);
        return true;
      }
      return false;
    }

    replace(view) {
      const { host, editor } = this;
      const active = editor.active ? host.lines.indexOf(editor.active) : -1;
      editor.stash();
      host.view = { ...host.view, ...view };
      host.list.show(view.lines, true);
      editor.log.session.lines = host.lines;
      host.list.at = Math.min(Math.max(0, active), view.lines.length - 1);
      host.draw();
      editor.drawUndo();
    }

    /** An edit was refused because of another one. Resolves to whether it may be tried again. */
    async meet(error, data) {
      const { editor, host } = this;
      const { saving } = editor;
      const changes = error.details.changes || [];
      const typed = editor.draft ? { draft: editor.draft, text: editor.text(), chosen: caret.selectionIn(editor.draft.entry.text), index: host.lines.indexOf(editor.draft.line) } : null;
      if (!(await this.reload())) {
        editor.refused(error);
        return false;
      }
      if (typed && typed.draft.line) this.reopen(typed, changes);
      if (data.op !== "text") {
        editor.say(t("conflict.again"));
        return false;
      }
      const { position, touched } = follow(data.position, changes);
      const line = error.details.reason === "replaced" ? undefined : host.lines[position];
      const theirs = line ? textOf(line) : "";
      if (line && !touched && theirs === data.base) {
        saving.line = line;
        return true;
      }
      const mine = typed && typed.draft === saving ? typed.text : data.text;
      if (theirs === mine) editor.state("saved");
      else this.show({ mine, theirs, line, error });
      return false;
    }

    /** The sentence that was being edited is open again, with what was typed since. */
    reopen({ text, chosen, index }, changes) {
      const { editor, host } = this;
      const { position, touched } = follow(index, changes);
      if (touched || !host.lines[position]) return;
      editor.begin(position);
      if (editor.text() !== text) editor.draft.entry.text.textContent = text;
      if (chosen) caret.select(editor.draft.entry.text, ...chosen);
    }

    show({ mine, theirs, line, error }) {
      const { editor } = this;
      const done = () => {
        this.close();
        editor.forget();
        editor.state("saved");
      };
      const keepMine = async () => {
        done();
        await editor.save({ line, base: theirs }, mine);
      };
      const details = (error && error.details) || {};
      const when = details.time_ms ? t("conflict.when", { who: details.who || t("conflict.somebody"), time: day(details.time_ms) }) : "";
      const side = (key, text) => el("div", { class: "tl-conflict-side" }, el("strong", { text: t(key) }), el("p", { text: text || t("conflict.gone") }));
      const use = el("button", { type: "button", class: "tl-button tl-strong", text: t("conflict.use_mine"), disabled: !line, onclick: keepMine });
      const take = el("button", { type: "button", class: "tl-button", text: t("conflict.use_theirs"), onclick: done });
      this.root.replaceChildren(el("p", {}, el("strong", { text: t("conflict") }), " ", when),
        el("div", { class: "tl-conflict-texts" }, side("conflict.mine", mine), side("conflict.theirs", theirs)),
        el("div", { class: "tl-find-row" }, use, take,
          el("button", { type: "button", class: "tl-button", text: t("conflict.copy"), onclick: () => window.tinglu.copyText(mine) })));
      this.root.hidden = false;
      editor.state("conflict");
      editor.end();
      (line ? use : take).focus();
      this.root.scrollIntoView({ block: "nearest" });
    }
  }

  window.tinglu.EditorConflict = EditorConflict;
})();
