// Shared by our browser components: locale, texts, element building, time words, mounting.
// Every text reaches the page through textContent or an attribute value, never as markup.
(() => {
  "use strict";

  const locale = navigator.language.toLowerCase().startsWith("zh") ? "zh-CN" : "en";
  const table = window.tingluMessages[locale];
  const MANY_HOURS = 24; // beyond these nobody counts minutes
  const makers = {};
  const mounted = {};

  /** The text of a key; `{name}` is replaced by `values.name`. */
  function t(key, values = {}) {
    const text = table[key];
    if (text === undefined) return key;
    return text.replace(/\{(\w+)\}/g, (whole, name) => (name in values ? String(values[name]) : whole));
  }

  /** An element; `props` are attributes, `on*` listeners, `text` its textContent. */
  function el(tag, props = {}, ...children) {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(props)) {
      if (value === null || value === undefined || value === false) continue;
      if (name === "text") node.textContent = value;
      else if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
      else node.setAttribute(name, value === true ? "" : String(value));
    }
    node.append(...children.filter((child) => child !== null && child !== undefined));
    return node;
  }

  const two = (number) => String(number).padStart(2, "0");

  /** 3725000 as 1:02:05, 65000 as 1:05. */
  function clock(ms) {
    const s = Math.max(0, Math.floor(ms / 1000));
    const hours = Math.floor(s / 3600);
    const minutes = Math.floor(s / 60) % 60;
    return hours ? `${hours}:${two(minutes)}:${two(s % 60)}` : `${minutes}:${two(s % 60)}`;
  }

  /** 65000 as 00:01:05, for columns of times. */
  function stamp(ms) {
    const s = Math.max(0, Math.floor(ms / 1000));
    return `${two(Math.floor(s / 3600))}:${two(Math.floor(s / 60) % 60)}:${two(s % 60)}`;
  }

  function day(ms) {
    const at = new Date(ms);
    const date = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
    return `${date} ${two(at.getHours())}:${two(at.getMinutes())}`;
  }

  /** 4980000 as "1 h 23 min", in words for what nobody needs to the second. */
  function span(ms) {
    const minutes = Math.max(0, Math.round(ms / 60000));
    if (minutes < 1) return t("span.less");
    if (minutes < 60) return t("span.minutes", { minutes });
    const hours = Math.floor(minutes / 60);
    if (hours >= MANY_HOURS || minutes % 60 === 0) return t("span.whole_hours", { hours: Math.round(minutes / 60) });
    return t("span.hours", { hours, minutes: minutes % 60 });
  }

  /** 1536000 bytes as 1.5 MB. */
  function size(bytes) {
    const units = ["B", "KB", "MB", "GB", "TB"];
    let unit = 0;
    for (; bytes >= 1024 && unit < units.length - 1; unit += 1) bytes /= 1024;
    return `${bytes >= 100 || unit < 2 ? Math.round(bytes) : bytes.toFixed(1)} ${units[unit]}`;
  }

  /** The address of a file that the server allows. */
  function fileUrl(path) {
    const root = (window.gradio_config && window.gradio_config.root) || "";
    const parts = path.split("/").map(encodeURIComponent).join("/");
    return `${root}/gradio_api/file=${parts}`;
  }

  /** A badge for a job state. */
  function badge(state) {
    return el("span", { class: `tl-badge tl-is-${state}`, text: t(`state.${state}`) });
  }

  function define(kind, maker) {
    makers[kind] = maker;
  }

  /**
   * Called by a component's load script. The maker returns `{update(value)}` and whatever other
   * components may call on it by its element id. `server` holds the functions that it may await.
   */
  function mount(kind, id, element, trigger, props, watch, server) {
    const root = element.querySelector(".tl-root");
    const part = makers[kind]({ root, trigger, props, id, server });
    mounted[id] = part;
    // The value is JSON text, empty while there is none.
    const show = () => props.value && part.update(JSON.parse(props.value));
    watch("value", show);
    show();
  }

  function find(id) {
    return mounted[id];
  }

  window.tinglu = { locale, t, el, clock, stamp, day, span, size, fileUrl, badge, define, mount, find };
})();
