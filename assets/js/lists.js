// The system cards.
(() => {
  "use strict";
  const { el, define } = window.tinglu;
  define("system", ({ root }) => ({
    update(view) {
      const cards = view.cards.map((card) => el("section", { class: "tl-card", "data-card": card.id }, el("h2", { class: "tl-name", text: card.title }),
        el("dl", { class: "tl-facts" }, ...card.rows.flatMap(([name, value, more]) => [
          el("dt", { text: name }),
          el("dd", {}, el("span", { text: value }), more ? el("small", { class: "tl-muted", text: more }) : null),
        ]))));
      root.className = "tl-root tl-cards";
      root.replaceChildren(...cards);
    },
  }));
})();
