// The editor of a transcript: one sentence at a time is a text field; every edit is the server's.
(() => {
  "use strict";
  const { t, el, caret, textOf, isDoubtful, EditLog, EditorDrafts, EditorFind, EditorVersions, EditorPart, EditorSpeakers, EditorConflict, EditorKeys } = window.tinglu;

  const AUTOSAVE_MS = 900; // after the last letter
  const LANGUAGE = "zh-CN"; // of what is edited, for screen readers and fonts

  /** What one text has more than another, if it was put in at one place. */
  function typedIn(before, now) {
    let start = 0;
    while (start < before.length && before[start] === now[start]) start += 1;
    const tail = before.length - start;
    return now.length > before.length && now.endsWith(before.slice(start)) ? now.slice(start, now.length - tail) : "";
  }

  class Editor {
    constructor(host) {
      this.host = host;
      this.draft = null; // {line, base, entry, composing}
      this.drafts = new Set(); // whose saves are under way, and the one above
      this.unsent = new EditorDrafts();
      this.isOffline = false;
      this.log = new EditLog(host.server, {
        state: (word) => this.state(word),
        applied: (answer, data, session) => this.applied(answer, data, session),
        refused: (error, data) => this.refused(error, data),
        conflict: (error, data) => this.conflict.meet(error, data),
      });
      this.saved = el("span", { class: "tl-saved", role: "status", "aria-live": "polite" });
      this.find = new EditorFind(this);
      this.versions = new EditorVersions(this);
      this.part = new EditorPart(this);
      this.speakers = new EditorSpeakers(this);
      this.conflict = new EditorConflict(this);
      this.keys = new EditorKeys(this);
      const button = (key, act, text = t(key)) => el("button", { type: "button", class: "tl-button", text, title: this.keys.titled(key), "aria-label": t(key),
        onpointerdown: (event) => event.preventDefault(), onclick: act });
      this.undoButton = button("edit.undo", () => this.undo(), "↶");
      this.redoButton = button("edit.redo", () => this.redo(), "↷");
      this.tools = el("div", { class: "tl-edit-tools", role: "toolbar", "aria-label": t("edit"), hidden: true }, this.undoButton, this.redoButton,
        button("edit.confirm", () => this.confirm()), button("find", () => this.find.open()), button("versions", () => this.versions.toggle()),
        button("keys", () => this.keys.toggle(), "?"));
      this.panels = [this.conflict.root, this.find.root, this.speakers.root, this.part.root, this.versions.root, this.keys.root];
      this.listen();
    }

    listen() {
      const { body } = this.host.list;
      const active = (act) => (event) => this.draft && event.target === this.draft.entry.text && act(event);
      body.addEventListener("input", active((event) => this.typed(event)));
      body.addEventListener("compositionstart", active(() => { this.draft.composing = true; }));
      body.addEventListener("compositionend", active(() => {
        this.draft.composing = false;
        this.typed({});
      }));
      body.addEventListener("beforeinput", active((event) => this.before(event)));
      body.addEventListener("paste", active((event) => this.paste(event)));
      body.addEventListener("drop", active((event) => event.preventDefault()));
      body.addEventListener("focusout", active(() => this.left()));
      body.addEventListener("click", (event) => {
        if (event.target.closest("button.tl-who")) this.speakers.open(this.host.list.indexOf(event.target));
      });
      window.addEventListener("beforeunload", (event) => {
        this.flush();
        if (this.unsaved) event.preventDefault();
      });
      window.addEventListener("pagehide", () => this.flush());
      document.addEventListener("visibilitychange", () => (document.hidden ? this.flush() : this.conflict.look()));
    }

    // Beginning and end of a recording.
    async open(view) {
      const recording = view.recording;
      const where = await this.log.ask({ op: "open", recording });
      if (!where || where.error || this.host.view !== view) return;
      if (where.revision !== view.revision) {
        const fresh = await this.log.ask({ op: "load", recording });
        if (fresh && !fresh.error && this.host.view === view) this.host.update(fresh);
        return;
      }
      this.log.start(recording, where, this.host.lines);
      this.tools.hidden = false;
      this.saved.textContent = "";
      this.host.setEditable(true);
      this.drawUndo();
      this.recall();
    }

    /** Before other lines are shown: what was typed is sent first. */
    leave() {
      this.end();
      for (const panel of [this.find, this.versions, this.part, this.speakers, this.conflict]) panel.close();
      this.log.stop();
      this.tools.hidden = true;
      if (this.host.editable) this.host.setEditable(false);
    }

    // One sentence as a text field.
    get active() {
      return this.draft && this.draft.line;
    }

    get typing() {
      return Boolean(this.draft);
    }

    get unsaved() {
      return this.log.busy || Boolean(this.draft && this.text() !== this.draft.base);
    }

    /**
     * Edit a sentence.
     *
     * `event` is the click that began it; without one the caret goes to `place`, in UTF-16 units.
     */
    begin(index, event = null, place = 0) {
      const { host } = this;
      const { list } = host;
      const line = list.lines[index];
      if (!host.editable || !line) return;
      if (host.form !== "written") {
        this.say(t("edit.spoken"));
        return;
      }
      if (this.active !== line) {
        this.end();
        list.at = index;
        list.pinned = line;
        list.refresh(index);
        list.reveal(index);
        const entry = list.entry(index);
        if (!entry) return;
        this.draft = { line, base: this.unsent.waiting(line) ?? textOf(line), entry, composing: false };
        this.drafts.add(this.draft);
        this.openField(entry);
      }
      const { text } = this.draft.entry;
      text.focus({ preventScroll: true });
      if (!event || !caret.selectAt(text, event.clientX, event.clientY)) {
        const length = text.textContent.length;
        if (!event || document.activeElement !== text || !caret.selectionIn(text)) caret.select(text, Math.min(place, length));
      }
    }

    openField({ node, text }) {
      text.setAttribute("contenteditable", "plaintext-only");
      if (text.contentEditable !== "plaintext-only") text.setAttribute("contenteditable", "true");
      const more = { role: "textbox", "aria-multiline": "false", "aria-label": t("edit.sentence"), lang: LANGUAGE, spellcheck: "false", enterkeyhint: "enter" };
      for (const [name, value] of Object.entries(more)) text.setAttribute(name, value);
      node.classList.add("tl-editing");
    }

    /** Close the field; what was typed is saved. */
    end() {
      const { draft } = this;
      if (!draft) return;
      const { list } = this.host;
      this.flush(true);
      this.draft = null;
      list.pinned = null;
      const { node, text } = draft.entry;
      for (const name of ["contenteditable", "role", "aria-multiline", "aria-label", "lang", "spellcheck", "enterkeyhint"]) text.removeAttribute(name);
      node.classList.remove("tl-editing");
      if (document.activeElement === text) text.blur();
      if (!this.log.busy || !draft.line) this.drafts.delete(draft);
      list.refresh(list.lines.indexOf(draft.line));
    }

    /** Close the field because other lines come; nothing is sent. */
    stash() {
      if (!this.draft) return;
      this.draft.base = this.text();
      this.end();
    }

    /** Resolves when no word is being composed any more. */
    settled() {
      if (!this.draft || !this.draft.composing) return Promise.resolve();
      const { text } = this.draft.entry;
      return new Promise((resolve) => {
        text.addEventListener("compositionend", () => setTimeout(resolve), { once: true });
      });
    }

    left() {
      if (document.hasFocus()) this.end();
      else this.flush();
    }

    text() {
      return this.draft.entry.text.textContent.replace(/[\r\n]+/g, " ");
    }

    /** Nothing but plain text on one line gets in; undo is the server's. */
    before(event) {
      if (event.inputType === "historyUndo") this.undo();
      else if (event.inputType === "historyRedo") this.redo();
      else if (!/^(format|insertParagraph|insertLineBreak)/.test(event.inputType)) return;
      event.preventDefault();
    }

    paste(event) {
      event.preventDefault();
      const text = event.clipboardData.getData("text/plain").replace(/\s*[\r\n]+\s*/g, " ");
      document.execCommand("insertText", false, text);
    }

    typed(event) {
      const { draft } = this;
      if (draft.composing || event.isComposing) return;
      clearTimeout(this.timer);
      const text = this.text();
      const { session } = this.log;
      if (text === draft.base) {
        // What was sent before may still be on its way.
        if (this.log.busy && this.unsent.has(draft)) this.unsent.keep(session, draft, text);
        else this.unsent.drop(draft);
        return;
      }
      this.state(this.isOffline ? "offline" : "dirty");
      this.unsent.keep(session, draft, text);
      this.timer = setTimeout(() => this.flush(), AUTOSAVE_MS);
      this.host.list.later();
    }

    /** What a page that was closed too early has left behind. */
    recall() {
      const { session } = this.log;
      let saved = 0;
      for (const { position, base, text } of this.unsent.recall(session)) {
        const line = this.host.lines[position];
        const now = line ? textOf(line) : "";
        if (now === text) continue;
        if (now === base) {
          this.save({ line, base: now }, text);
          saved += 1;
        } else this.conflict.show({ mine: text, line });
      }
      this.unsent.store(session);
      if (saved) window.tinglu.toast(t("edit.recalled", { count: saved }));
    }

    /**
     * Send what was typed, if anything. A sentence that was emptied goes with `leaving` only.
     */
    flush(leaving = false) {
      clearTimeout(this.timer);
      const { draft } = this;
      if (!draft || draft.composing) return Promise.resolve(null);
      const text = this.text();
      if (text === draft.base || (!text.trim() && !leaving)) return Promise.resolve(null);
      return this.save(draft, text);
    }

    async save(draft, text) {
      const { base } = draft;
      const { session } = this.log;
      let gone = false;
      draft.base = text; // what the server is about to have
      this.drafts.add(draft);
      this.unsent.keep(session, draft, text);
      const answer = await this.log.run(({ lines }) => {
        const position = lines.indexOf(draft.line);
        this.saving = draft;
        gone = position < 0;
        return gone ? null : { op: "text", position, text, base };
      });
      if (!answer) draft.base = base;
      if (draft !== this.draft) this.drafts.delete(draft);
      if (gone && session && !session.closed) {
        this.unsent.drop(draft);
        this.conflict.show({ mine: text, line: draft.moved });
      }
      return answer;
    }

    // What the server says.
    state(word) {
      if (word === "offline" || word === "saved") this.isOffline = word === "offline";
      const unsaved = this.draft && !this.draft.composing && this.text() !== this.draft.base;
      const shown = word === "saved" && unsaved ? "dirty" : word;
      this.saved.className = `tl-saved tl-saved-${shown}`;
      this.saved.textContent = t(`saved.${shown}`);
    }

    /** What was typed stays where it can be seen: in its field, or beside what is kept. */
    refused(error, data = {}) {
      const isNothing = error.details && error.details.reason === "nothing";
      const draft = data.op === "text" && !isNothing ? this.saving : null;
      if (draft) draft.base = data.base;
      if (data.op === "text" && isNothing) this.unsent.done(this.saving, data.text);
      else if (data.op === "text" && this.saving !== this.draft) this.unsent.drop(this.saving);
      if (data.op) this.state(draft ? "dirty" : "saved");
      if (isNothing) return;
      this.say(error.code === "offline" ? t("saved.offline") : error.text);
      if (draft && draft !== this.draft) this.conflict.show({ mine: data.text, line: draft.line, refusal: error.text });
    }

    say(text) {
      window.tinglu.say(text);
    }

    applied(answer, data, session) {
      const { list } = this.host;
      const focused = session.closed ? -1 : list.indexOf(document.activeElement);
      for (const [first, removed, fresh] of answer.changes) {
        const old = session.lines.slice(first, first + removed);
        for (const draft of this.drafts) {
          const place = old.indexOf(draft.line);
          if (place >= 0) draft.line = removed === fresh.length ? fresh[place] : null;
        }
        if (this.draft && !this.draft.line) this.overtaken();
        if (session.closed) session.lines.splice(first, removed, ...fresh);
        else list.splice(first, removed, fresh);
      }
      if (data.op === "text") this.unsent.done(this.saving, data.text);
      if (session.closed) return;
      if (this.draft && !this.draft.line) this.end();
      else if (this.draft) this.redraw(data);
      list.render();
      // The keys stay the editor's where the sentence that had them is gone.
      if (focused >= 0 && !this.typing && document.activeElement === document.body) list.focus(Math.min(focused, list.lines.length - 1));
      this.drawUndo();
      this.host.changed(answer.words);
    }

    /** The sentence that is edited is gone; nothing of the field is sent, whatever closes it. */
    overtaken() {
      const { draft } = this;
      this.late ||= typedIn(draft.base, this.text());
      draft.base = this.text();
    }

    /** The pieces of the sentence that is edited, as the server cut them; the caret stays. */
    redraw(data) {
      const { draft } = this;
      const { list } = this.host;
      const now = textOf(draft.line);
      const index = list.lines.indexOf(draft.line);
      if (this.text() !== now) {
        if (data.op === "text" || this.text() !== draft.base) return; // typed meanwhile
      }
      draft.base = now;
      if (draft.composing) return;
      const chosen = caret.selectionIn(draft.entry.text);
      const nodes = window.tinglu.pieceNodes(draft.line.written, true, this.host.threshold);
      draft.entry.text.replaceChildren(...nodes);
      draft.entry.stale = false;
      list.refresh(index);
      if (chosen && document.activeElement === draft.entry.text) caret.select(draft.entry.text, ...chosen);
    }

    drawUndo() {
      const { session } = this.log;
      this.undoButton.disabled = !session || !session.can_undo;
      this.redoButton.disabled = !session || !session.can_redo;
    }

    // What can be done to sentences.
    async undo() {
      await this.step("undo");
    }

    async redo() {
      await this.step("redo");
    }

    async step(op) {
      this.flush(true);
      const answer = await this.log.run(() => ({ op }));
      if (!answer || !answer.changes.length) return;
      const index = Math.min(answer.changes[0][0], this.host.lines.length - 1);
      if (index >= 0) this.host.list.reveal(index);
      if (index >= 0 && !this.typing) this.host.list.focus(index);
    }

    /** In front of the caret a new sentence begins. */
    async split() {
      const { draft } = this;
      const chosen = draft && caret.selectionIn(draft.entry.text);
      if (!chosen) return;
      const text = this.text();
      this.flush();
      this.late = "";
      const answer = await this.log.run(({ lines }) => {
        const position = lines.indexOf(draft.line);
        return position < 0 ? null : { op: "split", position, offset: caret.toCharacters(text, chosen[0]) };
      });
      if (answer) this.resume(answer.changes[0][0] + 1, 0);
    }

    /** Go on typing at a place, where what was typed while the server worked is put in. */
    resume(index, place) {
      this.begin(index, null, place);
      if (this.late && this.draft) document.execCommand("insertText", false, this.late);
      this.late = "";
    }

    /** Join a sentence to the one before it. */
    async merge(index = this.index()) {
      const { lines } = this.host;
      if (index < 1) return;
      const before = lines[index - 1];
      const draft = this.draft || { line: lines[index] };
      const { typing } = this;
      const isBlank = typing && !this.text().trim();
      const saved = this.flush(true);
      if (isBlank) { // it goes, and nothing is left to join
        await saved;
        this.begin(this.host.lines.indexOf(before), null, Infinity);
        return;
      }
      this.late = "";
      const answer = await this.log.run(({ lines }) => {
        const position = lines.indexOf(before);
        return position < 0 || !draft.line || lines[position + 1] !== draft.line ? null : { op: "merge", position, count: 2 };
      });
      if (!answer) return;
      const first = answer.changes[0][0];
      if (typing) this.resume(first, textOf(before).length);
      else this.host.list.focus(first);
    }

    /** The doubtful word at the caret is right, or all of the sentence; then comes the next one. */
    async confirm() {
      const index = this.index();
      const line = this.host.lines[index];
      if (!line || !this.host.editable) return;
      this.flush();
      const place = this.draft ? caret.selectionIn(this.draft.entry.text) : null;
      const doubtful = this.doubts(line);
      const chosen = place ? doubtful.filter((one) => one.end >= place[0] && one.start <= place[1]) : [];
      const words = (chosen.length ? chosen : doubtful).map((one) => one.piece);
      if (words.length) {
        const { typing } = this;
        const answer = await this.log.run(({ lines }) => {
          const position = lines.findIndex((other) => other === line || (other.start === line.start && other.who === line.who));
          return position < 0 ? null : { op: "confirm", position, first: words[0][4], last: words[words.length - 1][4] };
        });
        if (!answer) return;
        const left = this.doubts(this.host.lines[index]);
        if (typing && left.length) {
          this.begin(index, null, left[0].start);
          return;
        }
      }
      this.host.nextDoubt(1);
    }

    doubts(line) {
      let at = 0;
      const found = [];
      for (const piece of line.written) {
        const start = at;
        at += piece[0].length;
        if (isDoubtful(piece, this.host.threshold)) found.push({ piece, start, end: at });
      }
      return found;
    }

    doubtAt(index) {
      const [first] = this.doubts(this.host.lines[index]);
      return first ? first.start : 0;
    }

    async drop(position, first) {
      this.flush();
      const line = this.host.lines[position];
      await this.log.run(({ lines }) => {
        const place = lines.indexOf(line);
        return place < 0 ? null : { op: "drop", position: place, first };
      });
    }

    /** The sentence that an action is about. */
    index() {
      const { list } = this.host;
      return this.draft ? list.lines.indexOf(this.draft.line) : list.at;
    }

    /** When the word at the caret begins, in ms; undefined without one. */
    wordStart() {
      const chosen = this.draft && caret.selectionIn(this.draft.entry.text);
      if (!chosen) return undefined;
      let at = 0;
      for (const piece of this.draft.line.written) {
        at += piece[0].length;
        if (chosen[0] < at) return piece[1];
      }
      return undefined;
    }
  }

  window.tinglu.Editor = Editor;
})();
