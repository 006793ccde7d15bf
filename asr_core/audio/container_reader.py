"""Reading of every recording that is not a plain WAV, video included, through FFmpeg (PyAV)."""

from __future__ import annotations

import itertools
from collections.abc import Generator, Iterator, Mapping
from typing import TYPE_CHECKING, BinaryIO

import numpy as np

from asr_core.audio.adts import AdtsFrames, is_adts
from asr_core.audio.reader import (
    BLOCK_S,
    AudioInfo,
    Damage,
    DecodeOptions,
    decode_error,
    is_plausible_rate,
    to_float,
)
from asr_core.audio.sniff import HEAD_BYTES, has_signature, is_named_raw, read_ogg_end
from asr_core.audio.watch import StalledError, WatchedFile
from asr_core.errors import AudioDecodeError
from asr_core.runtime.session import Float32

if TYPE_CHECKING:
    from av import AudioFrame, AudioStream, Packet
    from av.container import InputContainer

# What recordings come in. Playlists, concatenation scripts and session descriptions are left out:
# they make FFmpeg open other files and hosts.
_FORMATS = (
    "3gp aac ac3 aiff amr amrnb amrwb ape asf asf_o au avi avr caf dsf dts dtshd dv eac3 flac flv "
    "gsm gxf ircam iff live_flv loas m4v matroska mov mp3 mpc mpc8 mpeg mpegts mxf nut ogg oma pvf "
    "rm rso sox tak truehd tta voc w64 wav webm wv xwma"
)

# Nested resources stay closed in the formats above too: the recording itself comes through the
# open file, which needs no protocol.
_OPTIONS = {"protocol_whitelist": "pipe", "format_whitelist": _FORMATS.replace(" ", ",")}

_NAMES = {"mov,mp4,m4a,3gp,3g2,mj2": "mp4", "matroska,webm": "matroska"}

# Containers whose own clock starts at 0 and which may leave silence out of the stream.
_CLOCKED = frozenset({"mp4", "mov", "matroska", "webm"})

# Containers that store time stamps; elsewhere FFmpeg counts packets at the first sample rate.
_TIME_STAMPED = _CLOCKED | {"flac", "ogg", "mpegts", "mpeg", "asf", "avi", "flv"}

# Containers whose header states the length, so that a shorter result means lost audio.
_PROMISING = _CLOCKED | {"wav", "w64", "flac", "aiff", "caf", "asf", "avi", "wv", "tta", "ape"}

_JITTER_S = 0.2  # time stamps of one continuous stream differ by less than this
_DOCTYPE_WITHIN_BYTES = 512  # where Matroska says that it is WebM
_LONGEST_HEADERS_BYTES = 4_096  # between two packets of one track
_MAX_SILENCE_S = 3_600  # a longer jump of the clock is a new clock, not silence
_MAX_READ_FAULTS = 16  # in a row, before the rest of a container is given up

# Where FFmpeg takes away sound as if it were the encoder's padding: the last frame of ALAC in CAF
# is short already.
_TRIMMED_WRONGLY = frozenset({("caf", "alac")})

_MOST_PLANES = 8

_NEAR_S = 30.0  # read before a part, so that its blocks are mixed as in the whole recording

_TAGS = (b"ID3", b"TAG", b"APETAGEX", b"LYRICS")  # texts and pictures between MP3 frames


class ContainerReader:
    """One audio stream of a container.

    Args:
        file: the recording, open for reading; closed with the reader.
        name: file name for errors.
        options: which track, and how long the decoder may work without a result.

    Raises:
        AudioDecodeError: ``not_audio``, ``no_audio_track``, ``no_such_track``, ``unsupported``,
            ``header_only``, ``stalled`` or ``damaged``.
    """

    def __init__(self, file: BinaryIO, name: str, options: DecodeOptions) -> None:
        self._file = file
        self._name = name
        self._head = file.read(HEAD_BYTES)
        self._ogg_end = read_ogg_end(file) if self._head[:4] == b"OggS" else None
        self.damage = Damage(cut_off=self._ogg_end is not None and not self._ogg_end.is_end)
        mp3_promises = _mp3_states_length(file)
        file.seek(0)
        self._watched = WatchedFile(file, options.stall_s)
        self._adts = AdtsFrames(self._watched) if is_adts(self._head) else None
        self._container = self._open()
        try:
            self._stream = self._choose_stream(options.track)
            self.info = self._describe()
            self.promised_s = self._promise(mp3_promises)
            self._position_s = 0.0
            self._unheard_s = options.start_ms / 1000 - _NEAR_S
            self._pending_faults = 0
            self._read_faults = 0
            self._packets = 0
            self._good_bytes = 0
            self._lost_bytes = 0  # since the last frame
            self._skipped_bytes = 0
            self._expected_byte = 0  # where the packet after the last one begins
            self._frames = self._prefetched()
            self._epoch_s = self._first_epoch_s()
        except StalledError as exc:
            self._container.close()
            raise self._stalled() from exc
        except BaseException:
            self._container.close()
            raise

    def blocks(self) -> Iterator[tuple[int, Float32]]:
        for frame in self._frames:
            yield from self._silence_before(frame)
            rate_hz = frame.sample_rate or self.info.sample_rate_hz
            behind_s = self._position_s + frame.samples / rate_hz
            is_heard = behind_s >= self._unheard_s
            channels = _frame_channels(frame) if is_heard else _silence_like(frame)
            self._position_s = behind_s
            yield rate_hz, channels

    def close(self) -> None:
        self._container.close()
        self._file.close()

    def _open(self) -> InputContainer:
        import av

        try:
            source = self._adts or self._watched
            return av.open(source, mode="r", options=_OPTIONS, metadata_errors="replace")
        except StalledError as exc:
            raise self._stalled() from exc
        except (av.FFmpegError, ValueError, OSError) as exc:
            raise self._undecodable() from exc

    def _undecodable(self) -> AudioDecodeError:
        if self._ogg_end is not None and not self._ogg_end.has_sound:
            return self._header_only()
        if is_named_raw(self._name):
            return decode_error(self._name, "raw_undeclared", "raw PCM needs its layout declared")
        if has_signature(self._head):
            return decode_error(self._name, "damaged", "nothing in it can be decoded")
        return decode_error(self._name, "not_audio", "it is not an audio or video file")

    def _header_only(self) -> AudioDecodeError:
        return decode_error(self._name, "header_only", "it has a header and no sound")

    def _stalled(self) -> AudioDecodeError:
        limit_s = f"{self._watched.stall_s:g} s"
        return decode_error(self._name, "stalled", f"no sound came out of it within {limit_s}")

    def _choose_stream(self, track: int | None) -> AudioStream:
        streams = self._container.streams
        if not streams.audio:
            if streams.video:
                raise decode_error(self._name, "no_audio_track", "it has no audio track")
            raise self._undecodable()
        if track is None:
            best = streams.best("audio") or streams.audio[0]
            return streams.audio[[s.index for s in streams.audio].index(best.index)]
        if not 1 <= track <= len(streams.audio):
            raise no_such_track(self._name, track, len(streams.audio))
        return streams.audio[track - 1]

    def _describe(self) -> AudioInfo:
        from av.codec.context import Flags2

        context = self._stream.codec_context
        if context is None:
            raise decode_error(self._name, "unsupported", "its codec cannot be decoded")
        container = _NAMES.get(self._container.format.name, self._container.format.name)
        if container == "matroska" and b"webm" in self._head[:_DOCTYPE_WITHIN_BYTES]:
            container = "webm"
        elif container == "mp4" and self._head[4:12] == b"ftypqt  ":
            container = "mov"
        if not is_plausible_rate(context.sample_rate):
            raise self._undecodable()
        codec = context.codec.canonical_name
        if (container, codec) in _TRIMMED_WRONGLY:
            context.flags2 |= Flags2.skip_manual
        duration_s = self._duration_s(container)
        numbers = [stream.index for stream in self._container.streams.audio]
        return AudioInfo(
            container=container,
            codec=codec,
            sample_rate_hz=context.sample_rate,
            channels=max(context.channels, 1),
            duration_ms=None if duration_s is None else round(duration_s * 1000),
            tracks=len(numbers),
            track=1 + numbers.index(self._stream.index),
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
        """End of the stream on the recording's clock."""
        stream = self._stream
        if not stream.duration or stream.duration < 0 or stream.time_base is None:
            return _tagged_duration_s(stream.metadata)
        start = max(stream.start_time or 0, 0) if self._is_mp4() else 0
        return float((stream.duration + start) * stream.time_base)

    def _is_mp4(self) -> bool:
        return _NAMES.get(self._container.format.name) == "mp4"

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
            if self._pending_faults:
                raise self._undecodable()
            raise self._header_only()
        return itertools.chain([first], frames)

    def _first_epoch_s(self) -> float:
        """The stream's clock at position 0 of the recording."""
        if self.info.container in _CLOCKED or self._container.start_time is None:
            return 0.0
        return self._container.start_time / 1_000_000

    def _decoded(self) -> Iterator[AudioFrame]:
        while self._read_faults < _MAX_READ_FAULTS:
            try:
                is_complete = yield from self._decoded_until_fault()
            except IndexError:
                # PyAV's word for a packet of a track that appeared later, as in broadcasts.
                continue
            except StalledError:
                if not self._good_bytes:
                    raise
                self.damage.in_the_middle = True
                return
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
                self._watched.check()
                for frame in self._decode(packet):
                    yield frame
                    # Whoever takes the frames may need long for them.
                    self._watched.restart()
        except (av.FFmpegError, OSError):
            return False
        return True

    def _decode(self, packet: Packet[AudioStream]) -> list[AudioFrame]:
        import av

        self._look_for_holes(packet)
        try:
            frames = [part for frame in packet.decode() for part in _readable(frame)]
        except (av.FFmpegError, ValueError):
            self._pending_faults += 1
            if packet.duration and packet.time_base is not None:
                self.damage.lost_s += float(packet.duration * packet.time_base)
            if not bytes(packet).startswith(_TAGS):
                self._lost_bytes += packet.size
            return []
        self._good_bytes += packet.size
        return frames

    def _look_for_holes(self, packet: Packet[AudioStream]) -> None:
        """Account for bytes that are in no packet because FFmpeg found none in them."""
        holes = self._adts.holes if self._adts else []
        while holes and holes[0].frame <= self._packets:
            self._lost_bytes += holes.pop(0).size_bytes
            self._pending_faults += 1
        self._packets += 1
        if packet.pos is not None and packet.size:
            if self._expected_byte:
                self._skipped_bytes += max(packet.pos - self._expected_byte, 0)
            self._expected_byte = packet.pos + packet.size

    def _silence_before(self, frame: AudioFrame) -> Iterator[tuple[int, Float32]]:
        """Zeros for what is missing between the last frame and this one."""
        faults, self._pending_faults = self._pending_faults, 0
        lost_bytes, self._lost_bytes = self._lost_bytes, 0
        skipped_bytes, self._skipped_bytes = self._skipped_bytes, 0
        if faults and self._position_s > 0:
            self.damage.in_the_middle = True
        if self.info.container in _TIME_STAMPED:
            missing_s = self._jump_s(frame, faults)
            is_damage = bool(faults) or self._is_hole(skipped_bytes)
        else:
            missing_s = lost_bytes * self._position_s / self._good_bytes if lost_bytes else 0.0
            is_damage = True
        if missing_s <= 0:
            return
        if is_damage:
            self._note_gap(missing_s)
        rate_hz = frame.sample_rate or self.info.sample_rate_hz
        missing = round(missing_s * rate_hz)
        self._position_s += missing / rate_hz
        for start in range(0, missing, BLOCK_S * rate_hz):
            length = min(BLOCK_S * rate_hz, missing - start)
            yield rate_hz, np.zeros((self.info.channels, length), np.float32)

    def _is_hole(self, skipped_bytes: int) -> bool:
        """Whether a jump of the clock is a part that got lost, not silence left out on purpose."""
        if self.info.container not in _CLOCKED:
            return self._position_s > 0
        is_alone = len(self._container.streams) == 1  # no other track's packets in between
        return is_alone and skipped_bytes > _LONGEST_HEADERS_BYTES

    def _jump_s(self, frame: AudioFrame, faults: int) -> float:
        """Seconds by which the clock is ahead of what was decoded; 0 for a new clock."""
        if frame.time is None:
            return 0.0
        jump_s = frame.time - self._epoch_s - self._position_s
        if jump_s > _MAX_SILENCE_S or jump_s < -_JITTER_S:
            self._epoch_s += jump_s
            return 0.0
        return jump_s if jump_s > (0.0005 if faults else _JITTER_S) else 0.0

    def _note_gap(self, missing_s: float) -> None:
        self.damage.in_the_middle |= self._position_s > 0
        start_ms = round(self._position_s * 1000)
        end_ms = round((self._position_s + missing_s) * 1000)
        if end_ms > start_ms:
            self.damage.gaps.append((start_ms, end_ms))


def no_such_track(name: str, track: int, tracks: int) -> AudioDecodeError:
    """The error for a track number that the recording does not have."""
    error = decode_error(name, "no_such_track", f"it has no audio track {track}, only {tracks}")
    error.details |= {"track": track, "tracks": tracks}
    return error


def _tagged_duration_s(metadata: Mapping[str, str]) -> float | None:
    """The length that writers of Matroska note with a track as ``00:00:05.040000000``."""
    parts = metadata.get("DURATION", "").split(":")
    try:
        hours, minutes, seconds = (float(part) for part in parts)
    except ValueError:
        return None
    total_s = hours * 3600 + minutes * 60 + seconds
    return total_s if 0 < total_s < float("inf") else None


def _readable(frame: AudioFrame) -> list[AudioFrame]:
    """The frame, with channels side by side if it has so many that PyAV reads beyond their list."""
    import av

    if not frame.format.is_planar or frame.layout.nb_channels <= _MOST_PLANES:
        return [frame]
    return av.AudioResampler(format="flt").resample(frame)


def _frame_channels(frame: AudioFrame) -> Float32:
    samples = frame.to_ndarray()
    if not frame.format.is_planar:
        samples = samples.reshape(frame.samples, -1).T
    return to_float(samples)


def _silence_like(frame: AudioFrame) -> Float32:
    """Stands for the sound of a frame that nobody will hear."""
    return np.zeros((frame.layout.nb_channels, frame.samples), np.float32)


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
