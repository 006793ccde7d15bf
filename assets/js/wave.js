// The drawn recording in a player: bars on one canvas, from a few hundred points whatever the length.
(() => {
  "use strict";

  const BAR_PX = 2;
  const STEP_PX = 3; // a bar and the space behind it
  const LEAST_PX = 2; // silence is a line of dots
  const QUIETEST = 10; // of 128: what is quieter throughout is not drawn any larger
  const LOUD_SHARE = 0.98; // this share of the bars fits the height; louder ones are clipped

  /** Base64 of lowest and highest values in turn, int8, as the louder of the two, 0 to 128. */
  function loudness(text) {
    const values = Int8Array.from(atob(text), (char) => char.charCodeAt(0));
    const found = new Uint8Array(values.length >> 1);
    for (let i = 0; i < found.length; i += 1) found[i] = Math.max(-values[2 * i], values[2 * i + 1]);
    return found;
  }

  class Wave {
    constructor(canvas) {
      this.canvas = canvas;
      this.points = null;
      this.gaps = [];
      this.played = 0;
      new ResizeObserver(() => this.draw()).observe(canvas);
      new MutationObserver(() => this.draw()).observe(document.body, { attributeFilter: ["class"] });
    }

    clear() {
      this.points = null;
    }

    /** `gaps` are parts of the recording, `[first, last]` in [0, 1], in which words are missing. */
    show(text, gaps) {
      this.points = loudness(text);
      this.gaps = gaps;
      this.draw();
    }

    /** How much was played, in [0, 1]. */
    follow(part) {
      this.played = part;
      this.draw();
    }

    /** Height of each bar in [0, 1]: the mean of its points, so that hours keep their shape. */
    bars(count) {
      const { points } = this;
      const heights = Array.from({ length: count }, (_, bar) => {
        const first = Math.floor((bar / count) * points.length);
        const last = Math.max(first + 1, Math.floor(((bar + 1) / count) * points.length));
        return points.subarray(first, last).reduce((sum, point) => sum + point, 0) / (last - first);
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
      this.bars(count).forEach((high, bar) => {
        const part = (bar + 0.5) / count;
        const tall = Math.max(LEAST_PX, high * height);
        if (this.gaps.some(([first, last]) => part >= first && part < last)) pen.fillStyle = missing;
        else pen.fillStyle = part <= this.played ? played : rest;
        pen.beginPath();
        pen.roundRect(bar * step, (height - tall) / 2, BAR_PX, tall, BAR_PX / 2);
        pen.fill();
      });
    }
  }

  window.tinglu.Wave = Wave;
})();
