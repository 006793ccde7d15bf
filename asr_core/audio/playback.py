"""Copies of recordings that every browser plays."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import numpy as np

from asr_core.audio.decode import AudioSource, open_audio
from asr_core.audio.reader import AudioInfo, DecodeOptions
from asr_core.errors import AudioError
from asr_core.results import SAMPLE_RATE_HZ
from asr_core.runtime.session import Float32

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


def is_browser_playable(info: AudioInfo) -> bool:
    """Whether the usual browsers play the recording as it is and can seek in it."""
    if info.duration_ms is None:
        return False
    return info.codec in _BROWSER_CODECS.get(info.container, frozenset())


def write_playback(path: Path, target: Path, options: DecodeOptions | None = None) -> None:
    """Write a copy that every browser plays: AAC, mono, 16 kHz, in an MP4 container.

    Args:
        path: the recording.
        target: ``.m4a`` file to create; appears only when it is complete.
        options: how the recording is read.

    Raises:
        AudioDecodeError: the recording cannot be decoded.
        AudioError: the copy cannot be written.
    """
    draft = target.with_name(f".{target.name}.{uuid.uuid4().hex}.part")
    try:
        with open_audio(path, options=options) as source:
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
