"""The declared layout of headerless PCM."""

from __future__ import annotations

import re
from dataclasses import dataclass

from asr_core.audio.reader import is_plausible_rate
from asr_core.errors import SettingsError

_MAX_CHANNELS = 64

# FFmpeg's name: libsndfile's subtype and byte order.
ENCODINGS: dict[str, tuple[str, str]] = {
    "s8": ("PCM_S8", "FILE"),
    "u8": ("PCM_U8", "FILE"),
    "s16le": ("PCM_16", "LITTLE"),
    "s16be": ("PCM_16", "BIG"),
    "s24le": ("PCM_24", "LITTLE"),
    "s24be": ("PCM_24", "BIG"),
    "s32le": ("PCM_32", "LITTLE"),
    "s32be": ("PCM_32", "BIG"),
    "f32le": ("FLOAT", "LITTLE"),
    "f32be": ("FLOAT", "BIG"),
    "f64le": ("DOUBLE", "LITTLE"),
    "f64be": ("DOUBLE", "BIG"),
    "alaw": ("ALAW", "FILE"),
    "mulaw": ("ULAW", "FILE"),
}


@dataclass(frozen=True, slots=True)
class RawFormat:
    """Headerless PCM: ``encoding`` is a key of :data:`ENCODINGS`."""

    encoding: str
    sample_rate_hz: int
    channels: int


def parse_raw(declared: str) -> RawFormat:
    """Read ``encoding:rate:channels``, for example ``s16le:16000:1``.

    Raises:
        SettingsError: it is not of this form.
    """
    encoding, _, rest = declared.partition(":")
    numbers = re.fullmatch(r"(\d{1,6}):(\d{1,2})", rest)
    if encoding in ENCODINGS and numbers:
        layout = RawFormat(encoding, int(numbers[1]), int(numbers[2]))
        if is_plausible_rate(layout.sample_rate_hz) and 1 <= layout.channels <= _MAX_CHANNELS:
            return layout
    allowed = f"ENCODING:RATE:CHANNELS like s16le:16000:1; encodings: {', '.join(ENCODINGS)}"
    raise SettingsError(
        f"raw={declared!r} is not usable; allowed: {allowed}",
        name="raw",
        value=declared,
        allowed=allowed,
    )
