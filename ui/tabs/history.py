"""The tab that finds, opens and tidies stored recordings."""

from __future__ import annotations

import gradio as gr

from ui import view
from ui.guard import Page, guarded_answer, guarded_event, guarded_stream
from ui.handlers import history as handlers
from ui.handlers.history_many import Exports
from ui.tabs.parts import EACH, build_component, build_transcript_panel, queued, quiet

_EXPORTS = 2  # at once; each reads every text that it writes


def build_history_tab(page: Page) -> tuple[gr.HTML, gr.HTML]:
    """Lay out and wire the tab. Returns its transcript and what stands above it."""
    with gr.Row(elem_classes=["tl-split", "tl-split-wide"]):
        with gr.Column(elem_classes=["tl-side"], min_width=280):
            rows = build_component(
                "history",
                "history-rows",
                events="'look' 'sift' 'act' 'take' 'stop' 'open_entry'",
                target="history-transcript",
                about="history-about",
                formats=list(view.FORMATS),
            )
        with gr.Column(elem_classes=["tl-main"], min_width=280):
            about = build_component("about", "history-about", list="history-rows")
            panel = build_transcript_panel(page, "history", empty="history.choose")
    # Carriers of their own: of two values that arrive at once, a component shows the later one.
    answers = build_component("history_answers", "history-answers", target="history-rows")
    sifted = build_component("history_answers", "history-sifted", target="history-rows")
    taken = build_component("history_answers", "history-taken", target="history-rows")
    exports = Exports()
    # The list asks for one answer at a time itself.
    rows.look(guarded_answer(page, handlers.look), None, rows, **quiet(trigger_mode=EACH))
    rows.sift(guarded_answer(page, handlers.sift), None, sifted, **quiet(trigger_mode=EACH))
    rows.act(guarded_answer(page, handlers.act), None, answers, **queued(trigger_mode=EACH))
    rows.stop(guarded_answer(page, exports.stop), None, None, **quiet())
    many = queued(trigger_mode=EACH, concurrency_limit=_EXPORTS)
    rows.take(guarded_stream(page, exports.write), None, taken, **many)
    rows.open_entry(guarded_event(page, handlers.open_entry), None, panel, **queued())
    return panel, about
