// The transcript: job line, player with coverage, tools and the sentences.
(() => {
  "use strict";
  const { t, el, clock, stamp, fileUrl, define, share, JobLine, Wave, WordPanel } = window.tinglu;

  const DOUBTFUL = 1;
  const REWRITTEN = 2;
  const CORRECTED = 3;
  const CLASS_OF = { [DOUBTFUL]: "tl-low", [REWRITTEN]: "tl-num", [CORRECTED]: "tl-fix" };
  const SPEEDS = [1, 1.25, 1.5, 2, 0.75];
  const BUCKETS = 360; // resolution of the coverage bar
  const SEEK_STEP_MS = 100;
  const KEY_STEP_MS = 5000; // an arrow key on the seek bar
  const OVERLAPS = 8; // sentences that may go on while later ones begin
  const NEAR_END_PX = 80; // closer to the end than this, the list follows new sentences

  const TURN_MS = 700; // until a tab that was turned to has its size and its list
  const WAITING = ["queued", "paused", "interrupted"];
  const HINTS = { failed: "failed_hint", cancelled: "cancelled_hint" };

  function build(formats, on) {
    const p = {};
    p.notes = el("div", { class: "tl-notes" });
    buildPlayer(p, on);
    buildTools(p, formats, on);
    p.lines = el("div", {
      class: "tl-lines", role: "list", "aria-label": t("sentences"), onclick: on.pick, onkeydown: on.key,
    });
    p.empty = el("div", { class: "tl-empty" });
    p.more = el("p", { class: "tl-listening", text: t("listening") });
    return p;
  }

  function buildPlayer(p, on) {
    p.audio = el("audio", { preload: "metadata", ontimeupdate: on.time, onplay: on.playing, onpause: on.playing,
      onloadedmetadata: on.time, onerror: on.audioError });
    p.play = el("button", { type: "button", class: "tl-play", "aria-label": t("play"), onclick: on.toggle });
    p.at = el("span", { class: "tl-at" });
    p.canvas = el("canvas", { class: "tl-wave", "aria-hidden": "true" });
    p.wave = new Wave(p.canvas);
    p.cover = el("div", { class: "tl-cover", "aria-hidden": "true" });
    p.head = el("i", { class: "tl-head" });
    p.seek = el("input", { type: "range", min: 0, max: 1000, step: SEEK_STEP_MS, value: 0, class: "tl-seek", "aria-label": t("position"),
      oninput: on.seek, onkeydown: on.seekKey });
    p.speed = el("button", { type: "button", class: "tl-button tl-speed", text: "1×", "aria-label": t("speed"), onclick: on.speed });
    p.key = el("div", { class: "tl-key" });
    p.track = el("div", { class: "tl-track", onpointerdown: on.scrub, onpointermove: on.scrub }, p.canvas, p.cover, p.head, p.seek);
    p.player = el("div", { class: "tl-player" }, p.play, p.track, p.at, p.speed, p.audio);
  }

  function buildTools(p, formats, on) {
    p.written = el("button", { type: "button", text: t("written"), onclick: () => on.form("written") });
    p.spoken = el("button", { type: "button", text: t("spoken"), onclick: () => on.form("spoken") });
    p.doubt = el("button", { type: "button", class: "tl-button", onclick: on.doubt });
    p.copy = el("button", { type: "button", class: "tl-button", text: t("copy"), onclick: on.copy });
    p.format = el("select", { class: "tl-select", "aria-label": t("format") },
      ...formats.map((name) => el("option", { value: name, text: t(`format.${name}`) })));
    p.export = el("button", { type: "button", class: "tl-button tl-export", text: t("export"), onclick: on.export });
    p.tools = el("div", { class: "tl-tools" },
      el("div", { class: "tl-seg", role: "group", "aria-label": t("form") }, p.spoken, p.written),
      p.doubt, el("span", { class: "tl-space" }), p.copy, p.format, p.export);
  }

  /** Pieces as nodes: runs of plain text are joined unless `split` wants every piece apart. */
  function pieceNodes(pieces, split) {
    const nodes = [];
    let plain = "";
    const flush = () => {
      if (plain) nodes.push(document.createTextNode(plain));
      plain = "";
    };
    for (const [text, start, flag, heard] of pieces) {
      if (!flag && !split) {
        plain += text;
        continue;
      }
      flush();
      const title = heard ? t("words.heard", { heard }) : flag === DOUBTFUL ? t("doubtful") : null;
      nodes.push(el("span", { class: CLASS_OF[flag] || null, "data-start": start, text, title }));
    }
    flush();
    return nodes;
  }

  class Transcript {
    constructor({ root, trigger, props }) {
      this.trigger = trigger;
      this.lines = [];
      this.nodes = [];
      this.form = "written";
      this.current = -1;
      this.focused = 0;
      this.view = { state: "empty" };
      this.emptyKey = props.empty;
      this.job = new JobLine(props.actions ? (action) => this.act(action) : null);
      this.followed = Boolean(props.actions);
      this.parts = build(props.formats, this.listeners());
      const p = this.parts;
      root.className = "tl-root tl-card tl-panel";
      this.words = new WordPanel({
        play: (ms) => this.play(ms),
        undo: (position, first_token) => this.trigger("undo_fix", { recording: this.view.recording, position, first_token }),
      });
      root.append(this.job.root, p.notes, p.player, p.key, p.tools, this.words.root, p.lines, p.more, p.empty);
      this.root = root;
      this.showForm();
      this.draw();
    }

    listeners() {
      return {
        toggle: () => (this.parts.audio.paused ? this.play() : this.parts.audio.pause()),
        pick: (event) => this.pick(event),
        key: (event) => this.key(event),
        time: () => this.followAudio(),
        playing: () => this.showPlaying(),
        audioError: () => this.audioError(),
        seek: () => this.play(Number(this.parts.seek.value), this.parts.audio.paused),
        seekKey: (event) => this.seekKey(event),
        scrub: (event) => this.scrub(event),
        speed: () => this.nextSpeed(),
        form: (form) => { this.form = form; this.showForm(); this.redrawLines(); },
        doubt: () => this.nextDoubt(),
        copy: () => this.copy(),
        export: () => this.trigger("export_as", { recording: this.view.recording, format: this.parts.format.value }),
      };
    }

    // What other components ask.
    have(job) {
      return job && this.view.job === job ? this.lines.length : 0;
    }

    showFile({ recording, path }) {
      if (recording !== this.view.recording) return;
      this.parts.audio.src = fileUrl(path);
      this.audioOf = recording;
      this.setSpeed(this.speed || 1);
      this.parts.play.disabled = false;
      if (this.wanted !== undefined) this.play(this.wanted);
      this.wanted = undefined;
    }

    showOutline({ recording, points }) {
      if (recording !== this.view.recording) return;
      const { track, wave } = this.parts;
      const total = this.total();
      track.classList.add("tl-drawn");
      wave.show(points, this.view.gaps.map(([start, end]) => [start / total, end / total]));
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

    update(view) {
      const before = this.view;
      const box = this.parts.lines;
      const top = view.job === before.job ? box.scrollTop : 0;
      this.view = view;
      if (view.state === "empty" || view.recording !== before.recording) this.resetAudio();
      if (view.state === "empty" || view.job !== before.job) this.resetLines();
      else if (view.from === 0) this.resetLines();
      const fresh = view.lines || [];
      if (view.from === this.lines.length) this.append(fresh);
      this.draw();
      if (view.final && top) box.scrollTop = top;
      this.tell();
      if (view.recording && view.recording === window.tinglu.wanted) {
        setTimeout(() => this.root.scrollIntoView({ behavior: "smooth", block: "nearest" }), TURN_MS);
        window.tinglu.wanted = "";
      }
      if (view.final && this.lines.length && view.playable !== false && this.audioOf !== view.recording) {
        this.trigger("playback", { recording: view.recording });
        this.trigger("outline", { recording: view.recording, total_ms: this.total() });
      }
    }

    // Sentences.
    resetLines() {
      this.lines = [];
      this.nodes = [];
      this.current = -1;
      this.focused = 0;
      this.doubtAt = 0;
      this.parts.lines.replaceChildren();
    }

    append(lines) {
      if (!lines.length) return;
      const box = this.parts.lines;
      const follow = !this.view.final && box.scrollHeight - box.scrollTop - box.clientHeight < NEAR_END_PX;
      const fragment = document.createDocumentFragment();
      for (const line of lines) {
        const body = el("div", { class: "tl-text" });
        const before = this.lines[this.lines.length - 1];
        const who = line.who && line.who !== (before && before.who) ? el("span", { class: "tl-who", text: line.who }) : null;
        const node = el("div", {
          class: "tl-line", role: "listitem", tabindex: this.nodes.length ? -1 : 0, "data-index": this.nodes.length,
        }, el("time", { text: stamp(line.start) }), who, body);
        this.lines.push(line);
        this.nodes.push(node);
        body.append(...pieceNodes(line[this.form], false));
        fragment.append(node);
      }
      box.classList.toggle("tl-with-who", this.lines.some((line) => line.who));
      box.append(fragment);
      if (follow) box.scrollTop = box.scrollHeight;
    }

    redrawLine(index) {
      const node = this.nodes[index];
      if (node) node.querySelector(".tl-text").replaceChildren(...pieceNodes(this.lines[index][this.form], index === this.current));
    }

    redrawLines() {
      this.lines.forEach((line, index) => this.redrawLine(index));
    }

    showForm() {
      for (const form of ["spoken", "written"]) this.parts[form].setAttribute("aria-pressed", String(this.form === form));
    }

    pick(event) {
      const node = event.target.closest(".tl-line");
      if (!node || String(window.getSelection())) return;
      this.focusLine(Number(node.dataset.index));
      const piece = event.target.closest("[data-start]");
      this.play(piece ? Number(piece.dataset.start) : this.lines[this.focused].start);
    }

    key(event) {
      const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (step) this.focusLine(this.focused + step);
      else if (event.key === "Enter") this.play(this.lines[this.focused].start);
      else if (event.key === " ") this.parts.play.click();
      else return;
      event.preventDefault();
    }

    focusLine(index) {
      if (!this.nodes[index]) return;
      if (this.nodes[this.focused]) this.nodes[this.focused].tabIndex = -1;
      this.focused = index;
      this.nodes[index].tabIndex = 0;
      this.nodes[index].focus({ preventScroll: false });
    }

    doubts() {
      return this.lines.flatMap((line, index) => (line[this.form].some((piece) => piece[2] === DOUBTFUL) ? [index] : []));
    }

    nextDoubt() {
      const doubts = this.doubts();
      if (!doubts.length) return;
      const index = doubts[this.doubtAt % doubts.length];
      this.doubtAt = (this.doubtAt % doubts.length) + 1;
      this.nodes[index].scrollIntoView({ block: "center" });
      this.focusLine(index);
    }

    async copy() {
      const text = this.lines.map((line) => (line.who ? t("said_by", { who: line.who }) : "") + line[this.form].map((piece) => piece[0]).join("")).join("\n");
      await window.tinglu.copyText(text);
      this.parts.copy.textContent = t("copied");
      setTimeout(() => (this.parts.copy.textContent = t("copy")), 1600);
    }

    // Sound.
    resetAudio() {
      const { audio, play, track, wave } = this.parts;
      track.classList.remove("tl-drawn");
      wave.clear();
      audio.pause();
      audio.removeAttribute("src");
      audio.load();
      play.disabled = true;
      this.audioOf = undefined;
      this.wanted = undefined;
    }

    total() {
      const { audio } = this.parts;
      return this.view.total_ms || (Number.isFinite(audio.duration) ? audio.duration * 1000 : 0);
    }

    seekKey(event) {
      const step = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[event.key];
      if (!step) return;
      event.preventDefault();
      const { seek, audio } = this.parts;
      seek.value = Number(seek.value) + step * KEY_STEP_MS;
      this.play(Number(seek.value), audio.paused);
    }

    /** A press or a drag on the track; the seek input under it serves keyboards and screen readers. */
    scrub(event) {
      const { track, seek, audio } = this.parts;
      if (event.type === "pointerdown" && event.button === 0) {
        event.preventDefault();
        track.setPointerCapture(event.pointerId);
        seek.focus({ preventScroll: true });
      } else if (!track.hasPointerCapture(event.pointerId)) return;
      const box = track.getBoundingClientRect();
      const part = Math.min(1, Math.max(0, (event.clientX - box.left) / box.width));
      const ms = part * this.total();
      if (this.wanted === undefined) this.play(ms, audio.paused);
      else this.wanted = ms; // the sound is on its way
    }

    async play(ms, stayPaused = false) {
      const { audio } = this.parts;
      if (this.view.playable === false) return;
      if (this.audioOf !== this.view.recording) {
        this.wanted = ms || 0;
        this.trigger("playback", { recording: this.view.recording });
        return;
      }
      if (ms !== undefined) {
        audio.currentTime = ms / 1000;
        this.followAudio();
      }
      if (stayPaused) return;
      try {
        await audio.play();
      } catch (error) {
        if (error.name !== "AbortError") this.showPlaying();
      }
    }

    audioError() {
      this.parts.play.disabled = true;
    }

    nextSpeed() {
      this.setSpeed(SPEEDS[(SPEEDS.indexOf(this.speed || 1) + 1) % SPEEDS.length]);
    }

    setSpeed(speed) {
      this.speed = speed;
      this.parts.audio.playbackRate = speed;
      this.parts.speed.textContent = `${speed}×`;
    }

    showPlaying() {
      const playing = !this.parts.audio.paused;
      this.parts.play.classList.toggle("tl-playing", playing);
      this.parts.play.setAttribute("aria-label", t(playing ? "pause" : "play"));
    }

    followAudio() {
      const { audio, at, seek, head, wave } = this.parts;
      const ms = audio.currentTime * 1000;
      const total = this.total();
      const part = total ? Math.min(1, ms / total) : 0;
      at.textContent = `${clock(ms)} / ${clock(total)}`;
      seek.max = Math.max(total, 1);
      seek.value = ms;
      seek.setAttribute("aria-valuetext", clock(ms));
      head.style.insetInlineStart = `${part * 100}%`;
      wave.follow(part);
      if (this.audioOf) this.light(ms, !audio.paused);
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
      if (index !== this.current) {
        const old = this.current;
        this.current = index;
        for (const changed of [old, index]) {
          if (!this.nodes[changed]) continue;
          this.nodes[changed].classList.toggle("tl-on", changed === index);
          if (changed === index) this.nodes[changed].setAttribute("aria-current", "true");
          else this.nodes[changed].removeAttribute("aria-current");
          this.redrawLine(changed);
        }
        if (follow && index >= 0) this.keepInView(this.nodes[index]);
      }
      if (index < 0) return;
      let lit = null;
      for (const piece of this.nodes[index].querySelectorAll("[data-start]")) {
        piece.classList.remove("tl-word");
        if (Number(piece.dataset.start) <= ms) lit = piece;
      }
      if (lit) lit.classList.add("tl-word");
    }

    keepInView(node) {
      const box = this.parts.lines;
      if (box.scrollHeight <= box.clientHeight) {
        node.scrollIntoView({ block: "nearest", behavior: "smooth" });
        return;
      }
      const top = node.offsetTop - box.offsetTop;
      if (top < box.scrollTop || top + node.offsetHeight > box.scrollTop + box.clientHeight) {
        box.scrollTo({ top: top - box.clientHeight / 3, behavior: "smooth" });
      }
    }

    act(action) {
      this.trigger("job_act", { job: this.view.job, action });
    }

    // Everything around the sentences.
    draw() {
      const { view, parts: p } = this;
      const some = this.lines.length > 0;
      const empty = view.state === "empty";
      this.job.root.hidden = empty;
      p.player.hidden = p.tools.hidden = !some;
      p.lines.hidden = !some;
      p.more.hidden = empty || view.final || view.state !== "running";
      const waits = WAITING.includes(view.state) && !some;
      p.empty.hidden = !(empty || waits || (view.final && !some));
      p.notes.replaceChildren();
      this.words.update(view, this.lines);
      if (empty) {
        p.key.replaceChildren();
        p.empty.replaceChildren(el("strong", { text: t("empty.title") }), el("span", { text: t(this.emptyKey) }));
        return;
      }
      if (waits) p.empty.replaceChildren(el("strong", { text: t(`empty.${view.state}`) }), el("span", { text: t("empty.waiting_hint") }));
      this.job.update(view);
      this.drawNotes(some);
      this.drawCoverage();
      const doubts = this.doubts().length;
      p.doubt.textContent = t("next_doubt", { count: doubts });
      p.doubt.hidden = doubts === 0;
      p.export.disabled = p.format.disabled = !view.final;
      p.play.disabled = view.playable === false || (view.final && this.audioOf !== view.recording);
      if (some && this.parts.audio.paused) this.followAudio();
    }

    drawNotes(some) {
      const { view, parts: p } = this;
      if (view.error) p.notes.append(el("p", { class: "tl-note tl-note-bad", role: "alert", text: view.error }));
      if (view.state === "partial") p.notes.append(el("p", { class: "tl-note", text: t("partial") }));
      if (some) for (const text of view.warnings) p.notes.append(el("p", { class: "tl-note", text }));
      if (some && view.playable === false) p.notes.append(el("p", { class: "tl-note", text: t("no_audio") }));
      if (view.final && !some) {
        const reason = view.error ? t("empty.failed") : view.warnings[0] || t(`empty.${view.state}`);
        p.empty.replaceChildren(el("strong", { text: reason }), el("span", { text: t(`empty.${HINTS[view.state] || "nothing_hint"}`) }));
      }
    }

    drawCoverage() {
      const { view, parts: p } = this;
      p.key.replaceChildren();
      const total = this.total();
      p.cover.hidden = !total;
      if (!total) return;
      const kinds = new Uint8Array(BUCKETS);
      const fill = (start, end, kind) => {
        const last = Math.min(BUCKETS - 1, Math.max(Math.ceil((end / total) * BUCKETS) - 1, Math.floor((start / total) * BUCKETS)));
        for (let i = Math.floor((start / total) * BUCKETS); i <= last; i += 1) kinds[i] = kind;
      };
      for (const line of this.lines) fill(line.start, line.end, 1);
      for (const [start, end] of view.gaps) fill(start, end, 2);
      for (const [start, end] of view.lost) if (start < total) fill(start, end, 3);
      const stops = [];
      for (let i = 0, from = 0; i <= BUCKETS; i += 1) {
        if (i < BUCKETS && kinds[i] === kinds[from]) continue;
        const colour = ["var(--tl-line)", "var(--tl-accent)", "var(--tl-warn)", "var(--tl-ink-3)"][kinds[from]];
        stops.push(`${colour} ${(from / BUCKETS) * 100}% ${(i / BUCKETS) * 100}%`);
        from = i;
      }
      p.cover.style.background = `linear-gradient(90deg, ${stops.join(", ")})`;
      if (!view.final || !this.lines.length || view.text_ms === undefined) return;
      const length = (parts) => parts.reduce((sum, [start, end]) => sum + end - start, 0);
      const key = (kind, ms) => p.key.append(el("span", { class: `tl-key-${kind}`, text: t(`key.${kind}`, { time: clock(ms) }) }));
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
