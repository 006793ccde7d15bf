"""How long an edit of a very long transcript takes: 5,000 sentences, 100,000 tokens.

Run from the project root::

    python -m benchmarks.editing [--sentences N] [--rounds N]

Prints median and 95th percentile of the wall time of each request, in milliseconds.
"""

from __future__ import annotations

import argparse
import random
import statistics
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from asr_core.editing import EditDoor, EditResult
from asr_core.jobs.model import JobState
from asr_core.results import ModelInfo, Sentence, Token, Transcript
from asr_core.store.database import Database
from asr_core.store.edits import Edits
from asr_core.store.history import History
from asr_core.transcription.options import TranscribeOptions

CHARACTERS = [chr(0x4E00 + index) for index in range(3000)]
TOKENS = 20


class Bench(EditDoor):
    """The engine's door over a history of one recording."""

    def __init__(self, database: Database, folder: Path, sentences: int) -> None:
        self._edits = Edits(database)
        self._history = History(database, folder / "recordings")
        self.random = random.Random(1)  # noqa: S311 - not for secrets
        self.times_ms: dict[str, list[float]] = {}
        source = folder / "a.wav"
        source.write_bytes(b"not decoded here")
        self.recording = self._history.add_recording(
            source, name="a.wav", origin="file", keep="copy"
        )
        job = self._history.add_job(self.recording, TranscribeOptions(), running=True)
        lines = tuple(self._line(index) for index in range(sentences))
        made = Transcript(lines, 3600 * sentences, "zh", ModelInfo("m", "b", "cpu"), 1)
        self._history.save_transcript(job.id, made, JobState.DONE)
        self.stamp = self.editable(self.recording, 0, 1).stamp

    def edit(self, name: str, change: Callable[[], EditResult]) -> None:
        self.stamp = self.timed(name, change).stamp

    def timed(self, name: str, call: Callable[[], EditResult]) -> EditResult:
        started = time.perf_counter()
        result = call()
        self.times_ms.setdefault(name, []).append((time.perf_counter() - started) * 1000)
        return result

    def round(self, sentences: int) -> None:
        place = self.random.randrange(sentences - 2)
        text = self.editable(self.recording, place, 1).sentences[0].text
        changed = text[:5] + "改了" + text[8:]
        found = self.recording
        self.edit("text", lambda: self.edit_text(found, self.stamp, place, changed))
        self.edit("split", lambda: self.split_sentence(found, self.stamp, place, 6))
        self.edit("merge", lambda: self.merge_sentences(found, self.stamp, place, 2))
        self.edit("undo", lambda: self.undo_edit(found, self.stamp))
        self.edit("redo", lambda: self.redo_edit(found, self.stamp))

    def _line(self, index: int) -> Sentence:
        tokens = tuple(
            Token(
                self.random.choice(CHARACTERS),
                3600 * index + 180 * place,
                3600 * index + 180 * place + 170,
                round(self.random.random(), 4),
                "。" if place == TOKENS - 1 else "",
            )
            for place in range(TOKENS)
        )
        return Sentence(tokens, (), self.random.choice(("甲", "乙")))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sentences", type=int, default=5000)
    parser.add_argument("--rounds", type=int, default=40)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, closing(Database(Path(name) / "h.db")) as database:
        bench = Bench(database, Path(name), asked.sentences)
        for _ in range(asked.rounds):
            bench.round(asked.sentences)
    for request, times in bench.times_ms.items():
        late = sorted(times)[int(len(times) * 0.95)]
        print(f"{request:6s} median {statistics.median(times):6.1f} ms   95 % {late:6.1f} ms")


if __name__ == "__main__":
    main()
