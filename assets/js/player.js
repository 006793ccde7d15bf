// The player of a transcript: sound, drawn recording with zoom, coverage, loop.
(() => {
  "use strict";
  const { t, el, clock, fileUrl, Wave } = window.tinglu;

  const SPEEDS = [0.5, 0.75, 1, 1.25, 1.5, 2];
  const BUCKETS = 360; // resolution of the coverage bar
  const SEEK_STEP_MS = 100;
  const KEY_STEP_MS = 5000; // an arrow key on the seek bar
  const ZOOM = 2; // a press of the button
  const CLOSEST_MS = 2000; // the shortest stretch that fills the width
  const COLOURS = ["var(--tl-line)", "var(--tl-accent)", "var(--tl-warn)", "var(--tl-ink-3)"];
  const FOLLOW_AT = 0.1; // where the head stands after the drawing has moved on

  /**
   * `on` has `time(ms, playing)`, `need()` (the sound is wanted) and `select(start_ms, end_ms)`
   * (a stretch was drawn, or `null`). The host calls `show` for every view.
   */
  class Player {
    constructor(on) {
      this.on = on;
      this.speed = 1;
      this.view = { state: "empty" };
      this.lines = [];
      this.window = [0, 0]; // ms that fill the width; [0, 0] is all of it
      this.loop = null; // [start_ms, end_ms]
      this.build();
      this.reset();
    }

    build() {
      const follow = () => this.follow();
      const button = (key, text, act) => el("button", { type: "button", class: "tl-icon tl-zoom-button", text, "aria-label": t(key), title: t(key), onclick: act });
      this.audio = el("audio", { preload: "metadata", ontimeupdate: follow, onplay: () => this.showPlaying(), onpause: () => this.showPlaying(),
        onloadedmetadata: follow, onerror: () => { this.playButton.disabled = true; } });
      this.playButton = el("button", { type: "button", class: "tl-play", "aria-label": t("play"), onclick: () => this.toggle() });
      this.at = el("span", { class: "tl-at" });
      this.canvas = el("canvas", { class: "tl-wave", "aria-hidden": "true" });
      this.wave = new Wave(this.canvas);
      this.cover = el("div", { class: "tl-cover", "aria-hidden": "true" });
      this.head = el("i", { class: "tl-head" });
      this.part = el("i", { class: "tl-stretch", hidden: true });
      this.seek = el("input", { type: "range", min: 0, max: 1000, step: SEEK_STEP_MS, value: 0, class: "tl-seek", "aria-label": t("position"),
        oninput: () => this.play(Number(this.seek.value), this.audio.paused), onkeydown: (event) => this.seekKey(event) });
      this.speedButton = el("button", { type: "button", class: "tl-button tl-speed", text: "1×", "aria-label": t("speed"), onclick: () => this.nextSpeed() });
      const scrub = (event) => this.scrub(event);
      this.track = el("div", { class: "tl-track", onpointerdown: scrub, onpointermove: scrub, onpointerup: scrub, onwheel: (event) => this.wheel(event) },
        this.canvas, this.cover, this.part, this.head, this.seek);
      this.pan = el("input", { type: "range", class: "tl-pan", "aria-label": t("zoom.pan"), min: 0, max: 1000, step: "any", hidden: true,
        oninput: () => this.panTo(Number(this.pan.value) / 1000) });
      this.zooms = el("div", { class: "tl-zoom", role: "group", "aria-label": t("zoom") },
        button("zoom.out", "−", () => this.zoom(1 / ZOOM)), button("zoom.in", "+", () => this.zoom(ZOOM)));
      this.drawn = el("div", { class: "tl-drawing" }, this.track, this.pan);
      this.root = el("div", { class: "tl-player" }, this.playButton, this.drawn, this.at, this.zooms, this.speedButton, this.audio);
    }

    reset() {
      const { audio } = this;
      this.track.classList.remove("tl-drawn");
      this.wave.clear();
      this.loop = null;
      this.select(null);
      this.look(0, 0);
      audio.pause();
      audio.removeAttribute("src");
      audio.load();
      this.playButton.disabled = true;
      this.audioOf = undefined;
      this.wanted = undefined;
    }

    /** The transcript that it belongs to; its sound stays while the recording does. */
    show(view, lines) {
      if (view.state === "empty" || view.recording !== this.view.recording) this.reset();
      this.view = view;
      this.lines = lines;
      this.playButton.disabled = view.playable === false || (Boolean(view.final) && this.audioOf !== view.recording);
      this.drawCoverage();
      if (lines.length && this.audio.paused) this.follow();
    }

    showFile({ recording, path }) {
      if (recording !== this.view.recording) return;
      this.audio.src = fileUrl(path);
      this.audioOf = recording;
      this.setSpeed(this.speed);
      this.playButton.disabled = false;
      if (this.wanted !== undefined) this.play(...this.wanted);
      this.wanted = undefined;
    }

    showOutline({ recording, points, peaks }) {
      if (recording !== this.view.recording) return;
      const total = this.total();
      this.track.classList.add("tl-drawn");
      this.wave.show(points, this.view.gaps.map(([start, end]) => [start / total, end / total]), peaks ? fileUrl(peaks) : "", total);
    }

    total() {
      const { duration } = this.audio;
      return this.view.total_ms || (Number.isFinite(duration) ? duration * 1000 : 0);
    }

    ms() {
      return this.audio.currentTime * 1000;
    }

    get playing() {
      return !this.audio.paused;
    }

    // Where the width begins and ends.
    range() {
      const total = this.total();
      return this.window[1] ? this.window : [0, total];
    }

    look(from, to) {
      const total = this.total();
      const whole = !total || to - from >= total || to <= from;
      const length = Math.max(CLOSEST_MS, to - from);
      const first = whole ? 0 : Math.min(Math.max(0, from), total - length);
      this.window = whole || length >= total ? [0, 0] : [first, first + length];
      const zoomed = this.window[1] > 0;
      this.pan.hidden = !zoomed;
      if (zoomed) {
        this.pan.value = String((first / (total - length)) * 1000);
        this.pan.style.setProperty("--tl-share", String(Math.max(0.06, length / total)));
      }
      this.wave.look(...(zoomed ? this.window.map((ms) => ms / total) : [0, 1]));
      this.drawCoverage();
      this.place();
    }

    /** Magnify by `factor` around a moment, which stays where it is. */
    zoom(factor, ms) {
      const [from, to] = this.range();
      if (to <= from) return;
      const head = this.ms();
      const at = ms ?? (head >= from && head <= to ? head : (from + to) / 2);
      const length = Math.max(CLOSEST_MS, (to - from) / factor);
      const start = at - ((at - from) / (to - from)) * length;
      this.look(start, start + length);
    }

    panTo(part) {
      const [from, to] = this.range();
      const first = part * (this.total() - (to - from));
      this.look(first, first + to - from);
    }

    wheel(event) {
      const [from, to] = this.range();
      if (event.ctrlKey || event.metaKey) {
        event.preventDefault();
        this.zoom(Math.exp(-event.deltaY / 200), this.msAt(event.clientX));
      } else if (this.window[1] && (event.deltaX || event.shiftKey)) {
        event.preventDefault();
        const step = ((event.deltaX || event.deltaY) / this.track.clientWidth) * (to - from);
        this.look(from + step, to + step);
      }
    }

    msAt(clientX) {
      const box = this.track.getBoundingClientRect();
      const [from, to] = this.range();
      return from + Math.min(1, Math.max(0, (clientX - box.left) / box.width)) * (to - from);
    }

    seekKey(event) {
      if (event.ctrlKey || event.altKey || event.metaKey) return;
      if (event.key === "+" || event.key === "=" || event.key === "-") this.zoom(event.key === "-" ? 1 / ZOOM : ZOOM);
      else if (event.key === "0") this.look(0, 0);
      else {
        const step = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[event.key];
        if (!step) return;
        this.play(Math.min(this.total(), Math.max(0, Number(this.seek.value) + step * KEY_STEP_MS)), this.audio.paused);
      }
      event.preventDefault();
      event.stopPropagation();
    }

    /**
     * A press or a drag on the track goes there; with Shift it marks a stretch. The seek input
     * under it serves keyboards and screen readers.
     */
    scrub(event) {
      const { track } = this;
      const ms = this.msAt(event.clientX);
      if (event.type === "pointerdown" && event.button === 0) {
        event.preventDefault();
        track.setPointerCapture(event.pointerId);
        this.seek.focus({ preventScroll: true });
        this.marking = event.shiftKey ? ms : undefined;
      } else if (!track.hasPointerCapture(event.pointerId)) return;
      if (this.marking !== undefined) {
        const ends = [this.marking, ms].sort((a, b) => a - b).map(Math.round);
        this.select(ends);
        if (event.type === "pointerup") this.on.select(...ends);
        return;
      }
      if (event.type === "pointerup") return;
      if (this.wanted === undefined) this.play(ms, this.audio.paused);
      else this.wanted = [ms, this.wanted[1]]; // the sound is on its way
    }

    /** Mark `[start_ms, end_ms]` in the drawing, or nothing. */
    select(ends) {
      this.marked = ends;
      this.place();
    }

    toggle() {
      if (this.audio.paused) this.play();
      else this.audio.pause();
    }

    async play(ms, stayPaused = false) {
      const { audio } = this;
      if (this.view.playable === false) return;
      if (this.audioOf !== this.view.recording) {
        this.wanted = [ms || 0, stayPaused];
        this.on.need();
        return;
      }
      if (ms !== undefined) {
        audio.currentTime = ms / 1000;
        this.follow();
      }
      if (stayPaused) return;
      try {
        await audio.play();
      } catch (error) {
        if (error.name !== "AbortError") this.showPlaying();
      }
    }

    /** Go to a moment; whether it plays stays as it is. */
    go(ms) {
      this.play(ms, this.audio.paused);
    }

    /** Repeat a stretch until it is called with `null`. */
    repeat(ends) {
      this.loop = ends;
      this.root.classList.toggle("tl-looping", Boolean(ends));
      if (ends) this.play(ends[0]);
    }

    nextSpeed() {
      this.setSpeed(SPEEDS[(SPEEDS.indexOf(this.speed) + 1) % SPEEDS.length]);
    }

    /** One step faster (1) or slower (-1). */
    changeSpeed(step) {
      const place = Math.min(SPEEDS.length - 1, Math.max(0, SPEEDS.indexOf(this.speed) + step));
      this.setSpeed(SPEEDS[place]);
    }

    setSpeed(speed) {
      this.speed = speed;
      this.audio.playbackRate = speed;
      this.speedButton.textContent = `${speed}×`;
    }

    showPlaying() {
      const { playing } = this;
      this.playButton.classList.toggle("tl-playing", playing);
      this.playButton.setAttribute("aria-label", t(playing ? "pause" : "play"));
    }

    follow() {
      const ms = this.ms();
      const total = this.total();
      if (this.loop && this.playing && (ms >= this.loop[1] || ms < this.loop[0] - 500)) {
        this.audio.currentTime = this.loop[0] / 1000;
        return;
      }
      this.at.textContent = `${clock(ms)} / ${clock(total)}`;
      this.seek.max = Math.max(total, 1);
      this.seek.value = ms;
      this.seek.setAttribute("aria-valuetext", clock(ms));
      const [from, to] = this.range();
      if (this.playing && this.window[1] && (ms > to || ms < from)) {
        const first = ms - (to - from) * FOLLOW_AT;
        this.look(first, first + to - from);
      }
      this.wave.follow(total ? Math.min(1, ms / total) : 0);
      this.place();
      if (this.audioOf) this.on.time(ms, this.playing);
    }

    /** Put the head and the marked stretch where they belong in the drawing. */
    place() {
      const [from, to] = this.range();
      const length = Math.max(1, to - from);
      const share = (ms) => Math.min(1, Math.max(0, (ms - from) / length));
      const ms = this.ms();
      this.head.hidden = ms < from || ms > to;
      this.head.style.insetInlineStart = `${share(ms) * 100}%`;
      const { marked } = this;
      this.part.hidden = !marked || marked[1] < from || marked[0] > to;
      if (this.part.hidden) return;
      this.part.style.insetInlineStart = `${share(marked[0]) * 100}%`;
      this.part.style.width = `${Math.max(0.2, (share(marked[1]) - share(marked[0])) * 100)}%`;
    }

    drawCoverage() {
      const { view, cover } = this;
      const [from, to] = this.range();
      cover.hidden = to <= from || view.state === "empty";
      if (cover.hidden) return;
      const kinds = new Uint8Array(BUCKETS);
      const place = (ms) => ((ms - from) / (to - from)) * BUCKETS;
      const fill = (start, end, kind) => {
        if (end < from || start > to) return;
        const first = Math.max(0, Math.floor(place(start)));
        const last = Math.min(BUCKETS - 1, Math.max(Math.ceil(place(end)) - 1, first));
        for (let i = first; i <= last; i += 1) kinds[i] = kind;
      };
      for (const line of this.lines) fill(line.start, line.end, 1);
      for (const [start, end] of view.gaps) fill(start, end, 2);
      for (const [start, end] of view.lost) if (start < this.total()) fill(start, end, 3);
      const stops = [];
      for (let i = 0, first = 0; i <= BUCKETS; i += 1) {
        if (i < BUCKETS && kinds[i] === kinds[first]) continue;
        stops.push(`${COLOURS[kinds[first]]} ${(first / BUCKETS) * 100}% ${(i / BUCKETS) * 100}%`);
        first = i;
      }
      cover.style.background = `linear-gradient(90deg, ${stops.join(", ")})`;
    }
  }

  window.tinglu.Player = Player;
})();
