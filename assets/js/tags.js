// Tags: a field that suggests those in use, giving and taking them, and tidying them.
(() => {
  "use strict";
  const { t, el, openDialog, confirm, nameField, toast } = window.tinglu;

  const SUGGESTED = 8;
  const LONGEST = 50; // characters of a tag
  let serial = 0;

  /** A field for one more tag; `take(name)` gets what was chosen or typed, `known()` lists `[name, count]`. */
  function tagField(take, known, { focus = false, quiet = false, has = () => [] } = {}) {
    serial += 1;
    const id = `tl-tags-${serial}`;
    let active = -1;
    const list = el("div", { class: "tl-suggest", role: "listbox", id, hidden: true });
    const field = el("input", { type: "text", class: "tl-field tl-tag-field", placeholder: t("tags.add"), "aria-label": t("tags.add"), maxlength: LONGEST, dir: "auto", autocomplete: "off", spellcheck: "false",
      role: "combobox", "aria-expanded": "false", "aria-controls": id, "aria-autocomplete": "list", autofocus: focus,
      onfocus: () => quiet || draw(), oninput: () => draw(), onblur: () => close(), onkeydown: (event) => key(event) });
    const root = el("span", { class: "tl-tag-input" }, field, list);

    function options() {
      const typed = field.value.trim().toLowerCase();
      const mine = new Set(has().map((tag) => tag.toLowerCase()));
      const fitting = known().filter(([name]) => !mine.has(name.toLowerCase()) && name.toLowerCase().includes(typed));
      fitting.sort((a, b) => b[0].toLowerCase().startsWith(typed) - a[0].toLowerCase().startsWith(typed) || b[1] - a[1]);
      const shown = fitting.slice(0, SUGGESTED).map(([name, count]) => ({ name, count }));
      const exact = known().some(([name]) => name.toLowerCase() === typed);
      return typed && !exact ? [...shown, { name: field.value.trim(), fresh: true }] : shown;
    }

    function draw() {
      const found = options();
      active = -1;
      list.replaceChildren(...found.map(({ name, count, fresh }, index) => el("div", { class: "tl-option", role: "option", id: `${id}-${index}`, "data-name": name,
        onpointerdown: (event) => { event.preventDefault(); choose(name); } },
        el("span", { dir: "auto", text: fresh ? t("tags.new", { name }) : name }), fresh ? null : el("small", { text: count }))));
      list.hidden = !found.length;
      field.setAttribute("aria-expanded", String(found.length > 0));
      field.removeAttribute("aria-activedescendant");
    }

    function close() {
      list.hidden = true;
      field.setAttribute("aria-expanded", "false");
    }

    function move(step) {
      const { children } = list;
      if (!children.length) return;
      if (active >= 0) children[active].removeAttribute("aria-selected");
      active = (active + step + children.length + (active < 0 && step < 0 ? 1 : 0)) % children.length;
      children[active].setAttribute("aria-selected", "true");
      children[active].scrollIntoView({ block: "nearest" });
      field.setAttribute("aria-activedescendant", `${id}-${active}`);
    }

    function choose(name) {
      field.value = "";
      take(name);
      if (quiet) close();
      else draw();
      field.focus();
    }

    function key(event) {
      if (event.isComposing) return;
      const typed = field.value.trim();
      if (event.key === "ArrowDown" || event.key === "ArrowUp") {
        if (list.hidden) draw();
        move(event.key === "ArrowDown" ? 1 : -1);
      }
      else if ((event.key === "Enter" || event.key === "," || event.key === "，") && (active >= 0 || typed)) choose(active >= 0 ? list.children[active].dataset.name : typed);
      else if (event.key === "Enter") return;
      else if (event.key === "Escape") {
        // One press for each: the suggestions, what was typed, the window around it.
        if (list.hidden && !typed) return;
        if (list.hidden) field.value = "";
        close();
      }
      else return;
      event.preventDefault();
      event.stopPropagation();
    }
    return { root, field };
  }

  /** Give tags to what is chosen, or take them away. `change({add, remove})` does it and returns all tags then. */
  function tagSelection(count, tags, change) {
    let known = tags;
    const list = el("div", { class: "tl-tag-list", role: "list" });
    const done = el("p", { class: "tl-muted tl-tag-done", role: "status" });
    const run = async (sent, words) => {
      const now = await change(sent);
      if (!now) return;
      known = now;
      done.textContent = words;
      draw();
    };
    const give = (name) => run({ add: [name] }, t("tags.given", { name, count }));
    const take = (name) => run({ remove: [name] }, t("tags.taken", { name, count }));
    const draw = () => list.replaceChildren(...known.map(([name, uses]) => el("div", { class: "tl-tag-row", role: "listitem" },
      el("span", { class: "tl-tag", dir: "auto", title: name, text: name }), el("small", { class: "tl-muted", text: uses }), el("span", { class: "tl-space" }),
      el("button", { type: "button", class: "tl-link", text: t("tags.give"), "aria-label": t("tags.give_name", { name }), onclick: () => give(name) }),
      el("button", { type: "button", class: "tl-link", text: t("tags.take"), "aria-label": t("tags.take_name", { name }), onclick: () => take(name) }))));
    const { root } = tagField(give, () => known, { focus: true, quiet: true });
    draw();
    openDialog({ title: t("tags.of", { count }), build: () => [root, list, done] });
  }

  /** Rename, merge and delete tags. `act(name, data)` asks the server and returns its answer. */
  function manageTags(tags, act, changed) {
    const list = el("div", { class: "tl-tag-list", role: "list" });
    let known = tags;
    const run = async (name, data, was, now) => {
      const answer = await act(name, data);
      if (!answer) return false;
      known = answer.tags;
      draw();
      changed(was, now);
      return true;
    };
    const rename = (name, node) => node.querySelector(".tl-tag").replaceWith(nameField(name, t("tags.rename_name", { name }), async (now) => {
      if (!now) return draw();
      const other = known.find(([each]) => each !== name && each.toLowerCase() === now.toLowerCase());
      if (other && !(await ask(name, other[0]))) return draw();
      if (!(await run("rename_tag", { name, new: now }, name, now))) return draw();
      return toast(t(other ? "tags.merged" : "tags.renamed", { name, now: other ? other[0] : now }));
    }));
    const ask = (name, now) => new Promise((resolve) => {
      let yes = false;
      const { node } = openDialog({ title: t("tags.merge"), onclose: () => resolve(yes), build: (close) => [
        el("p", { class: "tl-dialog-text", dir: "auto", text: t("tags.merge_ask", { name, now }) }),
        el("div", { class: "tl-dialog-acts" }, el("button", { type: "button", class: "tl-button", text: t("dialog.cancel"), onclick: close }),
          el("button", { type: "button", class: "tl-button tl-primary", autofocus: true, text: t("tags.merge"), onclick: () => { yes = true; close(); } }))] });
      return node;
    });
    const remove = (name, count) => confirm({ title: t("tags.delete"), text: t("tags.delete_ask", { name, count }), yes: t("tags.delete"), act: () => run("delete_tag", { name }, name, null) });
    const draw = () => list.replaceChildren(...known.map(([name, count]) => {
      const node = el("div", { class: "tl-tag-row", role: "listitem" }, el("span", { class: "tl-tag", dir: "auto", title: name, text: name }), el("small", { class: "tl-muted", text: t("tags.uses", { count }) }), el("span", { class: "tl-space" }),
        el("button", { type: "button", class: "tl-link", text: t("tags.rename"), "aria-label": t("tags.rename_name", { name }), onclick: () => rename(name, node) }),
        el("button", { type: "button", class: "tl-link tl-link-bad", text: t("tags.delete"), "aria-label": t("tags.delete_name", { name }), onclick: () => remove(name, count) }));
      return node;
    }), known.length ? "" : el("p", { class: "tl-muted", text: t("tags.none") }));
    draw();
    openDialog({ title: t("tags.manage"), build: () => [el("p", { class: "tl-muted tl-dialog-text", text: t("tags.manage_hint") }), list] });
  }

  Object.assign(window.tinglu, { tagField, tagSelection, manageTags });
})();
