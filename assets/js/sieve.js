// What the history is narrowed by: the box of choices, and a chip for each that is in force.
(() => {
  "use strict";
  const { t, el } = window.tinglu;

  const MINUTE_MS = 60000;
  const LENGTHS = { under1: [null, 1], to10: [1, 10], to60: [10, 60], over60: [60, null] };
  const TIMES = ["today", "week", "month", "year"];
  const MANY = 40; // choices of a kind that are shown; tags can be hundreds
  const KINDS = ["states", "models", "origins", "tags"];
  const NOTHING = { time: "", from: "", to: "", length: "", shortest: "", longest: "", states: [], models: [], origins: [], tags: [], owner: "" };

  const midnight = (date, days = 0) => new Date(date.getFullYear(), date.getMonth(), date.getDate() + days).getTime();
  /** `2026-11-30` of a date field as the beginning of that day here. */
  const dayOf = (text, days = 0) => {
    const [year, month, date] = text.split("-").map(Number);
    return midnight(new Date(year, month - 1, date), days);
  };

  function timeRange({ time, from, to }) {
    const now = new Date();
    if (time === "today") return [midnight(now), null];
    if (time === "week") return [midnight(now, -6), null];
    if (time === "month") return [midnight(now, -29), null];
    if (time === "year") return [new Date(now.getFullYear(), 0, 1).getTime(), null];
    if (time === "own") return [from ? dayOf(from) : null, to ? dayOf(to, 1) : null];
    return [null, null];
  }

  /** Both ends in their order, whichever was typed where. */
  function ordered({ from, to, shortest, longest }) {
    const days = from && to && from > to ? [to, from] : [from, to];
    const minutes = shortest !== "" && longest !== "" && Number(shortest) > Number(longest) ? [longest, shortest] : [shortest, longest];
    return { from: days[0], to: days[1], shortest: minutes[0], longest: minutes[1] };
  }

  function lengthRange({ length, shortest, longest }) {
    const minutes = (text) => (text === "" || Number.isNaN(Number(text)) ? null : Number(text));
    const [from, to] = length === "own" ? [minutes(shortest), minutes(longest)] : LENGTHS[length] || [null, null];
    return [from, to].map((value) => (value === null ? null : Math.round(value * MINUTE_MS)));
  }

  class Sieve {
    /** `changed()` is called when something else is wanted. */
    constructor(changed) {
      this.changed = changed;
      this.wanted = structuredClone(NOTHING);
      this.facets = null;
      this.button = el("button", { type: "button", class: "tl-button tl-filter", "aria-expanded": "false", onclick: () => this.toggle() });
      this.box = el("div", { class: "tl-sieve", hidden: true, role: "group", "aria-label": t("history.filters") });
      this.chips = el("div", { class: "tl-sieve-chips", role: "group", "aria-label": t("history.active") });
      this.build();
      // A press on a chip ends a field, whose change would put another chip under the pointer.
      this.held = false;
      this.chips.addEventListener("pointerdown", () => { this.held = true; });
      for (const end of ["pointerup", "pointercancel"]) {
        window.addEventListener(end, () => {
          if (!this.held) return;
          this.held = false;
          setTimeout(() => this.drawChips());
        });
      }
      this.draw();
    }

    build() {
      const pick = (name, values, word) => el("select", { class: "tl-select", "aria-label": t(`history.by.${name}`), onchange: (event) => this.set({ [name]: event.target.value }) },
        el("option", { value: "", text: t("history.any") }), ...values.map((value) => el("option", { value, text: t(`history.${word}.${value}`) })), el("option", { value: "own", text: t("history.own") }));
      const field = (name, type) => el("input", { type, class: "tl-field", min: type === "number" ? 0 : null, "aria-label": t(`history.by.${name}`), onchange: (event) => this.set({ [name]: event.target.value }) });
      this.fields = { time: pick("time", TIMES, "time"), length: pick("length", Object.keys(LENGTHS), "length"), from: field("from", "date"), to: field("to", "date"), shortest: field("shortest", "number"), longest: field("longest", "number") };
      const f = this.fields;
      this.ownTime = el("span", { class: "tl-sieve-own" }, f.from, "–", f.to);
      this.ownLength = el("span", { class: "tl-sieve-own" }, f.shortest, "–", f.longest, el("span", { class: "tl-muted", text: t("history.minutes") }));
      this.choices = Object.fromEntries([...KINDS, "owners"].map((kind) => [kind, el("div", { class: "tl-sieve-choices", role: "group", "aria-label": t(`history.by.${kind}`) })]));
      const line = (name, ...parts) => el("div", { class: "tl-sieve-line", "data-by": name }, el("span", { class: "tl-sieve-name", text: t(`history.by.${name}`) }), ...parts);
      this.box.append(line("time", f.time, this.ownTime), line("length", f.length, this.ownLength), ...[...KINDS, "owners"].map((kind) => line(kind, this.choices[kind])));
    }

    toggle(open = this.box.hidden) {
      this.box.hidden = !open;
      this.button.setAttribute("aria-expanded", String(open));
    }

    set(change) {
      Object.assign(this.wanted, change);
      this.draw();
      this.changed();
    }

    clear() {
      this.set(structuredClone(NOTHING));
    }

    get active() {
      return this.parts().length > 0;
    }

    /** As the server is asked. */
    filters() {
      const wanted = { ...this.wanted, ...ordered(this.wanted) };
      const [from_ms, to_ms] = timeRange(wanted);
      const [shortest_ms, longest_ms] = lengthRange(wanted);
      return { from_ms, to_ms, shortest_ms, longest_ms, states: wanted.states, models: wanted.models, origins: wanted.origins, tags: wanted.tags, owner: wanted.owner };
    }

    show(facets) {
      this.facets = facets;
      this.draw();
    }

    /** What is called otherwise now, or is gone (`null`). */
    renameTag(name, now) {
      if (!this.wanted.tags.includes(name)) return;
      const others = this.wanted.tags.filter((tag) => tag !== name && tag !== now);
      this.set({ tags: now ? [...others, now] : others });
    }

    word(kind, value) {
      if (kind === "states") return t(`state.${value}`);
      if (kind === "origins") return t(`history.origin.${value}`);
      const known = this.facets && this.facets[kind].find(([name]) => name === value);
      return (known && known[1]) || value || t("history.everybody");
    }

    /** Everything in force: its words, and what takes it away. */
    parts() {
      const wanted = { ...this.wanted, ...ordered(this.wanted) };
      const parts = [];
      const add = (kind, text, change) => parts.push({ kind, text, change });
      const [from, to] = timeRange(wanted);
      if (from !== null || to !== null) add("time", wanted.time === "own" ? `${wanted.from || "…"} – ${wanted.to || "…"}` : t(`history.time.${wanted.time}`), { time: "", from: "", to: "" });
      const [shortest, longest] = lengthRange(wanted);
      if (shortest !== null || longest !== null) add("length", wanted.length === "own" ? t("history.minutes_between", { from: wanted.shortest || "0", to: wanted.longest || "∞" }) : t(`history.length.${wanted.length}`), { length: "", shortest: "", longest: "" });
      for (const kind of KINDS) for (const value of wanted[kind]) add(kind, this.word(kind, value), { [kind]: wanted[kind].filter((other) => other !== value) });
      if (wanted.owner) add("owners", wanted.owner, { owner: "" });
      return parts;
    }

    draw() {
      const { wanted, fields } = this;
      for (const [name, field] of Object.entries(fields)) if (document.activeElement !== field || field.tagName === "SELECT") field.value = wanted[name];
      this.ownTime.hidden = wanted.time !== "own";
      this.ownLength.hidden = wanted.length !== "own";
      for (const kind of KINDS) this.drawChoices(kind, wanted[kind]);
      this.drawOwners();
      if (!this.held) this.drawChips();
    }

    drawChips() {
      const parts = this.parts();
      this.button.replaceChildren(t("history.filter"), parts.length ? el("b", { class: "tl-count", text: parts.length }) : "");
      this.chips.hidden = !parts.length;
      this.chips.replaceChildren(...parts.map(({ kind, text, change }) => el("button", { type: "button", class: "tl-tag tl-tag-off", dir: "auto", title: t("history.unfilter", { name: text }), "aria-label": t("history.unfilter", { name: text }), "data-by": kind, onclick: () => this.drop(change) },
        el("span", { text }), el("i", { text: "×", "aria-hidden": "true" }))),
        parts.length ? el("button", { type: "button", class: "tl-link", text: t("history.clear"), onclick: () => this.clear() }) : "");
    }

    drop(change) {
      this.set(change);
      (this.chips.querySelector("button") || this.button).focus();
    }

    drawChoices(kind, chosen) {
      const known = this.facets ? this.facets[kind] : [];
      const few = kind === "tags" ? [...known].sort((a, b) => b[2] - a[2]).slice(0, MANY) : known;
      const values = [...few.map(([value]) => value), ...chosen.filter((value) => !few.some(([name]) => name === value))];
      const box = this.choices[kind];
      box.parentNode.hidden = values.length < (kind === "tags" ? 1 : 2) && !chosen.length;
      const focused = box.contains(document.activeElement) ? document.activeElement.dataset.value : null;
      box.replaceChildren(...values.map((value) => this.choice(kind, value, chosen, known)));
      if (focused !== null) [...box.children].forEach((node) => node.dataset.value === focused && node.focus());
    }

    choice(kind, value, chosen, known) {
      const on = chosen.includes(value);
      const [, , count] = known.find(([name]) => name === value) || [];
      return el("button", { type: "button", class: "tl-choice-chip", "aria-pressed": String(on), "data-value": value, dir: "auto",
        onclick: () => this.set({ [kind]: on ? chosen.filter((other) => other !== value) : [...chosen, value] }) },
        el("span", { text: this.word(kind, value) }), count === undefined ? null : el("small", { text: count }));
    }

    /** Whose they are, only where there is more than one. */
    drawOwners() {
      const owners = (this.facets ? this.facets.owners : []).filter(([name]) => name);
      const box = this.choices.owners;
      box.parentNode.hidden = !(this.facets && this.facets.owners.length > 1);
      box.replaceChildren(...owners.map(([name, , count]) => el("button", { type: "button", class: "tl-choice-chip", dir: "auto", "aria-pressed": String(this.wanted.owner === name),
        onclick: () => this.set({ owner: this.wanted.owner === name ? "" : name }) }, el("span", { text: name }), el("small", { text: count }))));
    }
  }

  window.tinglu.Sieve = Sieve;
})();
