"""The request to stop a running transcription."""

from __future__ import annotations

import threading

from asr_core.errors import TranscriptionCancelled


class CancelToken:
    """Set from any thread; checked by the pipeline between groups of segments."""

    def __init__(self) -> None:
        self._event = threading.Event()

    def cancel(self) -> None:
        self._event.set()

    @property
    def is_cancelled(self) -> bool:
        return self._event.is_set()

    def raise_if_cancelled(self) -> None:
        """Raises TranscriptionCancelled once :meth:`cancel` was called."""
        if self._event.is_set():
            raise TranscriptionCancelled
