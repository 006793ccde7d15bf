"""Reading of every recording that is not a plain WAV, video included, through FFmpeg (PyAV)."""

from __future__ import annotations

import itertools
from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, BinaryIO

import numpy as np

from asr_core.audio.reader import (
    BLOCK_S,
    AudioInfo,
    Damage,
    decode_error,
    is_plausible_rate,
    mix_down,
)
from asr_core.runtime.session import Float32

if TYPE_CHECKING:
    from av import AudioFrame, AudioStream, Packet
    from av.container import InputContainer

# Nested resources of playlists and concatenation scripts stay closed: the recording itself comes
# through the open file, which needs no protocol.
_OPTIONS = {"protocol_whitelist": "pipe"}

_NAMES = {"mov,mp4,m4a,3gp,3g2,mj2": "mp4", "matroska,webm": "matroska"}

# Containers whose own clock starts at 0 and which may leave silence out of the stream.
_CLOCKED = frozenset({"mp4", "mov", "matroska", "webm"})

# Containers that store time stamps; elsewhere FFmpeg counts packets at the first sample rate.
_TIME_STAMPED = _CLOCKED | {"flac", "ogg", "mpegts", "mpeg", "asf", "avi", "flv"}

# Containers whose header states the length, so that a shorter result means lost audio.
_PROMISING = _CLOCKED | {"wav", "w64", "flac", "aiff", "caf", "asf", "avi"}

_JITTER_S = 0.2  # time stamps of one continuous stream differ by less than this
_MAX_SILENCE_S = 3_600  # a longer jump of the clock is a new clock, not silence
_MAX_READ_FAULTS = 16  # in a row, before the rest of a container is given up

_SIGNATURES = (
    *(b"RIFF", b"RIFX", b"RF64", b"FORM", b"riff", b"fLaC", b"OggS", b"ID3", b"caff"),
    *(b".snd", b"wvpk", b"MAC ", b"#!AMR", b"FLV", b"\x1aE\xdf\xa3", b"0&\xb2u", b"\0\0\x01\xba"),
)
_MP4_BOXES = (b"ftyp", b"moov", b"mdat", b"wide", b"free", b"skip")


class _Nameless:
    """An open file without its name: FFmpeg would guess a format from the extension."""

    def __init__(self, file: BinaryIO) -> None:
        self.read = file.read
        self.seek = file.seek
        self.tell = file.tell


class ContainerReader:
    """The best audio stream of a container.

    Args:
        file: the recording, open for reading; closed with the reader.
        name: file name for errors.

    Raises:
        AudioDecodeError: ``not_audio``, ``no_audio_track`` or ``damaged``.
    """

    def __init__(self, file: BinaryIO, name: str) -> None:
        self._file = file
        self._name = name
        self._head = file.read(512)
        mp3_promises = _mp3_states_length(file)
        file.seek(0)
        self._container = self._open()
        try:
            self._stream = self._best_stream()
            self.info = self._describe()
            self.damage = Damage()
            self.promised_s = self._promise(mp3_promises)
            self._position_s = 0.0
            self._pending_faults = 0
            self._read_faults = 0
            self._frames = self._prefetched()
            self._epoch_s = self._first_epoch_s()
        except BaseException:
            self._container.close()
            raise

    def blocks(self) -> Iterator[tuple[int, Float32]]:
        for frame in self._frames:
            yield from self._silence_before(frame)
            waveform = _frame_waveform(frame)
            rate_hz = frame.sample_rate or self.info.sample_rate_hz
            self._position_s += len(waveform) / rate_hz
            yield rate_hz, waveform

    def close(self) -> None:
        self._container.close()
        self._file.close()

    def _open(self) -> InputContainer:
        import av

        try:
            source = _Nameless(self._file)
            return av.open(source, mode="r", options=_OPTIONS, metadata_errors="replace")
        except (av.FFmpegError, ValueError, OSError) as exc:
            raise self._undecodable() from exc

    def _undecodable(self) -> Exception:
        if _has_signature(self._head):
            return decode_error(self._name, "damaged", "nothing in it can be decoded")
        return decode_error(self._name, "not_audio", "it is not an audio or video file")

    def _best_stream(self) -> AudioStream:
        streams = self._container.streams
        if streams.audio:
            best = streams.best("audio") or streams.audio[0]
            return streams.audio[[s.index for s in streams.audio].index(best.index)]
        if streams.video and not _is_picture(self._container.format.name):
            raise decode_error(self._name, "no_audio_track", "it has no audio track")
        raise decode_error(self._name, "not_audio", "it is not an audio or video file")

    def _describe(self) -> AudioInfo:
        context = self._stream.codec_context
        if context is None:
            raise decode_error(self._name, "damaged", "its codec is unknown")
        container = _NAMES.get(self._container.format.name, self._container.format.name)
        if container == "matroska" and b"webm" in self._head:
            container = "webm"
        elif container == "mp4" and self._head[4:12] == b"ftypqt  ":
            container = "mov"
        if not is_plausible_rate(context.sample_rate):
            raise self._undecodable()
        duration_s = self._duration_s(container)
        return AudioInfo(
            container=container,
            codec=context.codec.canonical_name,
            sample_rate_hz=context.sample_rate,
            channels=context.channels,
            duration_ms=None if duration_s is None else round(duration_s * 1000),
        )

    def _duration_s(self, container: str) -> float | None:
        # The length of an ADTS stream is FFmpeg's guess from its first packets.
        if container == "aac":
            return None
        duration_s = self._stream_duration_s()
        if duration_s is None and self._container.duration:
            duration_s = self._container.duration / 1_000_000
        return duration_s

    def _stream_duration_s(self) -> float | None:
        stream = self._stream
        if not stream.duration or stream.duration < 0 or stream.time_base is None:
            return None
        return float(stream.duration * stream.time_base)

    def _promise(self, mp3_promises: bool) -> float | None:
        container = self.info.container
        if container not in _PROMISING and not (container == "mp3" and mp3_promises):
            return None
        duration_s = self._stream_duration_s()
        if duration_s is None and not self._container.streams.video:
            duration_s = self._duration_s(container)
        return duration_s

    def _prefetched(self) -> Iterator[AudioFrame]:
        """All frames; the first is decoded at once so that a dead file fails when it is opened."""
        frames = self._decoded()
        first = next(frames, None)
        if first is None:
            if self._pending_faults or self.promised_s:
                raise self._undecodable()
            return iter(())
        return itertools.chain([first], frames)

    def _first_epoch_s(self) -> float:
        """The stream's clock at position 0 of the recording."""
        if self.info.container in _CLOCKED or self._container.start_time is None:
            return 0.0
        return self._container.start_time / 1_000_000

    def _decoded(self) -> Iterator[AudioFrame]:
        while self._read_faults < _MAX_READ_FAULTS:
            is_complete = yield from self._decoded_until_fault()
            if is_complete:
                return
            self._read_faults += 1
            self._pending_faults += 1

    def _decoded_until_fault(self) -> Generator[AudioFrame, None, bool]:
        """Frames up to the end (returns true) or to where the container cannot be read."""
        import av

        try:
            for packet in self._container.demux(self._stream):
                self._read_faults = 0
                yield from self._decode(packet)
        except (av.FFmpegError, OSError):
            return False
        return True

    def _decode(self, packet: Packet[AudioStream]) -> list[AudioFrame]:
        import av

        try:
            return packet.decode()
        except (av.FFmpegError, ValueError):
            self._pending_faults += 1
            if packet.duration and packet.time_base is not None:
                self.damage.lost_s += float(packet.duration * packet.time_base)
            return []

    def _silence_before(self, frame: AudioFrame) -> Iterator[tuple[int, Float32]]:
        """Zeros where the clock jumps ahead of what was decoded."""
        faults, self._pending_faults = self._pending_faults, 0
        if faults and self._position_s > 0:
            self.damage.in_the_middle = True
        if frame.time is None:
            return
        jump_s = frame.time - self._epoch_s - self._position_s
        is_counted = not faults and self.info.container not in _TIME_STAMPED
        if is_counted or jump_s > _MAX_SILENCE_S or jump_s < -_JITTER_S:
            self._epoch_s += jump_s
            return
        if jump_s <= (0.0005 if faults else _JITTER_S):
            return
        if faults or self.info.container not in _CLOCKED:
            self.damage.in_the_middle |= self._position_s > 0
            self.damage.gaps.append(
                (round(self._position_s * 1000), round((self._position_s + jump_s) * 1000))
            )
        rate_hz = frame.sample_rate or self.info.sample_rate_hz
        missing = round(jump_s * rate_hz)
        self._position_s += missing / rate_hz
        for start in range(0, missing, BLOCK_S * rate_hz):
            yield rate_hz, np.zeros(min(BLOCK_S * rate_hz, missing - start), np.float32)


def _frame_waveform(frame: AudioFrame) -> Float32:
    samples = frame.to_ndarray()
    if not frame.format.is_planar:
        samples = samples.reshape(frame.samples, -1).T
    return mix_down(samples)


def _has_signature(head: bytes) -> bool:
    """Whether a file begins like a recording, even if the rest of it is unusable."""
    is_mpeg_audio = len(head) > 1 and head[0] == 0xFF and 0xE0 <= head[1] < 0xFE
    is_transport = len(head) > 188 and head[0] == head[188] == 0x47
    is_mp4 = head[4:8] in _MP4_BOXES
    return is_mpeg_audio or is_transport or is_mp4 or head.startswith(_SIGNATURES)


def _is_picture(format_name: str) -> bool:
    return format_name.endswith("_pipe") or format_name in ("image2", "gif", "apng", "tty")


def _mp3_states_length(file: BinaryIO) -> bool:
    """Whether an MP3's first frame is a header that counts the frames."""
    file.seek(0)
    head = file.read(10)
    skip = 0
    if head[:3] == b"ID3" and len(head) == 10:
        skip = 10 + sum(
            (byte & 0x7F) << shift for byte, shift in zip(head[6:], (21, 14, 7, 0), strict=True)
        )
    file.seek(skip)
    frame = file.read(2048)
    return any(tag in frame for tag in (b"Xing", b"Info", b"VBRI"))
