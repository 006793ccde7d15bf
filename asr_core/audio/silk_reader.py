"""Reading of SILK v3, the voice messages of WeChat and QQ.

A file is the magic text (with a leading byte 2 where Tencent wrote it) and packets of 20 ms, each
behind its length in two bytes, little-endian. The decoder library takes a whole file at once;
here it is given the packets one by one, so that a bad one costs 20 ms and not the rest.
"""

from __future__ import annotations

import io
import struct
import tempfile
from collections.abc import Iterator
from typing import IO, BinaryIO

import numpy as np

from asr_core.audio.reader import BLOCK_S, AudioInfo, Damage, decode_error, to_float
from asr_core.runtime.session import Float32

_MAGIC = b"#!SILK_V3"
_PACKET_MS = 20

# The codec's highest rate inside a packet. The library's memory for a decoded packet is that of the
# rate asked for; a damaged packet of a higher one would be written beyond it.
_RATE_HZ = 24_000
_PACKET_SAMPLES = _RATE_HZ // 1000 * _PACKET_MS
_LONGEST_PACKET_BYTES = 1024  # what the codec's own interface allows
_END = b"\xff\xff"  # written behind the last packet by encoders other than Tencent's


class SilkReader:
    """One voice message.

    Args:
        file: the recording, open for reading; closed with the reader.
        name: file name for errors.
        max_duration_s: no more than a packet beyond it is decoded.

    Raises:
        AudioDecodeError: ``header_only`` or ``damaged``.
    """

    promised_s: float | None

    def __init__(self, file: BinaryIO, name: str, max_duration_s: float) -> None:
        self.damage = Damage()
        # The decoder pushes what it decodes; without a name, the file is gone when it is closed.
        self._decoded: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the reader
        try:
            with file:
                # One packet beyond the limit shows that there is more.
                most = 1 + int(max_duration_s * 1000) // _PACKET_MS
                packets = _Packets(file, self._decoded, most)
                self._decode(packets)
            self._check(packets, name)
        except BaseException:
            self._decoded.close()
            raise
        duration_ms = packets.taken * _PACKET_MS
        self.promised_s = duration_ms / 1000 if not packets.lost_track else None
        self.info = AudioInfo("silk", "silk", _RATE_HZ, 1, duration_ms)
        self.damage.in_the_middle = bool(self.damage.gaps) or packets.lost_track

    def blocks(self) -> Iterator[tuple[int, Float32]]:
        self._decoded.seek(0)
        while piece := self._decoded.read(2 * BLOCK_S * _RATE_HZ):
            yield _RATE_HZ, to_float(np.frombuffer(piece, "<i2"))[None, :]

    def close(self) -> None:
        self._decoded.close()

    def _decode(self, packets: _Packets) -> None:
        """Decode up to the end; a packet that fails is replaced by silence."""
        import pysilk

        while packets.has_more():
            packets.restart()
            try:
                pysilk.decode(packets, self._decoded, _RATE_HZ)
            except pysilk.SilkError:
                end_ms = packets.current * _PACKET_MS
                self.damage.gaps.append((end_ms - _PACKET_MS, end_ms))
        packets.fill()

    def _check(self, packets: _Packets, name: str) -> None:
        failed = len(self.damage.gaps)
        if failed < packets.taken:
            return
        if not packets.taken and not packets.lost_track:
            raise decode_error(name, "header_only", "it has a header and no sound")
        raise decode_error(name, "damaged", "nothing in it can be decoded")


class _Packets(io.RawIOBase):
    """The file as the decoder reads it: the magic text, then one whole packet after the other.

    Args:
        file: the voice message.
        decoded: where the decoder writes; silence is put there for a packet that is empty (the
            speaker paused) or failed.
        most: packets to take.

    Attributes:
        taken: packets handed out or found empty.
        current: number of the last one handed out, from 1.
        lost_track: a length that cannot be right; nothing behind it is found.
    """

    def __init__(self, file: BinaryIO, decoded: IO[bytes], most: int) -> None:
        self._file = file
        self._decoded = decoded
        self._most = most
        self._ready = b""
        self.taken = self.current = 0
        self.lost_track = False
        head = file.read(len(_MAGIC) + 1)
        if not head.startswith(b"\x02"):
            file.seek(len(_MAGIC))
        self._next = self._find_packet()

    def has_more(self) -> bool:
        return bool(self._next)

    def restart(self) -> None:
        """Begin again with the magic text; packets go on where they were."""
        self._ready = _MAGIC

    def fill(self) -> None:
        """Silence up to where the taken packets end."""
        missing = 2 * self.taken * _PACKET_SAMPLES - self._decoded.tell()
        self._decoded.write(bytes(max(missing, 0)))

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        if not self._ready and self._next:
            self.fill()
            self._ready = struct.pack("<h", len(self._next)) + self._next
            self.taken += 1
            self.current = self.taken
            self._next = self._find_packet()
        given, self._ready = self._ready[:size], self._ready[size:]
        return given

    def _find_packet(self) -> bytes:
        """The next packet with content, empty at the end."""
        while self.taken < self._most:
            prefix = self._file.read(2)
            if len(prefix) < 2 or prefix == _END:
                break
            (length,) = struct.unpack("<h", prefix)
            packet = self._file.read(length) if 0 < length <= _LONGEST_PACKET_BYTES else b""
            if packet and len(packet) == length:
                return packet
            if length:
                self.lost_track = True
                break
            self.taken += 1
        return b""
