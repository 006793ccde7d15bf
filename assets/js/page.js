// Header line, dictation status, file carrier, notes about the browser, and copying.
(() => {
  "use strict";
  const { t, el, clock, fileUrl, define, find, badge } = window.tinglu;

  /** Brings what a handler made: sound and its outline to a transcript, other files to the disk. */
  define("carrier", ({ props }) => ({
    update(file) {
      if (file.kind === "outline") {
        find(props.target).showOutline(file);
        return;
      }
      if (file.kind === "audio") {
        find(props.target).showFile(file);
        return;
      }
      const link = el("a", { href: fileUrl(file.path), download: file.name });
      document.body.append(link);
      link.click();
      link.remove();
    },
  }));

  define("header", ({ root }) => {
    const dot = el("span", { class: "tl-dot" });
    const text = el("span", { text: t("header.connecting") });
    const hint = el("details", { class: "tl-hint-box", hidden: true },
      el("summary", { text: t("header.hint_title") }),
      el("div", { class: "tl-popover" },
        el("strong", { text: t("header.hint_heading") }),
        el("p", { text: t("header.hint_text") }),
        el("code", { text: "./run.sh models list" })));
    document.addEventListener("click", (event) => hint.contains(event.target) || hint.removeAttribute("open"));
    const chip = el("div", { class: "tl-chip", role: "status" }, dot, text, hint);
    root.append(el("div", { class: "tl-brand" }, el("h1", { text: t("brand") }), el("small", { text: t("subtitle") })), window.tinglu.notifySwitch(), chip);
    return {
      update(view) {
        dot.className = `tl-dot tl-dot-${view.state}`;
        const device = view.device === "cpu" ? t("header.cpu", { count: view.threads }) : view.device.toUpperCase();
        const words = [view.model, device, t(`engine.${view.state}`)];
        if (view.queued) words.push(t("header.queued", { count: view.queued }));
        text.textContent = words.join(" · ");
        chip.title = view.error || view.backend;
        chip.classList.toggle("tl-chip-bad", Boolean(view.error));
        hint.hidden = !view.embedded;
        if (view.error) text.textContent = view.error;
      },
    };
  });

  define("dictation", ({ root }) => {
    const line = el("div", { class: "tl-dictation-line", role: "status" });
    const heard = el("p", { class: "tl-heard", hidden: true });
    root.append(line, heard);
    return {
      update(view) {
        heard.hidden = view.final || !view.text;
        heard.textContent = view.text || "";
        if (view.state === "idle") {
          line.replaceChildren(el("span", { class: "tl-muted", text: t("dictation.idle") }));
          return;
        }
        const words = [];
        if (view.total_ms) words.push(clock(view.total_ms));
        if (view.position) words.push(t("queue_position", { count: view.position }));
        line.replaceChildren(badge(view.state), el("span", { class: "tl-muted", text: words.join(" · ") }));
        const reason = view.error || (view.final && !view.text ? view.warnings[0] || t("empty.done") : "");
        if (reason) line.append(el("span", { class: "tl-reason", text: reason }));
      },
    };
  });

  /** Says why the microphone cannot work, only where it cannot. */
  define("insecure", ({ root }) => {
    if (!window.isSecureContext) root.append(el("p", { class: "tl-note", text: t("insecure") }));
    return { update() {} };
  });

  /** Puts a text into the clipboard. Returns the key of what to say: `copied` or `copy_refused`. */
  window.tinglu.copyText = async (text) => {
    if (navigator.clipboard && window.isSecureContext) {
      try {
        await navigator.clipboard.writeText(text);
        return "copied";
      } catch {
        // The browser or its administrator refuses pages the clipboard; a copied selection may pass.
      }
    }
    const box = el("textarea", { class: "tl-offscreen" });
    box.value = text;
    document.body.append(box);
    box.select();
    const done = document.execCommand("copy");
    box.remove();
    return done ? "copied" : "copy_refused";
  };
})();
