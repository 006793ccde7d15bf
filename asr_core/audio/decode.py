"""Recordings of any format as a stream of 16 kHz waveform blocks.

Nothing here holds more than a few seconds of a recording, whatever its length.
"""

from __future__ import annotations

import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np

from asr_core.audio.container_reader import ContainerReader, no_such_track
from asr_core.audio.protection import is_protected
from asr_core.audio.raw import RawFormat, parse_raw
from asr_core.audio.reader import (
    BLOCK_S,
    AudioInfo,
    DecodeOptions,
    Reader,
    decode_error,
    mix_down,
)
from asr_core.audio.resample import Resampler
from asr_core.audio.silk_reader import SilkReader
from asr_core.audio.sniff import HEAD_BYTES, agrees, is_silk, is_wave
from asr_core.audio.wave_reader import WaveReader
from asr_core.errors import UsageError
from asr_core.results import SAMPLE_RATE_HZ, TranscriptWarning
from asr_core.runtime.session import Float32

__all__ = ["AudioInfo", "AudioSource", "DecodeOptions", "open_audio", "probe"]

_TELEPHONE_HZ = 8_000
_MS_SAMPLES = SAMPLE_RATE_HZ // 1000
_TOLERATED_LOSS_S = 0.5  # containers state their length this roughly
_ALIKE = 0.01  # largest difference between channels that hold the same
_WARM_UP_S = 2  # of sound before a part: for whole seconds, and for the filter of the resampler


class AudioSource:
    """One open recording, or a part of it; made by :func:`open_audio`.

    Attributes:
        info: what the container says.
        warnings: found so far; complete after the last block. Codes: ``narrowband`` (telephone
            band), ``extension`` (the name says something else than the content), ``tracks``
            (there are several, the default one is read), ``truncated`` (a part is missing or
            damaged), ``too_long`` (decoding stopped at the limit), ``channels_alike`` (the
            channels that were to be kept apart hold the same).
        position_samples: 16 kHz samples handed out so far.
    """

    def __init__(self, reader: Reader, name: str, options: DecodeOptions) -> None:
        self._reader = reader
        self._options = options
        self._limit_samples = int(options.max_duration_s * SAMPLE_RATE_HZ)
        self._skip_samples = options.start_ms * _MS_SAMPLES
        self._passed_samples = 0  # before the part, neither mixed nor resampled
        self._passed_hz = 0
        self._consumed = False
        self._stopped = False
        self._alike = options.split and reader.info.channels > 1
        self.info = reader.info
        if options.is_part:
            self._limit_to_part()
        self.position_samples = 0
        self._missing_end: list[tuple[int, int]] = []
        self.warnings: list[TranscriptWarning] = []
        self._warn_of_kind(name)

    def _limit_to_part(self) -> None:
        start_ms, end_ms, whole_ms = (
            self._options.start_ms,
            self._options.end_ms,
            self.info.duration_ms,
        )
        if end_ms is not None:
            self._limit_samples = min(self._limit_samples, (end_ms - start_ms) * _MS_SAMPLES)
        ends = [time_ms for time_ms in (end_ms, whole_ms) if time_ms is not None]
        length_ms = max(min(ends) - start_ms, 0) if ends else None
        self.info = replace(self.info, duration_ms=length_ms)

    @property
    def gaps(self) -> list[tuple[int, int]]:
        """``(start_ms, end_ms)`` of damaged or missing ranges found so far, in order.

        They are complete after the last block. A range inside the recording sounds as silence;
        one behind its end is what its header promised.
        """
        if self._options.is_part:
            return []
        end_ms = self._end_ms
        found = [(start, min(end, end_ms)) for start, end in self._reader.damage.gaps]
        return [(start, end) for start, end in found if start < end] + self._missing_end

    @property
    def _end_ms(self) -> int:
        return self.position_samples * 1000 // SAMPLE_RATE_HZ

    @property
    def channels(self) -> int:
        """Rows of a block of :meth:`channel_blocks`."""
        return self.info.channels if self._options.split else 1

    def blocks(self) -> Iterator[Float32]:
        """The recording from start to end, once, its channels mixed.

        Yields:
            float32 mono 16 kHz in [-1, 1], shape (samples,), up to 10 s each, never empty.
        """
        for block in self.channel_blocks():
            yield mix_down(block)

    def channel_blocks(self) -> Iterator[Float32]:
        """The recording from start to end, once.

        Yields:
            float32 16 kHz in [-1, 1], shape (channels, samples), up to 10 s each, never empty;
            one row unless the options keep the channels apart.
        """
        if self._consumed:
            raise UsageError("The blocks of a recording can be read once")
        self._consumed = True
        decoded_s = 0.0
        resamplers: list[Resampler] = []
        resampler_hz = 0
        for rate_hz, channels in _grouped(self._reader.blocks()):
            decoded_s += channels.shape[1] / rate_hz
            if not resamplers and self._pass_over(rate_hz, channels.shape[1]):
                continue
            if resamplers and rate_hz != resampler_hz:
                yield from self._hand_out([resampler.flush() for resampler in resamplers])
                resamplers = []
            lead = 0
            if not resamplers:
                resamplers = [Resampler(rate_hz) for _ in range(self.channels)]
                resampler_hz = rate_hz
                lead = self._lead(rate_hz)
            rows = self._rows(_cleaned(channels))[:, lead:]
            yield from self._hand_out(
                [resampler.push(row) for resampler, row in zip(resamplers, rows, strict=True)]
            )
            if self._stopped:
                break
        else:
            yield from self._hand_out([resampler.flush() for resampler in resamplers])
        self._account_for_end(decoded_s)

    def _pass_over(self, rate_hz: int, samples: int) -> bool:
        """Whether a block lies so far before the part that nothing of it is heard in it."""
        behind = self._passed_samples + samples
        if rate_hz != (self._passed_hz or rate_hz):
            return False
        if behind * 1000 > (self._options.start_ms - _WARM_UP_S * 1000) * rate_hz:
            return False
        self._passed_samples, self._passed_hz = behind, rate_hz
        return True

    def _lead(self, rate_hz: int) -> int:
        """Samples to leave out of the first block that is resampled, after those passed over.

        The resampler has to begin where a sample of 16 kHz lies in the whole recording: at a whole
        second, or where the rate changes, since it begins anew there in any case.
        """
        if not self._passed_samples:
            return 0
        lead = -self._passed_samples % rate_hz if rate_hz == self._passed_hz else 0
        before = self._passed_samples + lead
        self._skip_samples -= round(before * SAMPLE_RATE_HZ / self._passed_hz)
        return lead

    def _rows(self, channels: Float32) -> Float32:
        """As many rows as the blocks have; a stream may change its channels on the way."""
        if not self._options.split:
            return mix_down(channels)[None, :]
        wanted, present = self.info.channels, len(channels)
        if present < wanted:
            channels = channels[np.minimum(np.arange(wanted), present - 1)]
        elif present > wanted:
            last = mix_down(channels[wanted - 1 :])[None, :]
            channels = np.concatenate([channels[: wanted - 1], last])
        if self._alike:
            self._alike = bool(np.abs(channels[1:] - channels[0]).max(initial=0) < _ALIKE)
        return channels

    def _hand_out(self, rows: list[Float32]) -> Iterator[Float32]:
        if not rows or not len(rows[0]):
            return
        block = np.stack(rows)
        skipped = min(self._skip_samples, block.shape[1])
        self._skip_samples -= skipped
        block = block[:, skipped:]
        left = self._limit_samples - self.position_samples
        if block.shape[1] > left:
            self._stopped = True
            block = block[:, :left]
        if block.shape[1]:
            self.position_samples += block.shape[1]
            # The filter overshoots a little at full scale.
            yield np.clip(block, -1.0, 1.0, out=block)

    def _warn(self, code: str, message: str, ranges: Sequence[tuple[int, int]] = ()) -> None:
        self.warnings.append(TranscriptWarning(code, message, tuple(ranges)))

    def _warn_of_kind(self, name: str) -> None:
        """What can be said before anything is decoded."""
        info = self.info
        if info.sample_rate_hz <= _TELEPHONE_HZ:
            self._warn(
                "narrowband",
                f"The recording has a sample rate of {info.sample_rate_hz} Hz "
                "(telephone band); expect more errors",
            )
        if not agrees(name, info.container):
            self._warn(
                "extension",
                f"The content is {info.container}, which the extension of the name does not say",
            )
        if info.tracks > 1 and self._options.track is None:
            self._warn("tracks", f"It has {info.tracks} audio tracks; track {info.track} was read")

    def _account_for_end(self, decoded_s: float) -> None:
        """Gaps and warnings that are known when the last block is out."""
        if self._options.is_part:
            return
        damage = self._reader.damage
        promised_s = self._reader.promised_s or 0.0
        end_ms = self._end_ms
        is_short = not self._stopped and promised_s - decoded_s > _TOLERATED_LOSS_S
        is_broken = damage.in_the_middle or damage.cut_off or damage.lost_s > _TOLERATED_LOSS_S
        damaged = self.gaps
        whole_ms = round(promised_s * 1000)
        if self._stopped:
            whole_ms = max(whole_ms, self.info.duration_ms or 0)
        if (self._stopped or is_short) and whole_ms > end_ms:
            self._missing_end = [(end_ms, whole_ms)]
        if self._stopped:
            message = f"Only the first {end_ms / 1000:.0f} s were decoded"
            self._warn("too_long", message, self._missing_end)
        if is_short or is_broken:
            whole = f" of {promised_s:.1f}" if promised_s > decoded_s else ""
            self._warn(
                "truncated",
                f"The recording is incomplete or damaged: {decoded_s:.1f}{whole} s were decoded",
                damaged if self._stopped else self.gaps,
            )
        if self._alike and self.position_samples:
            self._warn("channels_alike", "All channels hold the same; transcribe them mixed")


@contextmanager
def open_audio(
    path: Path, *, name: str = "", options: DecodeOptions | None = None
) -> Iterator[AudioSource]:
    """Open a recording; its content decides the format, not its extension.

    Args:
        path: the file.
        name: its original name, for errors and warnings; the file's own when empty.
        options: how to read it.

    Raises:
        AudioDecodeError: see its ``reason``.
        SettingsError: ``options.raw`` is not a layout.
    """
    options = options or DecodeOptions()
    reader = _open_reader(path, name or path.name, options)
    try:
        yield AudioSource(reader, name or path.name, options)
    finally:
        reader.close()


def probe(path: Path, name: str = "", options: DecodeOptions | None = None) -> AudioInfo:
    """What the container says, after the first piece was decoded.

    Raises:
        AudioDecodeError: as :func:`open_audio`.
    """
    with open_audio(path, name=name, options=options) as source:
        return source.info


def _open_reader(path: Path, name: str, options: DecodeOptions) -> Reader:
    raw = parse_raw(options.raw) if options.raw else None
    with _file_errors(name):
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise decode_error(name, "not_audio", "it is not a file")
        if status.st_size == 0:
            raise decode_error(name, "empty", "the file is empty (0 bytes)")
        file = path.open("rb")
        try:
            head = file.read(HEAD_BYTES)
            if raw is None and is_protected(file, head):
                raise decode_error(name, "protected", "it is encrypted (DRM)")
            file.seek(0)
            reader = _open_single(path, name, head, raw)
            if reader is None and is_silk(head):
                reader = SilkReader(file, name, options.max_duration_s)
            if reader is None:
                return ContainerReader(file, name, options)
        except BaseException:
            file.close()
            raise
        file.close()
    if (options.track or 1) != 1:
        reader.close()
        raise no_such_track(name, options.track or 1, 1)
    return reader


@contextmanager
def _file_errors(name: str) -> Iterator[None]:
    try:
        yield
    except (FileNotFoundError, NotADirectoryError) as exc:
        raise decode_error(name, "missing", "there is no such file") from exc
    except OSError as exc:
        raise decode_error(name, "unreadable", f"it cannot be read ({exc.strerror})") from exc


def _open_single(path: Path, name: str, head: bytes, raw: RawFormat | None) -> Reader | None:
    """libsndfile's reader for WAV and raw PCM; None for what only FFmpeg can decode."""
    import soundfile

    if raw is None and not is_wave(head):
        return None
    try:
        reader = WaveReader(path, name, raw)
    except soundfile.LibsndfileError as exc:
        if raw is not None:
            raise decode_error(name, "damaged", f"it cannot be read as {raw}") from exc
        return None
    if not reader.is_empty:
        return reader
    reader.close()
    if raw is not None:
        raise decode_error(name, "header_only", "it is shorter than one sample")
    # A recorder that was killed leaves the length at 0; FFmpeg reads on to the end of the file.
    return None


def _grouped(blocks: Iterator[tuple[int, Float32]]) -> Iterator[tuple[int, Float32]]:
    """Join short pieces of one rate and channel count into blocks of ``BLOCK_S`` or a little more.

    Takes and gives ``(sample_rate_hz, channels)``, shape (channels, samples).
    """
    pieces: list[Float32] = []
    gathered = 0
    kind = (0, 0)  # rate and channel count of the pieces
    for rate_hz, channels in blocks:
        if pieces and (kind != (rate_hz, len(channels)) or gathered >= BLOCK_S * kind[0]):
            yield kind[0], np.concatenate(pieces, axis=1)
            pieces, gathered = [], 0
        kind = (rate_hz, len(channels))
        pieces.append(channels)
        gathered += channels.shape[1]
    if pieces:
        yield kind[0], np.concatenate(pieces, axis=1)


def _cleaned(channels: Float32) -> Float32:
    """Finite and in [-1, 1]."""
    with np.errstate(invalid="ignore"):
        if channels.min(initial=0) >= -1 and channels.max(initial=0) <= 1:  # false for NaN as well
            return channels
        finite = np.nan_to_num(channels, nan=0.0, posinf=0.0, neginf=0.0)
        return np.clip(finite, -1.0, 1.0, out=finite)
