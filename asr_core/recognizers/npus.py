"""A Paraformer on the Ascend devices of this machine: one recognizer a device, watched."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from asr_core.audio.segmenter import Segment
from asr_core.errors import DeviceError, DeviceLostError, RecognitionError
from asr_core.recognizers.base import RecognizeOptions, Recognizer
from asr_core.recognizers.paraformer import ParaformerRecognizer
from asr_core.recognizers.paraformer_ascend import open_ascend_paraformer
from asr_core.recognizers.pooled import PooledRecognizer
from asr_core.results import Utterance
from asr_core.runtime.ascend_acl import ACL, AclRuntime
from asr_core.runtime.npu_smi import NpuMonitor
from asr_core.runtime.npu_watch import NpuWatch, chip_of, unfit
from asr_core.runtime.pool import BACK_OFF_S, PATIENCE_S


def _no_cores(_index: int) -> Collection[int]:
    return ()


@dataclass(frozen=True, slots=True)
class NpuOptions:
    """What recognizers on Ascend devices share.

    Attributes:
        threads: CPU threads, for graphs that run on the CPU.
        batch_segments: segments that one device recognizes together.
        monitor: asks ``npu-smi``.
        cann: version of this machine; "?" where it is unknown.
        cores: processor cores that the thread of a device stays on; empty: any.
        runtime: pyACL of the process.
        patience_s: how long segments wait while no device is ready.
        back_off_s: pauses between attempts to open a lost device.
    """

    threads: int
    batch_segments: int
    monitor: NpuMonitor
    cann: str = "?"
    cores: Callable[[int], Collection[int]] = _no_cores
    runtime: AclRuntime = ACL
    patience_s: float = PATIENCE_S
    back_off_s: Sequence[float] = field(default=BACK_OFF_S)


class NpuRecognizer(PooledRecognizer):
    """A Paraformer on one or more Ascend devices.

    A device that is too hot, ill or lost gets no work until it is fit again; while there is none,
    segments wait. They never go to the CPU.

    Args:
        folder: whose ``graphs.json`` is for ``ascend``.
        name: of the model.
        indices: of the devices, at least one.
        options: what all of them share.

    Raises:
        ModelError: the files cannot be used.
        DeviceError: no device can be opened, or one of them computes other numbers than the CPU.
    """

    def __init__(
        self, folder: Path, *, name: str, indices: Sequence[int], options: NpuOptions
    ) -> None:
        self._folder, self._name = folder, name
        self._indices = tuple(indices)
        self._options = options
        super().__init__(
            [f"npu:{index}" for index in indices],
            self._open,
            patience_s=options.patience_s,
            back_off_s=options.back_off_s,
        )
        self._watch = NpuWatch(self._indices, self.rest, self.resume, options.monitor)
        self._watch.start()

    def recognize(self, segments: Sequence[Segment], options: RecognizeOptions) -> list[Utterance]:
        """See the protocol.

        Raises:
            DeviceError: a device failed, in its own words.
        """
        try:
            return super().recognize(segments, options)
        except RecognitionError as exc:
            if isinstance(exc.__cause__, DeviceError):
                cause = exc.__cause__
                raise type(cause)(cause.message, **cause.details) from exc
            raise

    def close(self) -> None:
        self._watch.close()
        super().close()

    def _open(self, place: int) -> Recognizer:
        index, options = self._indices[place], self._options
        if reason := unfit(chip_of(index, options.monitor.report())):
            raise DeviceLostError(
                f"npu:{index} is not fit for work: {reason}",
                device=f"npu:{index}",
                reason="unfit",
                text=reason,
            )
        _, backend = open_ascend_paraformer(
            self._folder,
            name=self._name,
            index=index,
            threads=options.threads,
            runtime=options.runtime,
            cann=options.cann,
            cores=options.cores(index),
        )
        return ParaformerRecognizer(
            self._folder,
            name=self._name,
            threads=options.threads,
            batch_segments=options.batch_segments,
            backend=backend,
        )
