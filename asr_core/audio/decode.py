"""Recordings of any format as a stream of mono 16 kHz waveform blocks.

Nothing here holds more than a few seconds of a recording, whatever its length.
"""

from __future__ import annotations

import stat
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path

import numpy as np

from asr_core.audio.container_reader import ContainerReader
from asr_core.audio.reader import BLOCK_S, AudioInfo, Reader, decode_error
from asr_core.audio.resample import Resampler
from asr_core.audio.wave_reader import WaveReader, is_wave
from asr_core.errors import AudioError, UsageError
from asr_core.results import SAMPLE_RATE_HZ, TranscriptWarning
from asr_core.runtime.session import Float32

__all__ = [
    "AudioInfo",
    "AudioSource",
    "is_browser_playable",
    "open_audio",
    "probe",
    "write_playback",
]

_TELEPHONE_HZ = 8_000
_TOLERATED_LOSS_S = 0.5  # containers state their length this roughly

# What the audio element of Chromium, Firefox and Safari plays and seeks in alike.
_BROWSER_CODECS = {
    "wav": frozenset({"pcm_u8", "pcm_s16le", "pcm_s24le", "pcm_f32le"}),
    "flac": frozenset({"flac"}),
    "mp3": frozenset({"mp3"}),
    "mp4": frozenset({"aac", "mp3"}),
    "ogg": frozenset({"opus", "vorbis"}),
    "webm": frozenset({"opus", "vorbis"}),
}

_PLAYBACK_BIT_RATE = 48_000
_SHORTEST_PLAYBACK_SAMPLES = SAMPLE_RATE_HZ // 10


class AudioSource:
    """One open recording; made by :func:`open_audio`.

    Attributes:
        info: what the container says.
        warnings: found so far; complete after the last block. Codes: ``narrowband`` (telephone
            band, at once), ``truncated`` (part of the recording is missing or damaged).
        position_samples: 16 kHz samples handed out so far.
    """

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._consumed = False
        self.info = reader.info
        self.position_samples = 0
        self.warnings: list[TranscriptWarning] = []
        if self.info.sample_rate_hz <= _TELEPHONE_HZ:
            self.warnings.append(
                TranscriptWarning(
                    "narrowband",
                    f"The recording has a sample rate of {self.info.sample_rate_hz} Hz "
                    "(telephone band); expect more errors",
                )
            )

    @property
    def gaps(self) -> list[tuple[int, int]]:
        """``(start_ms, end_ms)`` of damaged ranges found so far; they sound as silence."""
        return list(self._reader.damage.gaps)

    def blocks(self) -> Iterator[Float32]:
        """The recording from start to end, once.

        Yields:
            float32 mono 16 kHz in [-1, 1], shape (samples,), up to 10 s each, never empty.
        """
        if self._consumed:
            raise UsageError("The blocks of a recording can be read once")
        self._consumed = True
        decoded_s = 0.0
        resampler: Resampler | None = None
        resampler_hz = 0
        for rate_hz, waveform in _grouped(self._reader.blocks()):
            decoded_s += len(waveform) / rate_hz
            if resampler is not None and rate_hz != resampler_hz:
                yield from self._hand_out(resampler.flush())
                resampler = None
            if resampler is None:
                resampler, resampler_hz = Resampler(rate_hz), rate_hz
            yield from self._hand_out(resampler.push(_cleaned(waveform)))
        if resampler is not None:
            yield from self._hand_out(resampler.flush())
        self._warn_of_loss(decoded_s)

    def _hand_out(self, waveform: Float32) -> Iterator[Float32]:
        if len(waveform):
            self.position_samples += len(waveform)
            yield np.clip(waveform, -1.0, 1.0)

    def _warn_of_loss(self, decoded_s: float) -> None:
        damage = self._reader.damage
        promised_s = self._reader.promised_s or 0.0
        missing_s = max(promised_s - decoded_s, damage.lost_s)
        if missing_s <= _TOLERATED_LOSS_S and not damage.in_the_middle:
            return
        whole = f" of {promised_s:.1f}" if promised_s > decoded_s else ""
        self.warnings.append(
            TranscriptWarning(
                "truncated",
                f"The recording is incomplete or damaged: {decoded_s:.1f}{whole} s were decoded",
            )
        )


@contextmanager
def open_audio(path: Path, *, name: str = "") -> Iterator[AudioSource]:
    """Open a recording; its content decides the format, not its extension.

    Args:
        path: the file.
        name: what errors call it; the file's own name when empty.

    Raises:
        AudioDecodeError: see its ``reason``.
    """
    reader = _open_reader(path, name or path.name)
    try:
        yield AudioSource(reader)
    finally:
        reader.close()


def probe(path: Path, name: str = "") -> AudioInfo:
    """What the container says, after the first piece was decoded.

    Raises:
        AudioDecodeError: as :func:`open_audio`.
    """
    with open_audio(path, name=name) as source:
        return source.info


def is_browser_playable(info: AudioInfo) -> bool:
    """Whether the usual browsers play the recording as it is and can seek in it."""
    if info.duration_ms is None:
        return False
    return info.codec in _BROWSER_CODECS.get(info.container, frozenset())


def write_playback(path: Path, target: Path) -> None:
    """Write a copy that every browser plays: AAC, mono, 16 kHz, in an MP4 container.

    Args:
        path: the recording.
        target: ``.m4a`` file to create; appears only when it is complete.

    Raises:
        AudioDecodeError: the recording cannot be decoded.
        AudioError: the copy cannot be written.
    """
    draft = target.with_name(f".{target.name}.{uuid.uuid4().hex}.part")
    try:
        with open_audio(path) as source:
            _encode(source, draft)
        draft.replace(target)
    except OSError as exc:
        raise AudioError(
            f"{target.name} cannot be written: {exc}", path=target.name, reason=str(exc.strerror)
        ) from exc
    finally:
        draft.unlink(missing_ok=True)


def _encode(source: AudioSource, draft: Path) -> None:
    import av

    position = 0
    with draft.open("wb") as file, av.open(file, mode="w", format="mp4") as container:
        stream = container.add_stream(
            "aac", rate=SAMPLE_RATE_HZ, layout="mono", bit_rate=_PLAYBACK_BIT_RATE
        )

        for waveform in _playable(source):
            frame = av.AudioFrame.from_ndarray(waveform[None, :], format="fltp", layout="mono")
            frame.sample_rate = SAMPLE_RATE_HZ
            # With a clock, the muxer notes the encoder's delay and players skip it.
            frame.time_base = Fraction(1, SAMPLE_RATE_HZ)
            frame.pts = position
            position += len(waveform)
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))


def _playable(source: AudioSource) -> Iterator[Float32]:
    """The blocks of a recording, at least 0.1 s: players refuse a file without a packet."""
    yield from source.blocks()
    missing = _SHORTEST_PLAYBACK_SAMPLES - source.position_samples
    if missing > 0:
        yield np.zeros(missing, np.float32)


def _open_reader(path: Path, name: str) -> Reader:
    with _file_errors(name):
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise decode_error(name, "not_audio", "it is not a file")
        if status.st_size == 0:
            raise decode_error(name, "empty", "the file is empty (0 bytes)")
        file = path.open("rb")
        try:
            head = file.read(12)
            file.seek(0)
            reader = _open_wave(path, name) if is_wave(head) else None
            if reader is None:
                return ContainerReader(file, name)
        except BaseException:
            file.close()
            raise
        file.close()
        return reader


@contextmanager
def _file_errors(name: str) -> Iterator[None]:
    try:
        yield
    except (FileNotFoundError, NotADirectoryError) as exc:
        raise decode_error(name, "missing", "there is no such file") from exc
    except OSError as exc:
        raise decode_error(name, "unreadable", f"it cannot be read ({exc.strerror})") from exc


def _open_wave(path: Path, name: str) -> Reader | None:
    """libsndfile's reader, or None for a WAV that only FFmpeg can decode."""
    import soundfile

    try:
        return WaveReader(path, name)
    except soundfile.LibsndfileError:
        return None


def _grouped(blocks: Iterator[tuple[int, Float32]]) -> Iterator[tuple[int, Float32]]:
    """Join short pieces of one rate into blocks of ``BLOCK_S`` or a little more."""
    pieces: list[Float32] = []
    gathered = 0
    group_hz = 0
    for rate_hz, waveform in blocks:
        if pieces and (rate_hz != group_hz or gathered >= BLOCK_S * group_hz):
            yield group_hz, np.concatenate(pieces)
            pieces, gathered = [], 0
        group_hz = rate_hz
        pieces.append(waveform)
        gathered += len(waveform)
    if pieces:
        yield group_hz, np.concatenate(pieces)


def _cleaned(waveform: Float32) -> Float32:
    """Finite and in [-1, 1], as a copy."""
    finite = np.nan_to_num(waveform, nan=0.0, posinf=0.0, neginf=0.0)
    return np.clip(finite, -1.0, 1.0)
