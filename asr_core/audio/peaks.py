"""The outline of a recording: its lowest and highest sample in every fiftieth of a second.

Written while the recording is decoded, so that a page can draw hours of it without decoding
them again. Files have the binary format of BBC audiowaveform (version 2, 8 bit, one channel),
which other programs read: https://github.com/bbc/audiowaveform/blob/master/doc/DataFormat.md
"""

from __future__ import annotations

import os
import struct
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np
import numpy.typing as npt

from asr_core.audio.decode import DecodeOptions, open_audio
from asr_core.errors import AudioError, UsageError
from asr_core.results import SAMPLE_RATE_HZ
from asr_core.runtime.session import Float32

POINTS_PER_S = 50
POINT_SAMPLES = SAMPLE_RATE_HZ // POINTS_PER_S

Int8 = npt.NDArray[np.int8]

_HEADER = struct.Struct("<iIiiIi")  # version, flags, sample rate, samples a point, length, channels
_VERSION = 2
_EIGHT_BIT = 1
_FULL_SCALE = 128.0
_PAIR_BYTES = 2


@dataclass(frozen=True, slots=True)
class PeaksInfo:
    """What the header of a peaks file says.

    Attributes:
        sample_rate_hz: of the recording that was read.
        point_samples: samples that one point covers.
        length: points; the last one may cover fewer samples.
    """

    sample_rate_hz: int
    point_samples: int
    length: int

    @property
    def duration_ms(self) -> int:
        """Length of the recording, rounded up to a whole point."""
        return -(-self.length * self.point_samples * 1000 // self.sample_rate_hz)


class PeaksWriter:
    """Writes one peaks file; memory does not grow with the recording.

    The file appears under its name with :meth:`commit` and not before. :meth:`discard` may
    follow at any time: ``try: ...; writer.commit()`` and ``finally: writer.discard()``.

    Args:
        path: file to create or replace; its folder exists. A writer that is never finished
            leaves ``<name>.<32 hexadecimal digits>.part`` beside it.

    Raises:
        AudioError: from every method, when the file cannot be written.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._draft = path.with_name(f"{path.name}.{uuid.uuid4().hex}.part")
        self._length = 0
        self._rest: Float32 = np.zeros(0, np.float32)  # of a point that is not full
        with _written(path):
            self._file: BinaryIO | None = self._draft.open("xb")
        try:
            self._write(_header(0))
        except BaseException:
            self.discard()
            raise

    def accept(self, waveform: Float32) -> None:
        """Take the next piece of the recording.

        Args:
            waveform: float32 mono 16 kHz in [-1, 1], shape (samples,), of any length.
        """
        if waveform.ndim != 1:
            raise UsageError(f"peaks are made of mono waveforms, not of shape {waveform.shape}")
        missing = -len(self._rest) % POINT_SAMPLES
        if missing:
            waveform, head = waveform[missing:], waveform[:missing]
            self._rest = np.concatenate([self._rest, head])
            if len(self._rest) < POINT_SAMPLES:
                return
            self._add(self._rest[None])
        whole = len(waveform) - len(waveform) % POINT_SAMPLES
        self._add(waveform[:whole].reshape(-1, POINT_SAMPLES))
        self._rest = waveform[whole:].copy()

    def commit(self) -> None:
        """Finish the file and give it its name, in one step."""
        if len(self._rest):
            self._add(self._rest[None])
            self._rest = self._rest[:0]
        file = self._opened()
        try:
            with _written(self._path):
                file.seek(0)
                file.write(_header(self._length))
                file.flush()
                os.fsync(file.fileno())
                file.close()
                self._draft.replace(self._path)
        finally:
            self.discard()

    def discard(self) -> None:
        """Forget what was written unless it was committed; to repeat it does nothing."""
        if self._file is None:
            return
        file, self._file = self._file, None
        with _written(self._path):
            try:
                file.close()
            finally:
                self._draft.unlink(missing_ok=True)

    def _add(self, points: Float32) -> None:
        """Write whole points; shape (points, samples)."""
        pairs = np.stack([points.min(axis=1), points.max(axis=1)], axis=1)
        scaled = np.rint(pairs * _FULL_SCALE).clip(-128, 127).astype(np.int8)
        self._write(scaled.tobytes())
        self._length += len(points)

    def _write(self, content: bytes) -> None:
        with _written(self._path):
            self._opened().write(content)

    def _opened(self) -> BinaryIO:
        if self._file is None:
            raise UsageError("this peaks file is finished")
        return self._file


def write_peaks(
    recording: Path,
    target: Path,
    options: DecodeOptions | None = None,
    *,
    is_stopped: Callable[[], bool] = lambda: False,
) -> bool:
    """Decode a recording for its peaks alone.

    Args:
        recording: any recording or video.
        target: peaks file to create; appears only when it is complete.
        options: how the recording is read.
        is_stopped: asked after every few seconds of audio; true gives up.

    Returns:
        Whether the file was written.

    Raises:
        AudioDecodeError: the recording cannot be decoded.
        AudioError: the file cannot be written.
    """
    with open_audio(recording, options=options) as source:
        writer = PeaksWriter(target)
        try:
            for waveform in source.blocks():
                if is_stopped():
                    return False
                writer.accept(waveform)
            writer.commit()
        finally:
            writer.discard()
    return True


def is_peaks_file(path: Path) -> bool:
    """Whether a whole peaks file lies there."""
    try:
        with path.open("rb") as file:
            _read_header(file, path)
    except (OSError, AudioError):
        return False
    return True


def read_peaks(path: Path) -> tuple[PeaksInfo, Int8]:
    """A whole peaks file.

    Returns:
        Its header, and lowest and highest values, int8, shape (points, 2); 128 is full scale.

    Raises:
        AudioError: there is none, or it is damaged.
    """
    with _opened(path) as file:
        info = _read_header(file, path)
        return info, _read_points(file, 0, info.length)


def reduce_peaks(path: Path, count: int, *, start_ms: int = 0, end_ms: int | None = None) -> Int8:
    """A range of a recording in a fixed number of points; only that range is read.

    Args:
        path: a peaks file.
        count: points wanted.
        start_ms: where the range begins.
        end_ms: where it ends; ``None`` for the end of the recording. What lies beyond the
            recording is silence.

    Returns:
        int8, shape (count, 2). Point ``i`` is the lowest and the highest of all stored points
        that overlap the ``i``-th of ``count`` equal parts.

    Raises:
        AudioError: there is no such file, or it is damaged.
    """
    if count < 1 or start_ms < 0 or (end_ms is not None and end_ms <= start_ms):
        raise UsageError(f"no {count} points between {start_ms} and {end_ms} ms")
    with _opened(path) as file:
        info = _read_header(file, path)
        end_ms = max(info.duration_ms, start_ms + 1) if end_ms is None else end_ms
        unit = 1000 * info.point_samples * count
        # Times of the parts in units of one stored point, as whole numbers over `unit`.
        edges = np.arange(count + 1, dtype=np.int64) * (end_ms - start_ms) + start_ms * count
        edges *= info.sample_rate_hz
        firsts = np.minimum(edges[:-1] // unit, info.length)
        lasts = np.minimum(-(-edges[1:] // unit), info.length)
        base = int(firsts[0])
        stored = _read_points(file, base, int(lasts[-1]) - base)
    # A silent point closes the list, for parts beyond the recording.
    stored = np.concatenate([stored, np.zeros((1, _PAIR_BYTES), np.int8)])
    ranges = np.stack([firsts, lasts], axis=1).reshape(-1) - base
    return np.stack(
        [
            np.minimum.reduceat(stored[:, 0], ranges)[::2],
            np.maximum.reduceat(stored[:, 1], ranges)[::2],
        ],
        axis=1,
    )


def _header(length: int) -> bytes:
    return _HEADER.pack(_VERSION, _EIGHT_BIT, SAMPLE_RATE_HZ, POINT_SAMPLES, length, 1)


def _read_header(file: BinaryIO, path: Path) -> PeaksInfo:
    head = file.read(_HEADER.size)
    size_bytes = os.fstat(file.fileno()).st_size
    if len(head) == _HEADER.size:
        version, flags, rate_hz, point_samples, length, channels = _HEADER.unpack(head)
        is_ours = (version, flags, channels) == (_VERSION, _EIGHT_BIT, 1)
        is_whole = size_bytes == _HEADER.size + _PAIR_BYTES * length
        if is_ours and is_whole and rate_hz > 0 and point_samples > 0:
            return PeaksInfo(rate_hz, point_samples, length)
    raise AudioError(f"{path.name} is no whole peaks file", path=path.name, reason="damaged")


def _read_points(file: BinaryIO, first: int, count: int) -> Int8:
    file.seek(_HEADER.size + _PAIR_BYTES * first)
    content = file.read(_PAIR_BYTES * max(count, 0))
    return np.frombuffer(content, np.int8).reshape(-1, _PAIR_BYTES)


@contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    try:
        with path.open("rb") as file:
            yield file
    except OSError as exc:
        reason = exc.strerror or str(exc)
        raise AudioError(
            f"{path.name} cannot be read: {reason}", path=path.name, reason=reason
        ) from exc


@contextmanager
def _written(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as exc:
        reason = exc.strerror or str(exc)
        raise AudioError(
            f"{path.name} cannot be written: {reason}", path=path.name, reason=reason
        ) from exc
