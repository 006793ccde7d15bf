"""Recordings that the tests of this folder make, and the real ones beside the project."""

from __future__ import annotations

from pathlib import Path

import av
import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[3]
SPEECH = ROOT.parent / "shared" / "data" / "speech"


def speech_path(name: str) -> Path:
    """A real recording; skips the test when this machine has none."""
    path = SPEECH / name
    if not path.exists():
        pytest.skip(f"the recording {name} is not on this machine")
    return path


def sweep(seconds: float, rate_hz: int, *, top_hz: float = 3000.0) -> np.ndarray:
    """A tone that rises from 200 Hz to ``top_hz``: every moment sounds different."""
    t = np.arange(round(seconds * rate_hz)) / rate_hz
    phase = 2 * np.pi * (200 * t + (top_hz - 200) * t**2 / (2 * max(seconds, 1e-9)))
    return (0.5 * np.sin(phase)).astype(np.float32)


def encode(
    path: Path,
    waveform: np.ndarray,
    rate_hz: int,
    codec: str,
    *,
    container: str,
    start_s: float = 0.0,
    sample_format: str = "fltp",
    skipped_s: tuple[float, float] | None = None,
) -> Path:
    """Encode mono audio; ``skipped_s`` leaves a range out of the stream, clock running on."""
    piece = 960
    with path.open("wb") as file, av.open(file, "w", format=container) as output:
        stream = output.add_stream(codec, rate=rate_hz, layout="mono")
        for start in range(0, len(waveform), piece):
            part = waveform[start : start + piece]
            if sample_format.startswith("s16"):
                part = np.round(part * 32767).astype(np.int16)
            frame = av.AudioFrame.from_ndarray(part[None], format=sample_format, layout="mono")
            frame.sample_rate = rate_hz
            frame.pts = start
            for packet in stream.encode(frame):
                _mux(output, packet, start_s, skipped_s)
        for packet in stream.encode(None):
            _mux(output, packet, start_s, skipped_s)
    return path


def _mux(output, packet, start_s, skipped_s) -> None:
    begin_s = float(packet.pts * packet.time_base)
    if skipped_s and skipped_s[0] <= begin_s < skipped_s[1]:
        return
    offset = round(start_s / packet.time_base)
    packet.pts += offset
    packet.dts += offset
    output.mux(packet)


def encode_video(path: Path) -> Path:
    """A film of one second without sound."""
    with path.open("wb") as file, av.open(file, "w", format="mp4") as output:
        stream = output.add_stream("mpeg4", rate=10)
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
        for _ in range(10):
            picture = np.zeros((48, 64, 3), np.uint8)
            output.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
        output.mux(stream.encode(None))
    return path
