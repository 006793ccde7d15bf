// The models of the installation: what is there, the default, and folders that the user has.
(() => {
  "use strict";
  const { t, el, define } = window.tinglu;

  define("models", ({ root, trigger }) => {
    const rows = el("tbody");
    const field = el("input", { type: "text", class: "tl-field", id: "model-folder", placeholder: "/srv/models/paraformer", autocomplete: "off", spellcheck: "false" });
    const check = el("button", { type: "submit", class: "tl-button", text: t("models.check") });
    const said = el("p", { class: "tl-note", role: "status", hidden: true });
    const form = el("form", { class: "tl-folder-form", onsubmit: (event) => { event.preventDefault(); send(); } },
      el("label", { for: "model-folder", text: t("models.folder") }),
      el("div", { class: "tl-folder-line" }, field, check),
      el("small", { class: "tl-muted", text: t("models.folder_hint") }));
    const locked = el("p", { class: "tl-muted tl-locked", hidden: true });
    root.className = "tl-root tl-card";
    root.append(el("h2", { class: "tl-name", text: t("models.title") }),
      el("table", { class: "tl-table tl-models-table" },
        el("thead", {}, el("tr", {}, ...["name", "size", "licence", "state"].map((key) => el("th", { scope: "col", text: t(`models.${key}`) })), el("th"))), rows),
      locked, form, said);

    function send() {
      const folder = field.value.trim(); // not "path": Gradio takes what has one for a file
      if (!folder) return;
      said.hidden = true;
      trigger("bring", { folder });
    }

    function copyButton(command) {
      const button = el("button", { type: "button", class: "tl-button", text: t("models.copy"), onclick: async () => {
        button.textContent = t(await window.tinglu.copyText(command));
      } });
      return button;
    }

    /** What can be done about a model. */
    function actions(model, view) {
      const parts = [];
      const { name } = model;
      if (view.may_change && model.may_use && !view.locked) {
        parts.push(el("button", { type: "button", class: "tl-button", "data-action": "use", text: t("models.use"),
          "aria-label": t("models.use_name", { name: model.title }), onclick: () => trigger("use_model", { name }) }));
      }
      if (view.may_change && model.brought) {
        parts.push(el("button", { type: "button", class: "tl-icon", "data-action": "forget", text: "×", title: t("models.forget"),
          "aria-label": t("models.forget_name", { name: model.title }), onclick: () => trigger("forget", { name }) }));
      }
      return el("td", { class: "tl-models-act" }, ...parts);
    }

    const cell = (kind, text) => el("td", { class: `${kind}${text ? "" : " tl-lacks"}`, text: text || "–" });

    function row(model, view) {
      const command = `./run.sh models install ${model.name}`;
      const title = el("td", { class: "tl-models-name" }, el("span", { text: model.title }), " ", el("small", { class: "tl-muted", text: model.family }),
        el("small", { class: "tl-muted tl-path", text: model.path }),
        model.setting ? el("small", { class: "tl-muted tl-path", text: t("models.by_setting", { setting: model.setting }) }) : null,
        model.may_install ? el("span", { class: "tl-install" }, el("code", { text: command }), copyButton(command)) : null);
      const state = el("td", { class: "tl-models-state" }, el("span", { class: `tl-badge tl-is-${model.state}`, text: t(`models.${model.state}`) }),
        model.active ? el("span", { class: "tl-badge tl-is-active", text: t("models.active") }) : null,
        model.backend ? el("small", { class: "tl-muted tl-path", text: t("models.loaded", { backend: model.backend }) }) : null);
      return el("tr", { "data-model": model.name }, title, cell("tl-cell-time", model.size), cell("tl-models-licence", model.licence), state, actions(model, view));
    }

    return {
      update(view) {
        rows.replaceChildren(...view.models.map((model) => row(model, view)));
        locked.hidden = !view.locked && view.may_change;
        locked.textContent = view.may_change ? t("models.locked", { setting: view.locked }) : t("models.elsewhere");
        form.hidden = !view.may_change;
        said.hidden = !view.said;
        said.textContent = view.said;
        said.classList.toggle("tl-note-bad", view.is_fault);
        said.classList.toggle("tl-note-good", !view.is_fault);
        if (view.said && !view.is_fault) field.value = "";
        else if (view.typed) field.value = view.typed;
      },
    };
  });
})();
