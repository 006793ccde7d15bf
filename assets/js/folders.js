// A browser of the server's folders: where one is, what is in it, and how many recordings that makes.
(() => {
  "use strict";
  const { t, el, define, size } = window.tinglu;

  const LONGEST_MS = 4000;

  class Folders {
    constructor({ root, trigger }) {
      this.trigger = trigger;
      this.path = "";
      this.crumbs = el("nav", { class: "tl-crumbs", "aria-label": t("folder.where") });
      this.list = el("div", { class: "tl-folder-list", role: "list", "aria-label": t("folder.inside"), onkeydown: (event) => this.key(event) });
      this.facts = el("p", { class: "tl-folder-facts", role: "status" });
      root.append(this.crumbs, this.list, this.facts);
      this.facts.textContent = t("folder.loading");
    }

    go(path) {
      this.list.classList.add("tl-waiting");
      setTimeout(() => this.list.classList.remove("tl-waiting"), LONGEST_MS); // a refusal brings no view
      this.trigger("browse", { folder: path }); // Gradio takes a "path" for a file of its own
    }

    update(view) {
      const focused = this.list.contains(document.activeElement) || this.crumbs.contains(document.activeElement);
      this.path = view.path;
      this.list.classList.remove("tl-waiting");
      this.crumbs.replaceChildren(...view.crumbs.flatMap(([name, path], index) => {
        const last = index === view.crumbs.length - 1;
        const node = el("button", { type: "button", class: "tl-crumb", text: name || t("folder.all"), title: name, "aria-current": last ? "location" : null, onclick: () => this.go(path) });
        return index ? [el("span", { class: "tl-crumb-sep", text: "/", "aria-hidden": "true" }), node] : [node];
      }));
      this.list.replaceChildren(...view.folders.map(([name, path], index) => el("div", { role: "listitem" },
        el("button", { type: "button", class: "tl-folder", text: name, title: name, tabindex: index ? -1 : 0, onclick: () => this.go(path) }))));
      if (!view.folders.length) this.list.append(el("span", { class: "tl-muted", text: t("folder.none") }));
      this.facts.textContent = this.words(view);
      this.facts.classList.toggle("tl-bad", !view.chosen);
      if (focused) (this.list.querySelector("button") || this.crumbs.lastChild).focus();
    }

    words(view) {
      if (!view.chosen) return t("folder.choose");
      if (!view.recordings) return t("folder.no_recordings");
      return t(view.complete ? "folder.recordings" : "folder.at_least", { count: view.recordings, size: size(view.size_bytes) });
    }

    key(event) {
      const buttons = [...this.list.querySelectorAll("button")];
      const at = buttons.indexOf(event.target);
      const next = buttons[at + ({ ArrowDown: 1, ArrowUp: -1 }[event.key] || 0)];
      if (event.key === "ArrowLeft" || event.key === "Backspace") {
        const up = this.crumbs.querySelectorAll("button");
        if (up.length > 1) up[up.length - 2].click();
      } else if (!next || next === event.target) return;
      else {
        event.target.tabIndex = -1;
        next.tabIndex = 0;
        next.focus();
      }
      event.preventDefault();
    }
  }

  define("folders", (context) => new Folders(context));
  window.tinglu.folder = (id) => {
    const part = window.tinglu.find(id);
    return part ? part.path : "";
  };
  /** Where the files of a batch come from: `folder` or `upload`. */
  window.tinglu.origin = (id, value) => {
    document.getElementById(id).dataset.origin = value;
  };
})();
