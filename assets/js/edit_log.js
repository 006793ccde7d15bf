// Edits on their way to the server: one after the other, again after a fault, never over another's.
(() => {
  "use strict";

  const FIRST_WAIT_MS = 1000; // until a save is tried again; doubled each time
  const LONGEST_WAIT_MS = 15000;

  /** Resolves after a while, or as soon as the machine says that it is online again. */
  function pause(ms) {
    return new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer);
        window.removeEventListener("online", done);
        resolve();
      };
      const timer = setTimeout(done, ms);
      window.addEventListener("online", done);
    });
  }

  /**
   * `on` has `state(word)` (saving, saved, offline), `applied(answer, data, session)`, `refused(error, data)` and
   * `conflict(error, data)`, which resolves to whether to try again.
   */
  class EditLog {
    constructor(server, on) {
      this.server = server;
      this.on = on;
      this.session = null;
      this.chain = Promise.resolve();
      this.waiting = 0;
    }

    /** `lines` are the sentences that edits are about; they follow every answer. */
    start(recording, where, lines) {
      this.session = { recording, lines, stamp: where.stamp, can_undo: where.can_undo, can_redo: where.can_redo, closed: false };
    }

    /** What is under way goes on; its answers are no longer for the page. */
    stop() {
      if (this.session) this.session.closed = true;
      this.session = null;
    }

    get busy() {
      return this.waiting > 0;
    }

    /** An answer of the server; undefined where it cannot be reached. */
    async ask(data) {
      try {
        const text = await this.server.edit(data);
        return typeof text === "string" ? JSON.parse(text) : undefined;
      } catch {
        return undefined;
      }
    }

    /** A question about the recording that is open; `null` with a word for people if refused. */
    async question(op, more = {}) {
      const { session } = this;
      if (!session) return null;
      const answer = await this.ask({ op, recording: session.recording, stamp: session.stamp, ...more });
      if (session.closed) return null;
      if (answer && !answer.error) return answer;
      this.on.refused(answer ? answer.error : { code: "offline" });
      return null;
    }

    /**
     * Make an edit once those before it are done. `make(session)` tells its data at that moment, or
     * nothing if there is nothing to do any more. Resolves to the answer, or `null`, also where
     * the page shows another transcript by then.
     */
    run(make) {
      const { session } = this;
      if (!session) return Promise.resolve(null);
      this.waiting += 1;
      const done = this.chain.then(() => this.send(session, make)).finally(() => {
        this.waiting -= 1;
      });
      this.chain = done.catch(() => null);
      return done;
    }

    async send(session, make) {
      for (let wait = FIRST_WAIT_MS; ; wait = Math.min(wait * 2, LONGEST_WAIT_MS)) {
        const data = make(session);
        if (!data) return null;
        if (!session.closed) this.on.state("saving");
        const answer = await this.ask({ recording: session.recording, stamp: session.stamp, ...data });
        if (answer === undefined) {
          if (!session.closed) this.on.state("offline");
          await pause(wait);
          continue;
        }
        if (!answer.error) return this.applied(session, answer, data);
        if (answer.error.code === "edit_conflict" && !session.closed) {
          if (await this.on.conflict(answer.error, data)) continue;
          return null;
        }
        if (!session.closed) this.on.refused(answer.error, data);
        return null;
      }
    }

    applied(session, answer, data) {
      Object.assign(session, { stamp: answer.stamp, can_undo: answer.can_undo, can_redo: answer.can_redo });
      this.on.applied(answer, data, session);
      if (!session.closed) this.on.state("saved");
      return session.closed ? null : answer;
    }
  }

  window.tinglu.EditLog = EditLog;
})();
