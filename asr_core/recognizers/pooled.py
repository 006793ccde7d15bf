"""One recognizer over several devices: each part of a group goes to the one with least to do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from asr_core.audio.segmenter import Segment
from asr_core.errors import SessionClosedError
from asr_core.recognizers.base import RecognizeOptions, Recognizer
from asr_core.results import ModelInfo, TranscriptWarning, Utterance
from asr_core.runtime.pool import BACK_OFF_S, PATIENCE_S, DevicePool, MemberStatus

_SECOND_SAMPLES = 16_000


class PooledRecognizer:
    """Implements :class:`asr_core.recognizers.base.Recognizer`; several threads may use it.

    Segments on a device that is lost are recognized again on another one, and the device is opened
    again in the background.

    Args:
        devices: names, at least one.
        open_recognizer: makes the recognizer of the device of that place; all of one model.
        patience_s: how long segments wait while no device is ready.
        back_off_s: pauses between attempts to open a lost device.

    Raises:
        ModelError, DeviceError: a recognizer cannot be opened.
    """

    def __init__(
        self,
        devices: Sequence[str],
        open_recognizer: Callable[[int], Recognizer],
        *,
        patience_s: float = PATIENCE_S,
        back_off_s: Sequence[float] = BACK_OFF_S,
    ) -> None:
        self._pool: DevicePool[Recognizer] = DevicePool(
            devices,
            open_recognizer,
            lambda recognizer: recognizer.close(),
            patience_s=patience_s,
            back_off_s=back_off_s,
        )
        self._threads = ThreadPoolExecutor(len(devices), thread_name_prefix="devices")
        self._devices = len(devices)
        self._closed = False
        # What does not change is read once: later the first device may be the lost one.
        first = self._pool.run(lambda recognizer: recognizer, load=0)
        self._info = replace(first.info, device=",".join(devices))
        self._language = first.language
        self._supports_hotwords = first.supports_hotwords
        self._part_passes = first.group_passes
        self._group_passes = first.group_passes * len(devices)

    @property
    def info(self) -> ModelInfo:
        return self._info

    @property
    def language(self) -> str:
        return self._language

    @property
    def supports_hotwords(self) -> bool:
        return self._supports_hotwords

    @property
    def group_passes(self) -> int:
        """So many that every device has a part of its own."""
        return self._group_passes

    def passes(self, segments: Sequence[Segment]) -> int:
        return len(segments)

    def status(self) -> tuple[MemberStatus, ...]:
        """Every device, in order."""
        return self._pool.status()

    def rest(self, index: int, reason: str) -> None:
        """Give a device no more work; see :meth:`asr_core.runtime.pool.DevicePool.rest`."""
        self._pool.rest(index, reason)

    def resume(self, index: int) -> None:
        """Give a device work again."""
        self._pool.resume(index)

    def hotword_warnings(self, words: Sequence[str]) -> tuple[TranscriptWarning, ...]:
        """See the protocol."""
        return self._pool.run(lambda recognizer: recognizer.hotword_warnings(words), load=0)

    def recognize(self, segments: Sequence[Segment], options: RecognizeOptions) -> list[Utterance]:
        """See the protocol; the parts are recognized side by side."""
        if self._closed:
            raise SessionClosedError("The recognizer is closed")
        share = -(-len(segments) // self._devices) or 1
        size = min(share, self._part_passes)
        parts = [segments[first : first + size] for first in range(0, len(segments), size)]
        done = self._threads.map(lambda part: self._recognize_part(part, options), parts)
        return [utterance for utterances in done for utterance in utterances]

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._pool.close()
            self._threads.shutdown()

    def _recognize_part(
        self, part: Sequence[Segment], options: RecognizeOptions
    ) -> list[Utterance]:
        seconds = sum(segment.end - segment.start for segment in part) / _SECOND_SAMPLES

        def recognize(recognizer: Recognizer) -> list[Utterance]:
            device = recognizer.info.device
            found = recognizer.recognize(part, options)
            return [replace(utterance, device=device) for utterance in found]

        return self._pool.run(recognize, load=seconds)
