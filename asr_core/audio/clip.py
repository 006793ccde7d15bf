"""Parts of recordings as files of their own."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np

from asr_core.audio.decode import open_audio
from asr_core.audio.reader import DecodeOptions
from asr_core.errors import AudioError
from asr_core.results import SAMPLE_RATE_HZ
from asr_core.runtime.session import Float32

CLIP_FORMATS: dict[str, tuple[str, str]] = {
    "wav": ("wav", "pcm_s16le"),
    "mp3": ("mp3", "libmp3lame"),
    "m4a": ("mp4", "aac"),
}
"""Names of formats, which are extensions too, to FFmpeg's container and encoder."""

_BIT_RATE = 64_000
_SHORTEST_SAMPLES = SAMPLE_RATE_HZ // 10


def write_clip(
    path: Path,
    target: Path,
    start_ms: int,
    end_ms: int,
    options: DecodeOptions | None = None,
) -> int:
    """Write a part of a recording: mono, 16 kHz, in the format that the target's name says.

    The recording is decoded up to the end of the part, which sounds as in the whole recording, and
    never held as a whole.

    Args:
        path: the recording.
        target: file to create, ``.wav``, ``.mp3`` or ``.m4a``; appears only when it is complete.
        start_ms: first millisecond.
        end_ms: one past the last one; what lies behind the end of the recording is left out.
        options: how the recording is read.

    Returns:
        Length of the part in milliseconds; 0 where the recording ends before it: nothing is
        written then.

    Raises:
        AudioDecodeError: the recording cannot be decoded.
        AudioError: the file cannot be written.
    """
    draft = target.with_name(f".{target.name}.{uuid.uuid4().hex}.part")
    try:
        part = replace(options or DecodeOptions(), start_ms=start_ms, end_ms=end_ms)
        with open_audio(path, options=part) as source:
            samples = _encode(source.blocks(), draft, target.suffix[1:])
        if samples:
            draft.replace(target)
    except OSError as exc:
        raise AudioError(
            f"{target.name} cannot be written: {exc}", path=target.name, reason=str(exc.strerror)
        ) from exc
    finally:
        draft.unlink(missing_ok=True)
    return samples * 1000 // SAMPLE_RATE_HZ


def _encode(blocks: Iterator[Float32], draft: Path, format_name: str) -> int:
    """Returns the number of samples; players refuse a file of less than 0.1 s."""
    import av

    container_name, codec = CLIP_FORMATS[format_name]
    position = 0
    with draft.open("wb") as file, av.open(file, mode="w", format=container_name) as container:
        stream = container.add_stream(codec, rate=SAMPLE_RATE_HZ, layout="mono")
        if container_name != "wav":
            stream.bit_rate = _BIT_RATE

        def put(waveform: Float32, position: int) -> None:
            pcm = np.round(waveform * 32767.0).astype(np.int16)
            frame = av.AudioFrame.from_ndarray(pcm[None, :], format="s16", layout="mono")
            frame.sample_rate = SAMPLE_RATE_HZ
            # With a clock, the muxer notes the encoder's delay and players skip it.
            frame.time_base = Fraction(1, SAMPLE_RATE_HZ)
            frame.pts = position
            container.mux(stream.encode(frame))

        for waveform in blocks:
            put(waveform, position)
            position += len(waveform)
        if 0 < position < _SHORTEST_SAMPLES:
            put(np.zeros(_SHORTEST_SAMPLES - position, np.float32), position)
        container.mux(stream.encode(None))
    return position
