"""Encoders of every format that the decoder is judged by, and the speech that goes into them.

Shared by the tests of this folder and by the fuzzer in ``benchmarks``. Everything is made from
the recording that the application ships; nothing is read from elsewhere.
"""

from __future__ import annotations

import io
import struct
import tempfile
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from pathlib import Path

import av
import numpy as np
import soundfile
import soxr
from av.stream import Disposition

ROOT = Path(__file__).resolve().parents[3]
LAYOUTS = {1: "mono", 2: "stereo", 6: "5.1"}
SPEECH_S = 1.5

# Where in the sample recording each channel's own words begin, in seconds.
_CUTS_S = (1.0, 10.0, 22.0, 1.6, 26.0, 13.5)
# The fourth of six channels is the subwoofer's: lossy encoders keep its lowest octaves only.
_GAINS = (1.0, 0.9, 0.9, 0.05, 0.8, 0.8)


@dataclass(frozen=True, slots=True)
class Encoded:
    """One file.

    Attributes:
        content: the whole file.
        frame_samples: length of the codec's frame at the rate of the file; 1 for plain PCM.
    """

    content: bytes
    frame_samples: int


Encoder = Callable[[np.ndarray, int], Encoded]


@lru_cache
def sample_recording() -> np.ndarray:
    """The recording that the application ships, float32 mono 16 kHz."""
    waveform, rate_hz = soundfile.read(
        next((ROOT / "assets" / "sample").glob("*.flac")), dtype="float32"
    )
    assert rate_hz == 16_000
    return waveform


@lru_cache
def words(channels: int, seconds: float = SPEECH_S) -> np.ndarray:
    """Speech at 16 kHz, float32 (channels, samples); every channel says something else."""
    recording = sample_recording()
    length = round(seconds * 16_000)
    parts = []
    for cut_s, gain in zip(_CUTS_S[:channels], _GAINS, strict=False):
        part = recording[round(cut_s * 16_000) :][:length]
        parts.append(gain * part * (0.5 / np.abs(part).max()))
    return np.stack(parts).astype(np.float32)


@lru_cache
def speech(rate_hz: int, channels: int, seconds: float = SPEECH_S) -> np.ndarray:
    """:func:`words` at another sample rate."""
    return np.stack(
        [soxr.resample(part, 16_000, rate_hz, quality="HQ") for part in words(channels, seconds)]
    )


def downmix(channels: int, seconds: float = SPEECH_S) -> np.ndarray:
    """What a decoder shall give: the mean of the channels, float32 16 kHz."""
    mean: np.ndarray = words(channels, seconds).mean(axis=0)
    return mean


def pyav(
    muxer: str,
    codec: str,
    *,
    bit_rate: int = 0,
    muxer_options: Mapping[str, str] | None = None,
    codec_options: Mapping[str, str] | None = None,
    with_film: bool = False,
) -> Encoder:
    """An encoder by FFmpeg; ``bit_rate`` is that of one channel."""

    def encode(waveform: np.ndarray, rate_hz: int) -> Encoded:
        target = io.BytesIO()
        # Without it, muxers put random serial numbers and the time of day into their files.
        options = {"fflags": "+bitexact", **(muxer_options or {})}
        with av.open(target, "w", format=muxer, options=options) as output:
            film = _film(output) if with_film else None
            layout = LAYOUTS[len(waveform)]
            stream = output.add_stream(
                codec, rate=rate_hz, layout=layout, options=dict(codec_options or {})
            )
            if bit_rate:
                stream.bit_rate = bit_rate * len(waveform)
            frame = av.AudioFrame.from_ndarray(
                np.ascontiguousarray(waveform), format="fltp", layout=layout
            )
            frame.sample_rate = rate_hz
            frame.pts = 0
            output.mux(stream.encode(frame))
            output.mux(stream.encode(None))
            if film is not None:
                _write_film(output, film, waveform.shape[1] / rate_hz)
            frame_samples = stream.codec_context.frame_size or 1
        return Encoded(target.getvalue(), frame_samples)

    return encode


@dataclass(frozen=True, slots=True)
class Track:
    """One audio track for :func:`encode_tracks`.

    Attributes:
        waveform: float32 (channels, samples).
        start_s: where it begins on the container's clock.
        is_default: the track that players take.
    """

    waveform: np.ndarray
    rate_hz: int
    codec: str
    start_s: float = 0.0
    is_default: bool = False


def encode_tracks(muxer: str, tracks: Sequence[Track], *, film_s: float = 0.0) -> bytes:
    """A file of several tracks, with a film from 0 on if it shall last."""
    target = io.BytesIO()
    with av.open(target, "w", format=muxer) as output:
        film = _film(output) if film_s else None
        streams = []
        for track in tracks:
            layout = LAYOUTS[len(track.waveform)]
            stream = output.add_stream(track.codec, rate=track.rate_hz, layout=layout)
            stream.disposition = Disposition.default if track.is_default else Disposition(0)
            streams.append(stream)
        if film is not None:
            _write_film(output, film, film_s)
        for track, stream in zip(tracks, streams, strict=True):
            layout = LAYOUTS[len(track.waveform)]
            frame = av.AudioFrame.from_ndarray(
                np.ascontiguousarray(track.waveform), format="fltp", layout=layout
            )
            frame.sample_rate = track.rate_hz
            frame.time_base = Fraction(1, track.rate_hz)
            frame.pts = round(track.start_s * track.rate_hz)
            output.mux(stream.encode(frame))
            output.mux(stream.encode(None))
    return target.getvalue()


def _film(output: av.container.OutputContainer) -> av.VideoStream:
    codec = "flv" if output.format.name == "flv" else "mpeg4"
    stream = output.add_stream(codec, rate=10)
    stream.width, stream.height, stream.pix_fmt = 32, 16, "yuv420p"
    return stream


def _write_film(
    output: av.container.OutputContainer, stream: av.VideoStream, seconds: float
) -> None:
    for _ in range(round(seconds * 10)):
        picture = np.zeros((16, 32, 3), np.uint8)
        output.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
    output.mux(stream.encode(None))


def sndfile(kind: str, subtype: str) -> Encoder:
    """An encoder by libsndfile."""

    def encode(waveform: np.ndarray, rate_hz: int) -> Encoded:
        target = io.BytesIO()
        # Ogg codecs call their last channel of six the subwoofer's.
        ordered = waveform[[0, 2, 1, 4, 5, 3]] if len(waveform) == 6 else waveform
        soundfile.write(target, ordered.T, rate_hz, format=kind, subtype=subtype)
        return Encoded(target.getvalue(), 1)

    return encode


def silk(*, tencent: bool) -> Encoder:
    """SILK v3 as messengers write it; ``tencent`` puts 0x02 in front."""

    def encode(waveform: np.ndarray, rate_hz: int) -> Encoded:
        import pysilk

        if len(waveform) != 1:
            raise ValueError("SILK has one channel")
        pcm = np.round(waveform[0] * 32767).astype("<i2").tobytes()
        target = io.BytesIO()
        pysilk.encode(io.BytesIO(pcm), target, rate_hz, rate_hz, tencent=tencent)
        return Encoded(target.getvalue(), rate_hz // 50)

    return encode


def with_cover(encode: Encoder) -> Encoder:
    """Put an ID3 tag with a title and a picture in front, as music shops do."""

    def tagged(waveform: np.ndarray, rate_hz: int) -> Encoded:
        encoded = encode(waveform, rate_hz)
        picture = b"image/png\0\3\0" + png(120, 120)
        frames = _id3_frame(b"TIT2", "\ufeff周会".encode("utf-16")) + _id3_frame(b"APIC", picture)
        size = bytes((len(frames) >> shift) & 0x7F for shift in (21, 14, 7, 0))
        return Encoded(b"ID3\3\0\0" + size + frames + encoded.content, encoded.frame_samples)

    return tagged


def index_first(encode: Encoder) -> Encoder:
    """Move the table of contents of an MP4 to its front, as files for the web have it."""

    def moved(waveform: np.ndarray, rate_hz: int) -> Encoded:
        encoded = encode(waveform, rate_hz)
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/moved.mp4"
            with (
                av.open(io.BytesIO(encoded.content)) as source,
                av.open(path, "w", options={"movflags": "faststart"}) as target,
            ):
                old = source.streams.audio[0]
                new = target.add_stream_from_template(old)
                for packet in source.demux(old):
                    if packet.size:
                        packet.stream = new
                        target.mux(packet)
            content = Path(path).read_bytes()
        return Encoded(content, encoded.frame_samples)

    return moved


def _id3_frame(kind: bytes, text: bytes) -> bytes:
    body = b"\1" + text
    return kind + struct.pack(">IH", len(body), 0) + body


def png(width: int, height: int) -> bytes:
    """A picture of noise, so that it holds every pair of bytes, MPEG's sync word too."""
    noise = np.random.default_rng(7).integers(0, 256, (height, width * 3 + 1), np.uint8)
    noise[:, 0] = 0

    def chunk(kind: bytes, body: bytes) -> bytes:
        checksum = zlib.crc32(kind + body)
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", checksum)

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(noise.tobytes(), 0))
        + chunk(b"IEND", b"")
    )
