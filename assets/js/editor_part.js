// A stretch of the recording: hear it in a loop, cut it out, recognize it once more.
(() => {
  "use strict";
  const { t, el, clock, textOf } = window.tinglu;

  const CLIP_FORMATS = ["mp3", "wav", "m4a"];
  const LOOK_MS = 700; // how often a stretch that is being recognized is asked for

  class EditorPart {
    constructor(editor) {
      this.editor = editor;
      this.host = editor.host;
      this.ends = null; // [start_ms, end_ms]
      this.anchor = -1;
      this.job = "";
      this.build();
      this.close();
    }

    build() {
      const button = (key, act, more = {}) => el("button", { type: "button", class: "tl-button", text: t(key), onclick: act, ...more });
      this.title = el("strong", { class: "tl-part-title" });
      this.loopButton = button("part.loop", () => this.loop());
      this.format = el("select", { class: "tl-select", "aria-label": t("part.clip_format") }, ...CLIP_FORMATS.map((name) => el("option", { value: name, text: name })));
      this.mergeButton = button("part.merge", () => this.merge());
      this.again = button("part.again", () => this.ask());
      this.hotwords = el("textarea", { class: "tl-field", rows: 2, "aria-label": t("part.hotwords"), placeholder: t("part.hotwords") });
      this.model = el("select", { class: "tl-select", "aria-label": t("part.model") });
      this.form = el("form", { class: "tl-find-row tl-again", hidden: true, onsubmit: (event) => this.start(event) },
        this.hotwords, this.model, el("button", { class: "tl-button tl-strong", text: t("part.start") }));
      this.told = el("p", { class: "tl-told", role: "status" });
      this.proposal = el("div", { class: "tl-conflict-texts" });
      this.accept = button("part.accept", () => this.take(), { class: "tl-button tl-strong" });
      this.reject = button("part.reject", () => this.dismiss());
      this.answer = el("div", { class: "tl-find-row", hidden: true }, this.accept, this.reject);
      this.root = el("section", { class: "tl-box tl-part-box", "aria-label": t("part") },
        el("div", { class: "tl-find-row" }, this.title, this.loopButton, this.mergeButton, this.again, el("span", { class: "tl-space" }),
          this.format, button("part.clip", () => this.clip()),
          el("button", { type: "button", class: "tl-icon", text: "×", "aria-label": t("close"), title: t("close"), onclick: () => this.close() })),
        this.form, this.told, this.proposal, this.answer);
      this.root.addEventListener("keydown", (event) => {
        if (event.key !== "Escape" || event.isComposing) return;
        event.stopPropagation();
        this.close();
        this.host.list.focus(this.host.list.at);
      });
    }

    close() {
      this.root.hidden = true;
      this.form.hidden = true;
      this.anchor = -1;
      this.ends = null;
      if (this.host.list) this.host.list.range = null;
      if (this.host.list) this.host.list.mark();
      if (this.host.player) {
        this.host.player.select(null);
        if (this.host.player.loop) this.host.player.repeat(null);
      }
      this.loopButton.setAttribute("aria-pressed", "false");
      if (this.job) this.dismiss();
    }

    /** Mark a stretch of time, and the sentences that it touches. */
    choose(start, end) {
      if (!this.host.editable || end <= start) return;
      const { lines, list } = this.host;
      const touched = lines.flatMap((line, index) => (line.start < end && line.end > start ? [index] : []));
      this.mark([start, end], touched.length ? [touched[0], touched[touched.length - 1]] : null);
      if (touched.length) list.reveal(touched[0]);
    }

    /** Mark sentences from the first one that was chosen to this one. */
    extend(index) {
      const { lines, list } = this.host;
      if (this.anchor < 0) this.anchor = this.editor.index();
      this.editor.end();
      const [first, last] = [this.anchor, index].sort((a, b) => a - b);
      const { anchor } = this;
      let end = 0;
      for (let i = first; i <= last; i += 1) end = Math.max(end, lines[i].end);
      this.mark([lines[first].start, end], [first, last]);
      this.anchor = anchor;
      list.focus(index);
    }

    mark(ends, range) {
      if (this.job) this.dismiss();
      this.ends = ends;
      this.host.list.range = range;
      this.host.list.mark();
      this.host.player.select(ends);
      if (this.host.player.loop) this.host.player.repeat(ends);
      this.root.hidden = false;
      const count = range ? range[1] - range[0] + 1 : 0;
      this.title.textContent = t("part.title", { from: clock(ends[0]), to: clock(ends[1]), count });
      this.mergeButton.hidden = count < 2;
      this.again.disabled = this.host.view.playable === false;
    }

    /** Hear the stretch, or the sentence, again and again; a second time stops that. */
    loop() {
      const { player } = this.host;
      if (player.loop) {
        player.repeat(null);
        player.audio.pause();
      } else {
        if (!this.ends) {
          const index = this.editor.index();
          const line = this.host.lines[index];
          if (!line) return;
          this.mark([line.start, line.end], [index, index]);
        }
        player.repeat(this.ends);
      }
      this.loopButton.setAttribute("aria-pressed", String(Boolean(player.loop)));
    }

    clip() {
      const [start_ms, end_ms] = this.ends;
      this.host.trigger("clip", { recording: this.host.view.recording, start_ms: Math.round(start_ms), end_ms: Math.round(end_ms), format: this.format.value });
    }

    async merge() {
      const [first, last] = this.host.list.range;
      const line = this.host.lines[first];
      const answer = await this.editor.log.run(({ lines }) => {
        const position = lines.indexOf(line);
        return position < 0 ? null : { op: "merge", position, count: last - first + 1 };
      });
      if (!answer) return;
      this.close();
      this.host.list.focus(first);
    }

    // Recognized once more.
    async ask() {
      if (!this.form.hidden) {
        this.form.hidden = true;
        return;
      }
      const found = await this.editor.log.question("choices");
      if (!found) return;
      this.hotwords.value = found.hotwords.join("\n");
      this.model.replaceChildren(...found.models.map(([title, value]) => el("option", { value, text: title })));
      this.model.hidden = found.models.length < 2;
      this.form.hidden = false;
      this.hotwords.focus();
    }

    async start(event) {
      event.preventDefault();
      const { ends } = this;
      if (!ends) return;
      await this.editor.flush();
      const [start_ms, end_ms] = ends;
      const asked = { start_ms: Math.round(start_ms), end_ms: Math.round(end_ms), hotwords: this.hotwords.value, model: this.model.value };
      const proposal = await this.editor.log.question("retranscribe", asked);
      if (!proposal) return;
      if (this.ends !== ends) { // it was closed meanwhile
        this.editor.log.ask({ op: "dismiss", job: proposal.job, recording: this.host.view.recording });
        return;
      }
      this.job = proposal.job;
      this.form.hidden = true;
      this.show(proposal);
      this.follow(proposal.job);
    }

    follow(job) {
      setTimeout(async () => {
        if (this.job !== job) return;
        const proposal = await this.editor.log.ask({ op: "proposal", job, recording: this.host.view.recording });
        if (this.job !== job) return;
        if (proposal && proposal.error) {
          this.forget();
          this.told.textContent = proposal.error.text;
          return;
        }
        if (proposal) this.show(proposal);
        if (!proposal || !proposal.final) this.follow(job); // also when the server is away
      }, LOOK_MS);
    }

    show({ state, final, error, lines, start_ms: start, end_ms: end }) {
      const done = final && (state === "done" || state === "partial");
      this.told.textContent = error || (done ? (lines.length ? "" : t("part.nothing")) : t("part.working"));
      const old = this.host.lines.filter((line) => line.start < end && line.end > start);
      const side = (key, some) => el("div", { class: "tl-conflict-side" }, el("strong", { text: t(key) }), ...some.map((line) => el("p", { text: textOf(line) })));
      this.proposal.replaceChildren(side("part.before", old), side("part.after", lines));
      this.answer.hidden = !final;
      this.accept.hidden = !done;
      if (done) this.accept.focus();
    }

    async take() {
      const { job } = this;
      const answer = await this.editor.log.run(() => ({ op: "accept", job }));
      if (!answer) return;
      this.forget();
      const first = answer.changes.length ? answer.changes[0][0] : 0;
      this.close();
      this.host.list.focus(Math.min(first, this.host.lines.length - 1));
    }

    dismiss() {
      const { job } = this;
      this.forget();
      this.editor.log.ask({ op: "dismiss", job, recording: this.host.view.recording });
    }

    forget() {
      this.job = "";
      this.proposal.replaceChildren();
      this.answer.hidden = true;
      this.told.textContent = "";
    }
  }

  window.tinglu.EditorPart = EditorPart;
})();
