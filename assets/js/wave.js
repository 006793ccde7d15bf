// The drawn recording in a player: bars on one canvas, of the whole recording or of a part of it.
(() => {
  "use strict";

  const BAR_PX = 2;
  const STEP_PX = 3; // a bar and the space behind it
  const LEAST_PX = 2; // silence is a line of dots
  const QUIETEST = 10; // of 128: what is quieter throughout is not drawn any larger
  const LOUD_SHARE = 0.98; // this share of the bars fits the height; louder ones are clipped
  const HEADER_BYTES = 24; // of a peaks file
  const FINE_ABOVE = 1.5; // more magnified than this, the outline is too coarse

  /** Lowest and highest values in turn, int8, as the louder of the two, 0 to 128. */
  function loudness(values) {
    const found = new Uint8Array(values.length >> 1);
    for (let i = 0; i < found.length; i += 1) found[i] = Math.max(-values[2 * i], values[2 * i + 1]);
    return found;
  }

  class Wave {
    constructor(canvas) {
      this.canvas = canvas;
      this.clear();
      this.played = 0;
      new ResizeObserver(() => this.draw()).observe(canvas);
      new MutationObserver(() => this.draw()).observe(document.body, { attributeFilter: ["class"] });
    }

    clear() {
      this.points = null;
      this.fine = null; // every point of the recording, once somebody looks closely
      this.fineUrl = "";
      this.gaps = [];
      this.window = [0, 1];
    }

    /**
     * `text` is the outline in base64; `gaps` are parts of the recording, `[first, last]` in
     * [0, 1], in which words are missing; `url` leads to the peaks file of a recording of
     * `totalMs`.
     */
    show(text, gaps, url, totalMs) {
      this.points = loudness(Int8Array.from(atob(text), (char) => char.charCodeAt(0)));
      this.gaps = gaps;
      this.fineUrl = url;
      this.totalMs = totalMs;
      this.look(...this.window);
    }

    /** Draw from `first` to `last`, parts of the recording in [0, 1]. */
    look(first, last) {
      this.window = [first, last];
      if (this.points && 1 / (last - first) > FINE_ABOVE) this.loadFine();
      this.draw();
    }

    async loadFine() {
      const url = this.fineUrl;
      this.fineUrl = "";
      if (!url) return;
      const answer = await fetch(url, { credentials: "same-origin" });
      if (!answer.ok || !this.points) return;
      const bytes = await answer.arrayBuffer();
      const head = new DataView(bytes, 0, HEADER_BYTES);
      const perSecond = head.getInt32(8, true) / head.getInt32(12, true);
      this.fine = loudness(new Int8Array(bytes, HEADER_BYTES));
      this.fineCount = (this.totalMs / 1000) * perSecond; // the file may end a little elsewhere
      this.draw();
    }

    /** How much was played, in [0, 1]. */
    follow(part) {
      this.played = part;
      this.draw();
    }

    /** Height of each bar in [0, 1]: the mean of its points, so that hours keep their shape. */
    bars(count) {
      const points = this.fine || this.points;
      const whole = this.fine ? this.fineCount : points.length;
      const [from, to] = this.window;
      const heights = Array.from({ length: count }, (_, bar) => {
        const first = Math.floor((from + ((to - from) * bar) / count) * whole);
        const last = Math.max(first + 1, Math.floor((from + ((to - from) * (bar + 1)) / count) * whole));
        const part = points.subarray(first, last);
        return part.length ? part.reduce((sum, point) => sum + point, 0) / part.length : 0;
      });
      const sorted = [...heights].sort((a, b) => a - b);
      const full = Math.max(QUIETEST, sorted[Math.floor((count - 1) * LOUD_SHARE)]);
      return heights.map((height) => Math.min(1, height / full));
    }

    draw() {
      const { canvas, points } = this;
      const width = canvas.clientWidth;
      const height = canvas.clientHeight;
      if (!points || !width || !height) return;
      const scale = window.devicePixelRatio || 1;
      canvas.width = Math.round(width * scale);
      canvas.height = Math.round(height * scale);
      const pen = canvas.getContext("2d");
      pen.scale(scale, scale);
      const style = getComputedStyle(canvas);
      const [rest, played, missing] = ["--tl-wave", "--tl-accent", "--tl-warn"].map((name) => style.getPropertyValue(name));
      const count = Math.max(1, Math.floor((width + STEP_PX - BAR_PX) / STEP_PX));
      const step = width / count;
      const [from, to] = this.window;
      this.barsOf(count).forEach((high, bar) => {
        const part = from + ((to - from) * (bar + 0.5)) / count;
        const tall = Math.max(LEAST_PX, high * height);
        if (this.gaps.some(([first, last]) => part >= first && part < last)) pen.fillStyle = missing;
        else pen.fillStyle = part <= this.played ? played : rest;
        const left = Math.round(bar * step);
        if (tall <= LEAST_PX) pen.fillRect(left, (height - tall) / 2, BAR_PX, tall);
        else {
          pen.beginPath();
          pen.roundRect(left, (height - tall) / 2, BAR_PX, tall, BAR_PX / 2);
          pen.fill();
        }
      });
    }

    /** The bars of the last drawing where nothing but the played part has changed. */
    barsOf(count) {
      const key = [count, this.window, this.fine ? 1 : 0].join();
      if (this.barsKey !== key || this.barsFrom !== this.points) {
        this.barsKey = key;
        this.barsFrom = this.points;
        this.kept = this.bars(count);
      }
      return this.kept;
    }
  }

  window.tinglu.Wave = Wave;
})();
