"""Reading of WAV files and of declared raw PCM through libsndfile."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from asr_core.audio.raw import ENCODINGS, RawFormat
from asr_core.audio.reader import (
    BLOCK_S,
    AudioInfo,
    Damage,
    decode_error,
    is_plausible_rate,
)
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

# Writers that stream put this or more where the length is not known yet.
_UNKNOWN_LENGTH_BYTES = 0x7FFFF000

_MAX_CHUNKS = 1_000


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
        self._file = soundfile.SoundFile(os.fsencode(path.absolute()), **_layout(raw))
        rate_hz = self._file.samplerate
        try:
            if not is_plausible_rate(rate_hz):
                raise decode_error(name, "damaged", f"its header states {rate_hz} samples a second")
            with path.open("rb") as file:
                self.promised_s = None if raw else _promised_s(file)
        except BaseException:
            self._file.close()
            raise
        subtype = self._file.subtype
        self.info = AudioInfo(
            container="raw" if raw else "wav",
            codec=_CODECS.get(subtype, subtype.lower()),
            sample_rate_hz=rate_hz,
            channels=self._file.channels,
            duration_ms=round(self._file.frames * 1000 / rate_hz),
        )
        self.damage = Damage()
        self.is_empty = not self._file.frames

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


def _promised_s(raw: BinaryIO) -> float | None:
    """Seconds that the ``fmt`` and ``data`` chunks state; None when they state no length."""
    form = raw.read(12)[:4]
    order = ">" if form == b"RIFX" else "<"
    bytes_a_second = 0
    long_data_bytes = None
    for _ in range(_MAX_CHUNKS):
        header = raw.read(8)
        if len(header) < 8:
            return None
        kind, size_bytes = struct.unpack(f"{order}4sI", header)
        if kind == b"data":
            if form == b"RF64" and long_data_bytes is not None:
                size_bytes = long_data_bytes
            elif size_bytes >= _UNKNOWN_LENGTH_BYTES:
                return None
            return size_bytes / bytes_a_second if bytes_a_second else None
        body = raw.read(min(size_bytes, 28))
        if kind == b"fmt " and len(body) >= 12:
            (bytes_a_second,) = struct.unpack_from(f"{order}I", body, 8)
        elif kind == b"ds64" and len(body) >= 16:
            (long_data_bytes,) = struct.unpack_from("<Q", body, 8)
        raw.seek(size_bytes + size_bytes % 2 - len(body), os.SEEK_CUR)
    return None
