// The panel of a transcript: job line, player, tools, sentences; its editor once the job has ended.
(() => {
  "use strict";
  const { t, el, clock, define, share, JobLine, Player, LineList, WordPanel, Editor, ExportMenu, textOf, piecesOf, isDoubtful } = window.tinglu;

  const OVERLAPS = 8; // sentences that may go on while later ones begin
  const NEAR_END_PX = 80; // closer to the end than this, the list follows new sentences
  const TURN_MS = 700; // until a tab that was turned to has its size and its list
  const WAITING = ["queued", "paused", "interrupted"];
  const HINTS = { failed: "failed_hint", cancelled: "cancelled_hint" };
  const USUAL_THRESHOLD = 50; // percent
  const THRESHOLD_KEY = "tinglu-doubt";
  const SOON_MS = 300; // for what follows an edit and may be a little late

  class Transcript {
    constructor({ root, trigger, props, server, id }) {
      Object.assign(this, { root, trigger, server, id });
      this.form = "written";
      this.threshold = Number(localStorage.getItem(THRESHOLD_KEY) ?? USUAL_THRESHOLD);
      this.editable = false;
      this.view = { state: "empty" };
      this.emptyKey = props.empty;
      this.followed = Boolean(props.actions);
      this.job = new JobLine(props.actions ? (action) => this.trigger("job_act", { job: this.view.job, action }) : null);
      this.player = new Player({
        time: (ms, playing) => this.light(ms, playing),
        need: () => this.trigger("playback", { recording: this.view.recording }),
        select: (start, end) => this.editor.part.choose(start, end),
      });
      this.list = new LineList(this, { onclick: (event) => this.pick(event), onkeydown: (event) => this.key(event) });
      this.export = new ExportMenu(props, (format, options) => this.trigger("export_as", { recording: this.view.recording, format, options }));
      this.words = new WordPanel({ play: (ms) => this.player.play(ms), undo: (position, first) => this.editor.drop(position, first) });
      this.build();
      this.showForm();
      this.draw();
    }

    build() {
      const { root, player, list } = this;
      this.notes = el("div", { class: "tl-notes" });
      this.empty = el("div", { class: "tl-empty" });
      this.more = el("p", { class: "tl-listening", text: t("listening") });
      this.covers = el("div", { class: "tl-key" });
      this.forms = {};
      for (const form of ["spoken", "written"]) {
        this.forms[form] = el("button", { type: "button", text: t(form), onclick: () => this.setForm(form) });
      }
      this.doubt = el("button", { type: "button", class: "tl-button", onclick: () => this.nextDoubt(1) });
      this.percent = el("output", { class: "tl-doubt-percent" });
      this.slider = el("input", { type: "range", min: 0, max: 100, step: 5, class: "tl-doubt-slider", "aria-label": t("doubt.threshold"), title: t("doubt.threshold"),
        oninput: () => this.setThreshold(Number(this.slider.value)) });
      this.doubtBox = el("div", { class: "tl-doubt" }, this.doubt, this.slider, this.percent);
      this.copyButton = el("button", { type: "button", class: "tl-button", text: t("copy"), onclick: () => this.copy() });
      this.editor = new Editor(this);
      this.tools = el("div", { class: "tl-tools" },
        el("div", { class: "tl-seg", role: "group", "aria-label": t("form") }, this.forms.spoken, this.forms.written),
        this.doubtBox, this.editor.tools, el("div", { class: "tl-out" }, this.editor.saved, this.copyButton, this.export.root));
      root.className = "tl-root tl-card tl-panel";
      root.append(this.job.root, this.notes, player.root, this.covers, this.tools, ...this.editor.panels, this.words.root, list.box, this.more, this.empty);
      this.slider.value = String(this.threshold);
      this.percent.textContent = `${this.threshold}%`;
    }

    get lines() {
      return this.list.lines;
    }

    // What other components ask.
    have(job) {
      return job && this.view.job === job ? this.lines.length : 0;
    }

    showFile(file) {
      this.player.showFile(file);
    }

    showOutline(file) {
      this.player.showOutline(file);
    }

    /** Whether it shows a job at all. */
    attached() {
      return this.view.state !== "empty";
    }

    /** News for the page's title. */
    tell() {
      if (!this.followed) return;
      const { view } = this;
      window.tinglu.news("file", view.state === "empty" ? null : { key: view.job, name: view.name, state: view.state, final: view.final, part: share(view), reason: view.error });
    }

    forget(recording) {
      if (recording === this.view.recording) this.update({ state: "empty" });
    }

    /** A recording that is called otherwise now. */
    renamed(recording, name) {
      if (recording !== this.view.recording) return;
      this.view.name = name;
      this.draw();
    }

    update(view) {
      const before = this.view;
      const same = view.state !== "empty" && view.job === before.job;
      this.editor.leave();
      this.view = view;
      const fresh = view.lines || [];
      if (!same || view.from === 0) this.list.show(fresh, same);
      else if (view.from === this.lines.length) this.append(fresh);
      this.draw();
      this.tell();
      if (view.recording && view.recording === window.tinglu.wanted) {
        setTimeout(() => this.root.scrollIntoView({ behavior: "smooth", block: "nearest" }), TURN_MS);
        window.tinglu.wanted = "";
      }
      if (view.final && this.lines.length && view.playable !== false && this.player.audioOf !== view.recording) {
        this.trigger("playback", { recording: view.recording });
        this.trigger("outline", { recording: view.recording, total_ms: this.player.total() });
      }
      if (view.final && view.revision !== undefined && this.server) this.editor.open(view);
    }

    append(fresh) {
      if (!fresh.length) return;
      const { box } = this.list;
      const follow = !this.view.final && box.scrollHeight - box.scrollTop - box.clientHeight < NEAR_END_PX;
      this.list.splice(this.lines.length, 0, fresh);
      this.list.render();
      if (follow) box.scrollTop = box.scrollHeight;
    }

    // Sentences.
    setForm(form) {
      if (form === this.form) return;
      this.editor.end();
      this.form = form;
      this.showForm();
      this.list.guess();
      this.list.refresh();
      this.editor.find.refresh();
      this.countDoubts();
    }

    showForm() {
      for (const form of ["spoken", "written"]) this.forms[form].setAttribute("aria-pressed", String(this.form === form));
    }

    setThreshold(percent) {
      this.threshold = percent;
      this.percent.textContent = `${percent}%`;
      localStorage.setItem(THRESHOLD_KEY, String(percent));
      this.list.refresh();
      this.countDoubts();
    }

    /** A click on a time plays from there; one on a word goes there, and the text can be edited. */
    pick(event) {
      const index = this.list.indexOf(event.target);
      if (index < 0 || event.target.closest("button")) return;
      const onTime = event.target.closest("time");
      if (event.shiftKey && this.editable) return this.editor.part.extend(index);
      if (!onTime && String(window.getSelection())) return undefined;
      const piece = event.target.closest("[data-start]");
      const start = piece ? Number(piece.dataset.start) : this.lines[index].start;
      if (this.editor.active !== this.lines[index]) this.list.focus(index);
      if (onTime || !this.editable) return this.player.play(start);
      this.editor.begin(index, event);
      return this.player.go(this.editor.wordStart() ?? start);
    }

    key(event) {
      if (this.editor.typing || event.ctrlKey || event.altKey || event.metaKey || event.target.closest("button")) return;
      const page = Math.max(1, Math.floor(this.list.box.clientHeight / 60));
      const step = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -this.lines.length, End: this.lines.length }[event.key];
      if (step) {
        const index = Math.min(this.lines.length - 1, Math.max(0, this.list.at + step));
        if (event.shiftKey && this.editable) this.editor.part.extend(index);
        this.list.focus(index);
      } else if (event.key === "Enter" && !this.editable) this.player.play(this.lines[this.list.at].start);
      else if (event.key === " ") this.player.playButton.click();
      else return;
      event.preventDefault();
      event.stopPropagation();
    }

    doubtsOf(line) {
      return piecesOf(line, this.form).some((piece) => isDoubtful(piece, this.threshold));
    }

    countDoubts() {
      let count = 0;
      for (const line of this.lines) if (this.doubtsOf(line)) count += 1;
      this.doubt.textContent = t("next_doubt", { count });
      this.doubt.disabled = !count;
      this.doubtBox.hidden = !this.view.final && !count;
    }

    /** The next sentence (1) with doubtful words behind this one, or the one before (-1). */
    nextDoubt(step) {
      const { lines, list } = this;
      const from = this.doubted === lines[list.at] ? list.at : list.at - step;
      for (let i = 1; i <= lines.length; i += 1) {
        const index = (((from + step * i) % lines.length) + lines.length) % lines.length;
        if (!this.doubtsOf(lines[index])) continue;
        this.doubted = lines[index];
        list.reveal(index, "center");
        if (this.editor.typing) this.editor.begin(index, null, this.editor.doubtAt(index));
        else list.focus(index);
        return;
      }
    }

    async copy() {
      const text = this.lines.map((line) => (line.who ? t("said_by", { who: line.who }) : "") + textOf(line, this.form)).join("\n");
      this.copyButton.textContent = t(await window.tinglu.copyText(text));
      setTimeout(() => (this.copyButton.textContent = t("copy")), 1600);
    }

    lineAt(ms) {
      let low = 0;
      let high = this.lines.length;
      while (low < high) {
        const middle = (low + high) >> 1;
        if (this.lines[middle].start <= ms) low = middle + 1;
        else high = middle;
      }
      // People who talk at once: the latest sentence that still goes on.
      for (let index = low - 1; index >= Math.max(0, low - OVERLAPS); index -= 1) {
        if (ms < this.lines[index].end) return index;
      }
      return -1;
    }

    light(ms, follow) {
      const index = this.lineAt(ms);
      if (index !== this.list.lit) {
        this.list.light(index);
        if (follow && index >= 0 && !this.editor.typing) this.list.reveal(index);
      }
      const entry = index < 0 ? null : this.list.entry(index);
      if (!entry) return;
      let lit = null;
      for (const piece of entry.text.querySelectorAll("[data-start]")) {
        piece.classList.remove("tl-word");
        if (Number(piece.dataset.start) <= ms) lit = piece;
      }
      if (lit) lit.classList.add("tl-word");
    }

    /** The text that a sentence is about to have; null where it is as the server has it. */
    waiting(line) {
      return this.editable && this.form === "written" ? this.editor.unsent.waiting(line) : null;
    }

    /** After an edit: what is read off the sentences. */
    changed(words) {
      if (words) this.view.words = words;
      clearTimeout(this.soon);
      this.soon = setTimeout(() => {
        this.countDoubts();
        this.player.drawCoverage();
        this.words.update(this.view, this.lines);
        this.editor.find.refresh();
        this.editor.versions.refresh();
      }, SOON_MS);
      const none = !this.lines.length;
      if (none) this.draw();
    }

    /** Rows were drawn: marks over them are too. */
    drawn() {
      if (this.editor && this.editor.find.isOpen) this.editor.find.highlight();
    }

    setEditable(editable) {
      this.editable = editable;
      this.root.classList.toggle("tl-editable", editable);
      this.list.refresh();
    }

    // Everything around the sentences.
    draw() {
      const { view } = this;
      const some = this.lines.length > 0;
      const empty = view.state === "empty";
      this.job.root.hidden = empty;
      this.player.root.hidden = this.tools.hidden = this.list.box.hidden = !some;
      this.more.hidden = empty || view.final || view.state !== "running";
      const waits = WAITING.includes(view.state) && !some;
      this.empty.hidden = !(empty || waits || (view.final && !some));
      this.notes.replaceChildren();
      this.covers.replaceChildren();
      this.words.update(view, this.lines);
      this.player.show(view, this.lines);
      if (empty) {
        this.empty.replaceChildren(el("strong", { text: t("empty.title") }), el("span", { text: t(this.emptyKey) }));
        return;
      }
      if (waits) this.empty.replaceChildren(el("strong", { text: t(`empty.${view.state}`) }), el("span", { text: t("empty.waiting_hint") }));
      this.job.update(view);
      this.drawNotes(some);
      this.drawKey();
      this.countDoubts();
      this.export.setDisabled(!view.final);
    }

    drawNotes(some) {
      const { view, notes } = this;
      const note = (text, more = {}) => notes.append(el("p", { class: "tl-note", text, ...more }));
      if (view.error) note(view.error, { class: "tl-note tl-note-bad", role: "alert" });
      if (view.state === "partial") note(t("partial"));
      if (some) for (const text of view.warnings) note(text);
      if (some && view.playable === false) note(t("no_audio"));
      if (view.final && !some) {
        const reason = view.error ? t("empty.failed") : view.warnings[0] || t(`empty.${view.state}`);
        this.empty.replaceChildren(el("strong", { text: reason }), el("span", { text: t(`empty.${HINTS[view.state] || "nothing_hint"}`) }));
      }
    }

    drawKey() {
      const { view } = this;
      if (!view.final || !this.lines.length || view.text_ms === undefined) return;
      const length = (parts) => parts.reduce((sum, [start, end]) => sum + end - start, 0);
      const key = (kind, ms) => this.covers.append(el("span", { class: `tl-key-${kind}`, text: t(`key.${kind}`, { time: clock(ms) }) }));
      key("text", view.text_ms);
      key("none", view.silent_ms);
      if (view.gaps.length) key("gap", length(view.gaps));
      if (view.lost.length) key("lost", length(view.lost));
    }
  }

  define("transcript", (context) => new Transcript(context));

  window.tinglu.have = (id, job) => {
    const part = window.tinglu.find(id);
    return part ? part.have(job) : 0;
  };
})();
