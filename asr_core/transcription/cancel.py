"""The request to stop a running transcription."""

from __future__ import annotations

import threading

from asr_core.errors import TranscriptionCancelled


class CancelToken:
    """Set from any thread; checked by the pipeline between groups of segments.

    Args:
        known_only: stop by itself at the first group that has no checkpoint: what was recognized
            before becomes text and nothing is recognized.
    """

    def __init__(self, *, known_only: bool = False) -> None:
        self._event = threading.Event()
        self.known_only = known_only

    def cancel(self) -> None:
        self._event.set()

    @property
    def is_cancelled(self) -> bool:
        return self._event.is_set()

    def raise_if_cancelled(self) -> None:
        """Raises TranscriptionCancelled once :meth:`cancel` was called."""
        if self._event.is_set():
            raise TranscriptionCancelled
