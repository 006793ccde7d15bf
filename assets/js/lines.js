// The sentences of a transcript: only those in sight are in the page, whatever the length.
(() => {
  "use strict";
  const { t, el, stamp } = window.tinglu;

  const PLAIN = 0;
  const DOUBTFUL = 1;
  const REWRITTEN = 2;
  const CORRECTED = 3;
  const CLASS_OF = { [DOUBTFUL]: "tl-low", [REWRITTEN]: "tl-num", [CORRECTED]: "tl-fix" };
  const BEYOND_PX = 500; // kept above and below what is in sight
  const CHAR_PX = 15; // a Chinese character, to guess heights
  const LINE_PX = 25.5;
  const PADDING_PX = 12;
  const WHO_MIN_PX = 64;
  const LEAST_TEXT_PX = 120;

  /** The pieces of a line in one form. */
  function piecesOf(line, form) {
    return form === "spoken" && line.spoken ? line.spoken : line.written;
  }

  const texts = { written: new WeakMap(), spoken: new WeakMap() };

  function textOf(line, form = "written") {
    let text = texts[form].get(line);
    if (text === undefined) {
      text = piecesOf(line, form).map((piece) => piece[0]).join("");
      texts[form].set(line, text);
    }
    return text;
  }

  /** Whether a piece is doubtful: heard as it is written, and less sure than `threshold` percent. */
  function isDoubtful(piece, threshold) {
    return piece[2] <= DOUBTFUL && piece[3] < threshold;
  }

  /** Pieces as nodes: runs of plain text are joined unless `split` wants every piece apart. */
  function pieceNodes(pieces, split, threshold) {
    const nodes = [];
    let plain = "";
    const flush = () => {
      if (plain) nodes.push(document.createTextNode(plain));
      plain = "";
    };
    for (const piece of pieces) {
      const [text, start, kind, more] = piece;
      const flag = kind > DOUBTFUL ? kind : isDoubtful(piece, threshold) ? DOUBTFUL : PLAIN;
      if (!flag && !split) {
        plain += text;
        continue;
      }
      flush();
      const title = flag === CORRECTED ? t("words.heard", { heard: more }) : flag === DOUBTFUL ? t("doubtful_at", { percent: more }) : null;
      nodes.push(el("span", { class: CLASS_OF[flag] || null, "data-start": start, text, title }));
    }
    flush();
    return nodes;
  }

  /**
   * `host` tells `form`, `threshold` and `editable`, and `drawn()` is called after each drawing;
   * `on` are listeners of the box.
   * Lines are objects; a line that changed is a new object.
   */
  class LineList {
    constructor(host, on) {
      this.host = host;
      this.lines = [];
      this.heights = [];
      this.tops = [0];
      this.clean = 0; // tops up to here are right
      this.drawn = new Map(); // line to {node, text, index}
      this.at = 0; // the row that the tab key reaches
      this.lit = -1; // the row that is playing
      this.pinned = null; // a line that stays in the page wherever the list is
      this.range = null; // [first, last] rows that are marked
      this.body = el("div", { class: "tl-lines-body", role: "list", "aria-label": t("sentences") });
      this.box = el("div", { class: "tl-lines", ...on }, this.body);
      this.body.addEventListener("focusin", (event) => this.took(event));
      this.soon = 0;
      const later = () => this.later();
      window.addEventListener("scroll", later, { capture: true, passive: true });
      window.addEventListener("resize", later);
      this.width = 0;
      new ResizeObserver(() => this.resized()).observe(this.body);
    }

    /** The tab key comes back to the row that had the focus last. */
    took(event) {
      const index = this.indexOf(event.target);
      if (index < 0 || index === this.at) return;
      this.at = index;
      this.mark();
    }

    resized() {
      const width = this.body.clientWidth;
      if (width === this.width) return;
      this.width = width;
      if (width) this.guess();
      this.render();
    }

    /** Other lines in the place of all; the view stays at the same row if `keep`. */
    show(lines, keep = false) {
      const top = keep ? this.box.scrollTop : 0;
      this.lines = lines;
      for (const { node } of this.drawn.values()) node.remove();
      this.drawn.clear();
      this.range = null;
      this.lit = -1;
      this.at = keep ? Math.min(this.at, Math.max(0, lines.length - 1)) : 0;
      this.pinned = null;
      this.guess();
      this.box.classList.toggle("tl-with-who", lines.some((line) => line.who));
      this.body.style.height = `${this.top(lines.length)}px`;
      this.box.scrollTop = top;
      this.render();
    }

    guess() {
      const { width } = this;
      const text = Math.max(LEAST_TEXT_PX, width - WHO_MIN_PX * (this.box.classList.contains("tl-with-who") && width > 560 ? 2 : 1) - 40);
      this.perLine = Math.max(6, Math.floor(text / CHAR_PX));
      this.heights = this.lines.map((line) => this.guessed(line));
      this.clean = 0;
    }

    guessed(line) {
      const { length } = textOf(line, this.host.form);
      return PADDING_PX + LINE_PX * Math.max(1, Math.ceil(length / this.perLine));
    }

    /** Where a row begins, in px. */
    top(index) {
      const { tops, heights } = this;
      tops.length = heights.length + 1;
      tops[0] = 0;
      for (; this.clean < index; this.clean += 1) tops[this.clean + 1] = tops[this.clean] + heights[this.clean];
      return tops[index];
    }

    /** Rows in the place of others. A single one that takes the place of one keeps its node. */
    splice(first, removed, fresh) {
      const old = this.lines.slice(first, first + removed);
      this.lines.splice(first, removed, ...fresh);
      this.heights.splice(first, removed, ...fresh.map((line) => this.guessed(line)));
      this.clean = Math.min(this.clean, first);
      if (removed === 1 && fresh.length === 1) {
        const entry = this.drawn.get(old[0]);
        if (entry) {
          this.drawn.delete(old[0]);
          this.drawn.set(fresh[0], entry);
          entry.stale = true;
        }
        if (this.pinned === old[0]) this.pinned = fresh[0];
      } else {
        for (const line of old) {
          this.drop(line);
          if (this.pinned === line) this.pinned = null;
        }
        const shift = fresh.length - removed;
        if (this.at >= first + removed) this.at += shift;
        if (this.lit >= first + removed) this.lit += shift;
        else if (this.lit >= first) this.lit = -1;
        this.range = null;
      }
      const behind = this.drawn.get(this.lines[first + fresh.length]);
      if (behind) behind.stale = true; // its speaker is shown where it differs from the one before
      this.at = Math.min(this.at, Math.max(0, this.lines.length - 1));
      this.box.classList.toggle("tl-with-who", this.lines.some((line) => line.who));
      this.later();
    }

    drop(line) {
      const entry = this.drawn.get(line);
      if (entry) entry.node.remove();
      this.drawn.delete(line);
    }

    /** Draw a row again, or all of them. */
    refresh(index) {
      if (index === undefined) for (const entry of this.drawn.values()) entry.stale = true;
      else {
        const entry = this.drawn.get(this.lines[index]);
        if (entry) entry.stale = true;
      }
      this.later();
    }

    later() {
      if (this.soon) return;
      this.soon = requestAnimationFrame(() => {
        this.soon = 0;
        this.render();
      });
    }

    indexAt(y) {
      this.top(this.lines.length);
      let low = 0;
      let high = this.lines.length;
      while (low < high) {
        const middle = (low + high) >> 1;
        if (this.tops[middle + 1] <= y) low = middle + 1;
        else high = middle;
      }
      return low;
    }

    /** Top and bottom of what is in sight, in px of the list, whatever scrolls: the box or the page. */
    sight() {
      const box = this.box.getBoundingClientRect();
      if (!box.height) return null;
      const body = this.body.getBoundingClientRect();
      return [Math.max(box.top, 0) - body.top, Math.min(box.bottom, window.innerHeight) - body.top];
    }

    render() {
      if (!this.lines.length) {
        this.body.style.height = "0";
        return;
      }
      const sight = this.sight();
      if (!sight) return;
      this.draw(sight);
      if (this.measure(sight)) this.draw(this.sight());
      this.host.drawn();
    }

    draw([top, bottom]) {
      const { lines, drawn } = this;
      this.body.style.height = `${this.top(lines.length)}px`;
      const first = Math.min(this.indexAt(Math.max(0, top - BEYOND_PX)), lines.length - 1);
      const last = Math.min(this.indexAt(Math.max(top, bottom) + BEYOND_PX), lines.length - 1);
      const wanted = [];
      for (let index = first; index <= last; index += 1) wanted.push(index);
      for (const index of [this.at, this.pinned ? lines.indexOf(this.pinned) : -1]) {
        if (index >= 0 && index < lines.length && (index < first || index > last) && !wanted.includes(index)) wanted.push(index);
      }
      wanted.sort((a, b) => a - b);
      const kept = new Set(wanted.map((index) => lines[index]));
      for (const line of [...drawn.keys()]) if (!kept.has(line)) this.drop(line);
      let next = this.body.firstChild;
      for (const index of wanted) {
        const entry = drawn.get(lines[index]) || this.make(lines[index]);
        if (entry.index !== index) {
          entry.index = index;
          entry.node.dataset.index = String(index);
          entry.node.setAttribute("aria-posinset", String(index + 1));
          entry.stale = true;
        }
        entry.node.setAttribute("aria-setsize", String(lines.length));
        if (entry.stale) this.fill(entry, lines[index], index);
        const place = `translateY(${this.top(index)}px)`;
        if (entry.node.style.transform !== place) entry.node.style.transform = place;
        if (entry.node === next) next = next.nextSibling;
        else this.body.insertBefore(entry.node, next);
      }
      this.mark();
    }

    /** Take real heights in the place of guesses; what is in sight stays where it is. */
    measure([top]) {
      const anchor = Math.min(this.indexAt(Math.max(0, top)), this.lines.length - 1);
      const before = this.top(anchor);
      let changed = this.lines.length;
      for (const { node, index } of this.drawn.values()) {
        const height = node.offsetHeight;
        if (!height || Math.abs(height - this.heights[index]) < 0.5) continue;
        this.heights[index] = height;
        changed = Math.min(changed, index);
      }
      if (changed === this.lines.length) return false;
      this.clean = Math.min(this.clean, changed);
      const moved = this.top(anchor) - before;
      if (moved && top > 0) {
        this.body.style.height = `${this.top(this.lines.length)}px`;
        this.scrollBy(moved);
      }
      return true;
    }

    scrollBy(px) {
      if (this.box.scrollHeight > this.box.clientHeight + 1) this.box.scrollTop += px;
      else window.scrollBy(0, px);
    }

    make(line) {
      const text = el("div", { class: "tl-text" });
      const time = el("time", { title: t("play_from") });
      const node = el("div", { class: "tl-line", role: "listitem", tabindex: -1 }, time, text);
      const entry = { node, time, text, who: null, index: -1, stale: true };
      this.drawn.set(line, entry);
      return entry;
    }

    fill(entry, line, index) {
      entry.stale = false;
      entry.time.textContent = stamp(line.start);
      const before = this.lines[index - 1];
      const shown = (line.who || "") !== ((before && before.who) || "");
      if (entry.who) entry.who.remove();
      entry.who = null;
      if (shown) {
        const name = { class: line.who ? "tl-who" : "tl-who tl-nobody", text: line.who || t("who.nobody") };
        entry.who = this.host.editable ? el("button", { type: "button", tabindex: -1, title: t("who.change"), ...name }) : el("span", name);
        entry.time.after(entry.who);
      }
      if (entry.node.contains(document.activeElement) && entry.text.isContentEditable) return; // the editor's
      const waiting = this.host.waiting(line);
      entry.node.classList.toggle("tl-unsent", waiting !== null);
      if (waiting !== null) {
        entry.text.textContent = waiting;
        return;
      }
      const split = index === this.lit || line === this.pinned;
      entry.text.replaceChildren(...pieceNodes(piecesOf(line, this.host.form), split, this.host.threshold));
    }

    /** States of rows that are drawn: playing, marked, reached by the tab key. */
    mark() {
      const { range } = this;
      for (const { node, index } of this.drawn.values()) {
        node.tabIndex = index === this.at ? 0 : -1;
        node.classList.toggle("tl-on", index === this.lit);
        node.classList.toggle("tl-marked", Boolean(range) && index >= range[0] && index <= range[1]);
        if (index === this.lit) node.setAttribute("aria-current", "true");
        else node.removeAttribute("aria-current");
      }
    }

    entry(index) {
      return this.drawn.get(this.lines[index]);
    }

    indexOf(node) {
      const row = node && node.closest && node.closest(".tl-line");
      return row && this.body.contains(row) ? Number(row.dataset.index) : -1;
    }

    /** Bring a row into sight: where it is `near`est, or in the `center`. */
    reveal(index, block = "nearest") {
      for (let pass = 0; pass < 3; pass += 1) {
        const sight = this.sight();
        if (!sight) return;
        const top = this.top(index);
        const bottom = this.top(index + 1);
        const [from, to] = sight;
        if (block === "nearest" && top >= from && bottom <= to) break;
        const room = Math.max(0, (to - from) - (bottom - top));
        const wanted = block === "center" || pass > 0 || top > to || bottom < from ? top - room / 3 : top < from ? top : bottom - (to - from);
        const move = wanted - from;
        if (Math.abs(move) < 1) break;
        this.scrollBy(move);
        this.render();
      }
      this.render();
      const entry = this.entry(index);
      const sight = this.sight();
      // The box itself may reach beyond the window.
      if (entry && sight && (this.top(index) < sight[0] || this.top(index + 1) > sight[1])) entry.node.scrollIntoView({ block: "nearest" });
    }

    focus(index) {
      if (index < 0 || index >= this.lines.length) return;
      this.at = index;
      this.reveal(index);
      const entry = this.entry(index);
      if (entry) entry.node.focus({ preventScroll: true });
    }

    /** Light the row that plays; -1 for none. */
    light(index) {
      if (index === this.lit) return;
      const old = this.lit;
      this.lit = index;
      for (const changed of [old, index]) if (changed >= 0) this.refresh(changed);
      this.render();
    }
  }

  Object.assign(window.tinglu, { LineList, pieceNodes, piecesOf, textOf, isDoubtful });
})();
