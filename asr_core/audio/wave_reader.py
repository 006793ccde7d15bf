"""Reading of WAV files and of declared raw PCM through libsndfile."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from asr_core.audio.raw import ENCODINGS, RawFormat
from asr_core.audio.reader import (
    BLOCK_S,
    AudioInfo,
    Damage,
    decode_error,
    is_plausible_rate,
)
from asr_core.audio.wave_header import read_wave_header
from asr_core.runtime.session import Float32

_CODECS = {
    "PCM_U8": "pcm_u8",
    "PCM_16": "pcm_s16le",
    "PCM_24": "pcm_s24le",
    "PCM_32": "pcm_s32le",
    "FLOAT": "pcm_f32le",
    "DOUBLE": "pcm_f64le",
    "ULAW": "pcm_mulaw",
    "ALAW": "pcm_alaw",
    "MS_ADPCM": "adpcm_ms",
    "IMA_ADPCM": "adpcm_ima_wav",
    "GSM610": "gsm_ms",
    "G721_32": "adpcm_g726",
}


_PART_BUFFER_BYTES = 1 << 20


class WaveReader:
    """A WAV file, or raw PCM.

    Args:
        path: the file.
        name: file name for errors.
        raw: the declared layout of a file without a header.

    Attributes:
        is_empty: the header states that nothing follows it.

    Raises:
        soundfile.LibsndfileError: libsndfile cannot read this kind of WAV.
        AudioDecodeError: the header is not usable.
    """

    def __init__(self, path: Path, name: str, raw: RawFormat | None = None) -> None:
        import soundfile

        self._read_error = soundfile.LibsndfileError
        self._part: _Part | None = None  # libsndfile does not close what it was given
        self._file = soundfile.SoundFile(os.fsencode(path.absolute()), **_layout(raw))
        rate_hz, subtype = self._file.samplerate, self._file.subtype
        try:
            if not is_plausible_rate(rate_hz):
                raise decode_error(name, "damaged", f"its header states {rate_hz} samples a second")
            self.promised_s = None if raw else self._read_header(path)
        except BaseException:
            self.close()
            raise
        self.info = AudioInfo(
            container="raw" if raw else "wav",
            codec=_CODECS.get(subtype, subtype.lower()),
            sample_rate_hz=rate_hz,
            channels=self._file.channels,
            duration_ms=round(self._file.frames * 1000 / rate_hz),
        )
        self.damage = Damage()
        self.is_empty = not self._file.frames

    def _read_header(self, path: Path) -> float | None:
        """The promised length; takes over from libsndfile where it would stop at 4 GiB."""
        with path.open("rb") as file:
            header = read_wave_header(file)
        length = header.oversize_bytes(path.stat().st_size)
        subtypes = {subtype for subtype, _ in ENCODINGS.values()}
        if length is None or self._file.subtype not in subtypes:
            return header.promised_s
        import soundfile

        layout = {
            "format": "RAW",
            "subtype": self._file.subtype,
            "endian": "BIG" if header.form == "RIFX" else "LITTLE",
            "samplerate": self._file.samplerate,
            "channels": self._file.channels,
        }
        self._file.close()
        self._part = _Part(path, header.data_start, length)
        self._file = soundfile.SoundFile(self._part, **layout)
        return None

    def blocks(self) -> Iterator[tuple[int, Float32]]:
        rate_hz = self.info.sample_rate_hz
        while True:
            try:
                frames = self._file.read(BLOCK_S * rate_hz, dtype="float32", always_2d=True)
            except self._read_error:
                self.damage.in_the_middle = True
                return
            if not len(frames):
                return
            yield rate_hz, frames.T

    def close(self) -> None:
        self._file.close()
        if self._part is not None:
            self._part.close()


class _Part(io.RawIOBase):
    """A range of bytes of a file, as a file; libsndfile asks for a few at a time."""

    def __init__(self, path: Path, start: int, length: int) -> None:
        self._file = io.BufferedReader(io.FileIO(path), _PART_BUFFER_BYTES)
        self._start = start
        self._length = length
        self._position = 0
        self._file.seek(start)

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._position, os.SEEK_END: self._length}[whence]
        self._position = max(base + offset, 0)
        self._file.seek(self._start + self._position)
        return self._position

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        wanted = min(len(buffer), max(self._length - self._position, 0))
        count = self._file.readinto(memoryview(buffer)[:wanted])
        self._position += count
        return count

    def close(self) -> None:
        self._file.close()
        super().close()


def _layout(raw: RawFormat | None) -> dict[str, Any]:
    """What libsndfile is told of a file without a header."""
    if raw is None:
        return {}
    subtype, endian = ENCODINGS[raw.encoding]
    return {
        "format": "RAW",
        "subtype": subtype,
        "endian": endian,
        "samplerate": raw.sample_rate_hz,
        "channels": raw.channels,
    }
