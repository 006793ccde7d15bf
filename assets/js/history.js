// The history: what is done with its recordings, one or many.
(() => {
  "use strict";
  const { t, el, size, define, find, Finder, toast, confirm, openDialog, tagSelection, manageTags, exportWindow, replaceWindow } = window.tinglu;

  class History extends Finder {
    // One recording.
    open(row) {
      this.opened = row.id;
      this.entries.light(row.id);
      find(this.about).update({ row });
      this.trigger("open_entry", { id: row.id });
      if (window.matchMedia("(max-width: 760px)").matches) document.getElementById(this.about).scrollIntoView({ behavior: "smooth" });
    }

    /** What another part of the page opened. */
    openedElsewhere(id) {
      this.opened = id;
      this.entries.light(id);
    }

    unopen(id) {
      this.opened = "";
      find(this.target).forget(id);
      find(this.about).update({ row: null });
    }

    // Doing something with it.
    async remove(ids, index) {
      const chosen = this.selection(ids);
      const count = ids ? ids.length : this.pickedCount;
      if (!count) return;
      const run = async () => {
        if (index !== undefined) this.focusAt = index;
        const answer = await this.act("delete", chosen);
        if (!answer) {
          this.focusAt = undefined;
          return;
        }
        this.afterRemoval(chosen, answer.undo);
        if (answer.undo.length) {
          this.undoable = answer.undo;
          toast(t("history.deleted", { count: answer.undo.length, days: this.view ? this.view.bin_days : "" }), { label: t("history.undo"), act: () => this.undo() });
        } else toast(t("history.purged", { count: answer.gone }));
      };
      if (this.view.bin_days) await run();
      else confirm({ title: t("history.purge"), text: t("history.purge_ask", { count }), yes: t("history.purge"), act: run });
    }

    afterRemoval(chosen, ids) {
      const gone = chosen.ids || ids;
      for (const id of gone) this.picked.delete(id);
      if (chosen.all) this.pick(null, false);
      if (gone.includes(this.opened)) this.unopen(this.opened);
      this.renew();
    }

    async undo() {
      const ids = this.undoable;
      if (!ids) return;
      this.undoable = null;
      await this.restore(ids);
    }

    async restore(ids) {
      const chosen = this.selection(ids);
      const answer = await this.act("restore", chosen);
      if (!answer) return;
      for (const id of answer.restored) this.picked.delete(id);
      if (chosen.all) this.pick(null, false);
      toast(t("history.restored", { count: answer.restored.length }));
      this.renew();
    }

    purge(ids, name = "") {
      const chosen = this.selection(ids);
      const count = ids ? ids.length : this.pickedCount;
      if (!count) return;
      const text = count === 1 && name ? t("history.purge_ask_name", { name }) : t("history.purge_ask", { count });
      confirm({ title: t("history.purge"), text, yes: t("history.purge"), act: () => this.purgeNow(chosen) });
    }

    async purgeNow(chosen) {
      const answer = await this.act("purge", chosen);
      if (!answer) return;
      toast(t("history.purged", { count: answer.purged }));
      if (chosen.whole) this.pick(null, false);
      this.afterRemoval(chosen.whole ? { all: true } : chosen, []);
    }

    async rename(row, name) {
      const answer = await this.changed(await this.act("rename", { id: row.id, name }));
      const now = answer && answer.changed[0];
      const target = find(this.target);
      if (now && target.renamed) target.renamed(now.id, now.name);
    }

    async tag(row) {
      const sent = this.selection(row ? [row.id] : null);
      const count = row ? 1 : this.pickedCount;
      if (!count) return;
      const known = await this.act("tags");
      if (!known) return;
      tagSelection(count, known.tags, async (change) => {
        const answer = await this.changed(await this.act("tag", { ...sent, ...change }));
        if (answer) this.renew();
        return answer && answer.tags;
      });
    }

    async manage() {
      const known = await this.act("tags");
      if (!known) return;
      manageTags(known.tags, (name, data) => this.act(name, data), (was, now) => {
        find(this.about).retag(was, now);
        this.sieve.renameTag(was, now);
        this.renew();
      });
    }

    exportPicked() {
      const chosen = this.selection(null);
      exportWindow({
        count: this.pickedCount,
        formats: this.formats,
        stop: (key) => this.trigger("stop", { key }),
        take: (data, news) => new Promise((resolve) => this.send("take", { ...chosen, ...data }, (view) => {
          if (view.done !== undefined) return news(view);
          if (view.error) toast(view.error, { bad: true });
          return resolve(view);
        })),
      });
    }

    replacePicked() {
      const chosen = this.selection(null);
      replaceWindow({ count: this.pickedCount, find: this.asked, act: (name, data) => this.act(name, { ...chosen, ...data }), done: (answer) => this.replaced(answer) });
    }

    replaced({ hits, replaced, refused }) {
      const ids = Object.keys(replaced);
      const words = t("replace.done", { hits, count: ids.length });
      const trouble = refused.length ? ` ${t("replace.refused", { count: refused.length, reason: refused[0][1] })}` : "";
      toast(words + trouble, { bad: !ids.length, label: t("history.undo"), act: ids.length ? () => this.unreplace(replaced) : null });
      this.afterEdits(ids);
    }

    async unreplace(stamps) {
      const answer = await this.act("undo_replace", { stamps });
      if (!answer) return;
      const trouble = answer.refused.length ? ` ${t("replace.refused", { count: answer.refused.length, reason: answer.refused[0][1] })}` : "";
      toast(t("replace.undone", { count: answer.undone.length }) + trouble, { bad: Boolean(trouble) });
      this.afterEdits(answer.undone);
    }

    afterEdits(ids) {
      if (ids.includes(this.opened)) this.trigger("open_entry", { id: this.opened });
      this.renew();
    }

    async storage() {
      const answer = await this.act("storage");
      if (!answer) return;
      const { storage } = answer;
      const line = (name, value, more = "") => [el("dt", { dir: "auto", text: name }), el("dd", {}, el("span", { text: value }), more ? el("small", { class: "tl-muted", text: more }) : null)];
      const owners = storage.owners.length > 1 ? storage.owners.flatMap(([owner, count, bytes]) => line(owner || t("history.everybody"), size(bytes), t("history.count", { total: count }))) : [];
      openDialog({ title: t("history.storage"), build: () => [el("dl", { class: "tl-facts" }, ...line(t("storage.audio"), size(storage.audio)), ...owners,
        ...line(t("storage.database"), size(storage.database)), ...line(t("storage.bin"), size(storage.bin), t("history.count", { total: storage.deleted })), ...line(t("storage.free"), size(storage.free)))] });
    }

    emptyBin() {
      const count = this.facets ? this.facets.deleted : this.view.total;
      confirm({ title: t("history.bin_empty"), text: t("history.purge_ask", { count }), yes: t("history.purge"), act: () => this.purgeNow({ whole: true }) });
    }
  }

  define("history", (context) => new History(context));
  define("history_answers", ({ props }) => ({ update: (view) => find(props.target).answer(view) }));
})();
