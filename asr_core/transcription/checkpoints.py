"""The seam through which a transcription keeps what it has recognized."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from asr_core.results import Utterance

Spans = Sequence[tuple[int, int]]
"""``(start, end)`` of the segments of a group, in samples."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A group that was recognized before.

    Attributes:
        utterances: one for each segment.
        elapsed_ms: wall time that it took then.
    """

    utterances: tuple[Utterance, ...]
    elapsed_ms: int


class Checkpoints(Protocol):
    """The recognized groups of one job.

    A recording is decoded and divided into segments again when its job goes on; the same groups
    come out, and those that are found here are not recognized again.
    """

    def load(self, channel: int, number: int, spans: Spans) -> Checkpoint | None:
        """The group of that number in its channel, if it had just these segments."""
        ...

    def save(
        self,
        channel: int,
        number: int,
        spans: Spans,
        utterances: Sequence[Utterance],
        elapsed_ms: int,
    ) -> None:
        """Keep a group; called on the transcription's thread right after it was recognized."""
        ...
