// What was typed and the server does not have yet: shown in its line, and kept with the tab.
(() => {
  "use strict";
  const { textOf } = window.tinglu;

  const KEY = "tinglu-draft:"; // with the recording's id

  class EditorDrafts {
    constructor() {
      this.unsent = new Map(); // draft to {session, text, asked, position}
    }

    /** The text that a sentence is about to have; null where nothing of it is on its way. */
    waiting(line) {
      let text = null;
      for (const [draft, one] of this.unsent) if (draft.line === line && !one.asked) ({ text } = one);
      return text;
    }

    has(draft) {
      return this.unsent.has(draft);
    }

    /** `asked` are texts of which people have to say what becomes of them. */
    keep(session, draft, text, asked = false) {
      if (!session) return;
      const position = session.lines.indexOf(draft.line);
      const before = this.unsent.get(draft);
      this.unsent.set(draft, { session, text, asked, position: position < 0 && before ? before.position : position });
      this.store(session);
    }

    drop(draft) {
      const one = this.unsent.get(draft);
      if (!one) return;
      this.unsent.delete(draft);
      this.store(one.session);
    }

    /** The server has a text; more may have been typed since. */
    done(draft, text) {
      const one = this.unsent.get(draft);
      if (!one) return;
      if (one.text === text) this.drop(draft);
      else this.store(one.session);
    }

    store({ recording }) {
      const kept = new Map(); // of a sentence that was written on twice, the newer text
      for (const [draft, one] of this.unsent) {
        if (one.session.recording !== recording) continue;
        const now = one.session.lines.indexOf(draft.line);
        if (now >= 0) one.position = now;
        const base = now >= 0 && !one.asked ? textOf(draft.line) : null;
        kept.set(base === null ? one : one.position, { position: one.position, base, text: one.text });
      }
      try {
        if (kept.size) sessionStorage.setItem(KEY + recording, JSON.stringify([...kept.values()]));
        else sessionStorage.removeItem(KEY + recording);
      } catch {
        // A browser without room for it still has the text on the page.
      }
    }

    /** What a page that was closed too early, or left with an open question, has left behind. */
    recall({ recording }) {
      const kept = [].concat(JSON.parse(sessionStorage.getItem(KEY + recording)) || []);
      const sending = new Set();
      for (const [draft, one] of this.unsent) {
        if (one.session.recording !== recording) continue;
        if (one.asked) this.unsent.delete(draft);
        else sending.add(one.text);
      }
      // Nobody left a sentence that was being emptied.
      return kept.filter(({ text }) => text.trim() && !sending.has(text));
    }
  }

  window.tinglu.EditorDrafts = EditorDrafts;
})();
