"""Serve the page over the scripted engine: ``python -m tests.fakes.serve_page HOME PORT``.

Runs as a process of its own, as the page does in use. What the next submitted recording does is
one word in ``HOME/scenario``; see ``SCENARIOS``.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from dataclasses import replace
from pathlib import Path

from asr_core.engine import EngineStatus, Job, TranscribeOptions
from asr_core.errors import AudioDecodeError
from asr_core.results import Sentence, Token, TranscriptWarning
from asr_core.settings import Settings
from tests.fakes.scripted_engine import MEETING, Script, ScriptedEngine, write_tone

MARKUP = "<img src=x onerror=window.hacked=1>"
EXPRESSION = "${window.hacked=1}{{7*7}}`"


def _long() -> tuple[Sentence, ...]:
    """About a hundred minutes: 25 times the meeting, four minutes apart."""
    return tuple(
        replace(
            line,
            tokens=tuple(
                replace(t, start_ms=t.start_ms + shift_ms, end_ms=t.end_ms + shift_ms)
                for t in line.tokens
            ),
        )
        for shift_ms in range(0, 25 * 240_000, 240_000)
        for line in MEETING
    )


SCENARIOS = {
    "meeting": Script(),
    "hold": Script(hold_after=3),
    "damaged": Script(error=AudioDecodeError("x", path="坏.mp3", reason="damaged")),
    "silence": Script(sentences=(), warnings=(TranscriptWarning("no_speech", "none"),)),
    "hostile": Script(
        sentences=(
            Sentence((Token(MARKUP, 0, 4_000, 0.9),)),
            Sentence((Token(EXPRESSION, 4_000, 9_000, 0.1),), speaker=MARKUP),
        ),
        warnings=(TranscriptWarning("unknown", MARKUP),),
    ),
    "gaps": Script(
        gaps=((6_000, 8_400),), warnings=(TranscriptWarning("coverage", "2.4 s missing"),)
    ),
    "long": Script(sentences=_long(), duration_ms=6_000_000, hold_after=120),
}


class ScenarioEngine(ScriptedEngine):
    """Takes the script from the scenario file at each submission.

    A file ``HOME/start-over`` empties it when the next page asks for its status.
    """

    def status(self) -> EngineStatus:
        mark = self.settings.home / "start-over"
        if mark.exists():
            mark.unlink()
            self.forget_jobs()
            fill_history(self)
        return super().status()

    def submit(self, path: Path, options: TranscribeOptions, **more: str) -> Job:
        self.script = SCENARIOS[(self.settings.home / "scenario").read_text(encoding="utf-8")]
        return super().submit(path, options, **more)


def fill_history(engine: ScriptedEngine) -> None:
    """Five finished recordings, one of them with a hostile name."""
    engine.script = Script()
    tone = write_tone(engine.settings.home / "tone.wav")
    names = ["产品例会.m4a", f"{MARKUP}.wav", "客户访谈.mp4", "周会.wav", "培训.mp3"]
    for name in names:
        job = ScriptedEngine.submit(engine, tone, TranscribeOptions(), name=name)
        while not engine.live(job.id).job.state.is_final:
            pass


def main(home: Path, port: int) -> None:
    settings = Settings(home=home, port=port)
    os.environ["GRADIO_TEMP_DIR"] = str(settings.tmp / "page")
    os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"
    from ui.app import build_app, launch_kwargs

    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    engine = ScenarioEngine(settings)
    engine.start()
    demo = build_app(engine, settings)
    demo.launch(**launch_kwargs(settings), prevent_thread_lock=True)
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    stop.wait()
    demo.close(verbose=False)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
