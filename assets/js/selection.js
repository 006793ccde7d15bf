// Windows for what is chosen in the history: taking it along as a file, and find and replace in it.
(() => {
  "use strict";
  const { t, el, size, openDialog, toast, marked, fileUrl } = window.tinglu;

  const KINDS = ["zip", "csv", "jsonl"];
  const STORED = "tinglu-export-many";

  function stored() {
    try {
      return JSON.parse(localStorage.getItem(STORED)) || {};
    } catch {
      return {}; // a browser that keeps nothing
    }
  }

  function store(choices) {
    try {
      localStorage.setItem(STORED, JSON.stringify(choices));
    } catch {
      // it holds for this visit only
    }
  }

  function download({ path, name }) {
    const link = el("a", { href: fileUrl(path), download: name });
    document.body.append(link);
    link.click();
    link.remove();
  }

  /**
   * Choose formats, then follow the export.
   *
   * `take(data, onnews)` starts it and returns how it ended; `stop(key)` ends it early.
   */
  function exportWindow({ count, formats, take, stop }) {
    const before = stored();
    let kind = KINDS.includes(before.kind) ? before.kind : "zip";
    let key = "";
    const chosen = new Set((before.formats || ["txt"]).filter((name) => formats.includes(name)));
    const kinds = el("div", { class: "tl-seg", role: "group", "aria-label": t("export.kind") }, ...KINDS.map((name) => el("button", { type: "button", "data-kind": name, text: t(`export.kind.${name}`), onclick: () => { kind = name; draw(); } })));
    const hint = el("p", { class: "tl-muted tl-dialog-text" });
    const boxes = el("div", { class: "tl-sieve-choices tl-formats", role: "group", "aria-label": t("export.formats") }, ...formats.map((name) => el("button", { type: "button", class: "tl-choice-chip", "data-format": name, text: t(`format.${name}`),
      onclick: () => { if (!chosen.delete(name)) chosen.add(name); draw(); } })));
    const form = el("select", { class: "tl-select", "aria-label": t("form") }, ...["written", "spoken"].map((name) => el("option", { value: name, text: t(name) })));
    form.value = before.form === "spoken" ? "spoken" : "written";
    const formLine = el("label", { class: "tl-dialog-line" }, el("span", { text: t("form") }), form);
    const fill = el("i");
    const bar = el("div", { class: "tl-bar", role: "progressbar", "aria-label": t("progress"), hidden: true }, fill);
    const news = el("p", { class: "tl-meta", role: "status" });
    const start = el("button", { type: "button", class: "tl-button tl-primary", autofocus: true, text: t("export.start"), onclick: () => run() });
    const leave = el("button", { type: "button", class: "tl-button", text: t("dialog.cancel"), onclick: () => window_.close() });

    function draw() {
      for (const button of kinds.children) button.setAttribute("aria-pressed", String(button.dataset.kind === kind));
      for (const button of boxes.children) button.setAttribute("aria-pressed", String(chosen.has(button.dataset.format)));
      hint.textContent = t(`export.hint.${kind}`);
      boxes.hidden = formLine.hidden = kind !== "zip";
      start.disabled = Boolean(key) || (kind === "zip" && !chosen.size);
    }

    function follow({ done, total }) {
      fill.style.width = `${total ? (done / total) * 100 : 0}%`;
      bar.setAttribute("aria-valuenow", String(total ? Math.round((done / total) * 100) : 0));
      news.textContent = t("export.news", { done, total });
    }

    async function run() {
      key = Array.from(crypto.getRandomValues(new Uint8Array(12)), (byte) => byte.toString(16)).join("");
      store({ kind, formats: [...chosen], form: form.value });
      bar.hidden = false;
      news.textContent = t("export.begins");
      draw();
      for (const button of [...kinds.children, ...boxes.children]) button.disabled = true;
      form.disabled = true;
      const ended = await take({ key, kind, formats: formats.filter((name) => chosen.has(name)), options: { form: form.value } }, follow);
      key = "";
      window_.close();
      if (ended.file) {
        download(ended.file);
        const words = t("export.done", { count: ended.written, size: size(ended.size) });
        toast(ended.skipped ? `${words} ${t("export.skipped", { count: ended.skipped })}` : words);
      } else if (ended.cancelled) toast(t("export.cancelled"));
    }

    const window_ = openDialog({
      title: t("export.title", { count }),
      onclose: () => key && stop(key),
      build: () => [kinds, hint, boxes, formLine, bar, news, el("div", { class: "tl-dialog-acts" }, leave, start)],
    });
    draw();
  }

  /**
   * Find and replace in everything chosen, never without having shown what it does.
   *
   * `act(name, data)` asks the server; `done(answer)` hears what was replaced.
   */
  function replaceWindow({ count, find, act, done }) {
    let found = null;
    const left = new Set(); // recordings that are to stay as they are
    const stale = () => { found = null; draw(); };
    const field = (name, value, focus) => el("input", { type: "text", class: "tl-field", value, autofocus: focus, dir: "auto", spellcheck: "false", "aria-label": t(name), placeholder: t(name), oninput: stale, onkeydown: (event) => event.key === "Enter" && !event.isComposing && look() });
    const from = field("replace.find", find, true);
    const to = field("replace.put", "", false);
    const box = el("input", { type: "checkbox", onchange: stale });
    const sum = el("p", { class: "tl-meta", role: "status" });
    const list = el("div", { class: "tl-replace-list" });
    const preview = el("button", { type: "button", class: "tl-button", text: t("replace.preview"), onclick: () => look() });
    const go = el("button", { type: "button", class: "tl-button tl-primary", onclick: () => run() });

    async function look() {
      if (!from.value) return from.focus();
      const asked = [from.value, to.value, box.checked];
      preview.disabled = true;
      sum.textContent = t("replace.looking");
      const answer = await act("preview", { find: asked[0], put: asked[1], case: asked[2] });
      preview.disabled = false;
      if (answer && asked.join("\n") === [from.value, to.value, box.checked].join("\n")) {
        found = answer;
        left.clear();
      }
      return draw();
    }

    const counted = () => found.found.filter(({ id }) => !left.has(id));
    function draw() {
      const some = Boolean(found && counted().length);
      go.disabled = !some;
      const hits = some ? counted().reduce((total, each) => total + each.hits, 0) : 0;
      go.textContent = some ? t("replace.go", { count: hits }) : t("replace.all");
      sum.textContent = found ? (found.found.length ? t("replace.sum", { hits: found.hits, count: found.found.length }) : t("replace.nothing")) : "";
      if (found && found.rest) sum.textContent += ` ${t("replace.rest", { count: found.rest })}`;
      if (!found) list.replaceChildren();
      else if (list.dataset.of !== String(found.serial)) list.replaceChildren(...found.found.map(part));
      list.dataset.of = found ? String(found.serial) : "";
    }

    function part({ id, name, hits, lines, more }) {
      const keep = el("input", { type: "checkbox", onchange: () => { if (keep.checked) left.delete(id); else left.add(id); draw(); } });
      keep.checked = true;
      return el("section", { class: "tl-replace-part" },
        el("label", { class: "tl-replace-name" }, keep, el("bdi", { class: "tl-replace-title", title: name, text: name }), el("span", { class: "tl-muted", text: t("replace.hits", { count: hits }) })),
        ...lines.map(([was, now]) => el("div", { class: "tl-replace-line" },
          el("p", { class: "tl-was", dir: "auto" }, ...marked(was)),
          el("p", { class: "tl-now", dir: "auto" }, ...(now.length ? marked(now) : [el("span", { class: "tl-muted", text: t("replace.removed") })])))),
        more ? el("p", { class: "tl-muted", text: t("replace.more", { count: more }) }) : null);
    }

    async function run() {
      go.disabled = true;
      const stamps = Object.fromEntries(counted().map(({ id, stamp }) => [id, stamp]));
      const answer = await act("replace", { find: from.value, put: to.value, case: box.checked, stamps });
      if (!answer) return draw();
      window_.close();
      return done(answer);
    }

    const window_ = openDialog({
      title: t("replace.title", { count }),
      wide: true,
      build: (close) => [
        el("div", { class: "tl-replace-fields" }, from, to, preview),
        el("label", { class: "tl-dialog-line" }, box, el("span", { text: t("replace.case") })),
        sum, list,
        el("div", { class: "tl-dialog-acts" }, el("button", { type: "button", class: "tl-button", text: t("dialog.cancel"), onclick: close }), go),
      ],
    });
    draw();
  }

  Object.assign(window.tinglu, { exportWindow, replaceWindow });
})();
