// Windows over the page, sentences at its lower edge with something to do, and one-line editing.
(() => {
  "use strict";
  const { t, el } = window.tinglu;

  const TOAST_MS = 12000;

  /**
   * A window that keeps the focus until it is closed, which Escape does too.
   *
   * `build(close)` returns its content. `onclose` is called once it is gone.
   */
  function openDialog({ title, wide = false, build, onclose }) {
    const back = document.activeElement;
    const heading = el("h2", { class: "tl-name", text: title });
    const node = el("dialog", { class: `tl-root tl-dialog${wide ? " tl-dialog-wide" : ""}`, "aria-label": title, onkeydown: (event) => event.stopPropagation() });
    const close = () => node.open && node.close();
    const x = el("button", { type: "button", class: "tl-icon", text: "×", "aria-label": t("dialog.close"), onclick: close });
    node.append(el("header", { class: "tl-dialog-head" }, heading, x), ...build(close));
    node.addEventListener("close", () => {
      node.remove();
      if (back && back.isConnected) back.focus({ preventScroll: true });
      if (onclose) onclose();
    });
    node.addEventListener("pointerdown", (event) => event.target === node && close());
    document.body.append(node);
    node.showModal();
    const first = node.querySelector("[autofocus]");
    if (first) first.focus();
    return { node, close };
  }

  /** Asks before something that cannot be taken back. */
  function confirm({ title, text, yes, act }) {
    openDialog({
      title,
      build: (close) => [
        el("p", { class: "tl-dialog-text", text }),
        el("div", { class: "tl-dialog-acts" },
          el("button", { type: "button", class: "tl-button", autofocus: true, text: t("dialog.cancel"), onclick: close }),
          el("button", { type: "button", class: "tl-button tl-danger", text: yes, onclick: () => { close(); act(); } })),
      ],
    });
  }

  let shelf;
  /** A sentence with at most one thing to do about it; a newer one takes the place of an older one. */
  function toast(text, { act = null, label = "", bad = false } = {}) {
    shelf = shelf || document.body.appendChild(el("div", { class: "tl-root tl-toasts", role: "status" }));
    const gone = () => {
      clearTimeout(timer);
      node.remove();
    };
    const node = el("div", { class: `tl-toast${bad ? " tl-toast-bad" : ""}`, onpointerenter: () => clearTimeout(timer), onpointerleave: () => later() },
      el("span", { class: "tl-toast-text", dir: "auto", text }),
      act ? el("button", { type: "button", class: "tl-toast-act", text: label, onclick: () => { gone(); act(); } }) : null,
      el("button", { type: "button", class: "tl-toast-x", text: "×", "aria-label": t("dialog.close"), onclick: gone }));
    let timer = 0;
    const later = () => {
      clearTimeout(timer);
      timer = setTimeout(gone, TOAST_MS);
    };
    later();
    shelf.replaceChildren(node);
    return gone;
  }

  /**
   * A field in place of a name: Enter and leaving it save, Escape keeps the old name.
   *
   * `done(name or null)` is called once.
   */
  function nameField(name, label, done) {
    let over = false;
    const end = (value) => {
      if (over) return;
      over = true;
      done(value && value !== name ? value : null);
    };
    const field = el("input", { type: "text", class: "tl-field tl-name-field", value: name, dir: "auto", maxlength: 255, "aria-label": label, spellcheck: "false",
      onblur: () => end(field.value.trim()),
      onclick: (event) => event.stopPropagation(),
      onkeydown: (event) => {
        event.stopPropagation();
        if (event.isComposing) return;
        if (event.key === "Enter") end(field.value.trim());
        else if (event.key === "Escape") end(null);
        else return;
        event.preventDefault();
      } });
    queueMicrotask(() => { // in the page by then, and before the next key
      field.focus();
      const dot = name.lastIndexOf(".");
      field.setSelectionRange(0, dot > 0 ? dot : name.length);
    });
    return field;
  }

  /** Pieces `[text, marked]` as nodes. */
  function marked(pieces) {
    return pieces.map(([text, hit]) => (hit ? el("mark", { text }) : document.createTextNode(text)));
  }

  Object.assign(window.tinglu, { openDialog, confirm, toast, nameField, marked });
})();
