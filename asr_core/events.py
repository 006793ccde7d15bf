"""What a running transcription reports while it works."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from asr_core.results import Sentence


@dataclass(frozen=True, slots=True)
class Progress:
    """Sent after every recognized group of segments, and once at the start.

    Attributes:
        done_ms: position in the recording up to which everything is accounted for.
        total_ms: length of the recording; ``None`` while the container does not tell.
        elapsed_ms: wall time since the start.
        remaining_ms: estimate of the wall time left; ``None`` while unknown.
        segments: speech segments recognized so far.
        sentences: sentences that became final since the last event, in time order.
    """

    done_ms: int
    total_ms: int | None
    elapsed_ms: int
    remaining_ms: int | None
    segments: int
    sentences: tuple[Sentence, ...] = ()


EventSink = Callable[[Progress], None]
