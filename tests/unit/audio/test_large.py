"""WAV files beyond four gigabytes, with the sizes that writers put into them."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest
import soundfile

from asr_core.audio import wave_header
from asr_core.audio.decode import open_audio
from tests.unit.audio.encoders import words
from tests.unit.audio.judging import RATE_HZ, decode

pytestmark = pytest.mark.slow

# The widest usual samples: four gigabytes are three minutes.
FILE_HZ = 384_000
CHANNELS = 8
SAMPLE_BYTES = CHANNELS * 8
SECONDS = 180
DATA_BYTES = SECONDS * FILE_HZ * SAMPLE_BYTES
WORDS_S = SECONDS - 2  # the words stand behind the fourth gigabyte
_W64_GUIDS = {
    b"riff": bytes.fromhex("726966662e91cf11a5d628db04c10000"),
    b"wave": bytes.fromhex("77617665f3acd3118cd100c04f8edb8a"),
    b"fmt ": bytes.fromhex("666d7420f3acd3118cd100c04f8edb8a"),
    b"data": bytes.fromhex("64617461f3acd3118cd100c04f8edb8a"),
}

FORMAT = struct.pack("<HHIIHH", 3, CHANNELS, FILE_HZ, FILE_HZ * SAMPLE_BYTES, SAMPLE_BYTES, 64)


def wrapped_riff() -> bytes:
    """A writer that let its 32 bits run over."""
    size = DATA_BYTES % 2**32
    head = struct.pack("<4sI4s", b"RIFF", (DATA_BYTES + 36) % 2**32, b"WAVE")
    return head + struct.pack("<4sI", b"fmt ", 16) + FORMAT + struct.pack("<4sI", b"data", size)


def endless_riff() -> bytes:
    """A writer that gave up counting."""
    head = struct.pack("<4sI4s", b"RIFF", 0xFFFFFFFF, b"WAVE")
    data = struct.pack("<4sI", b"data", 0xFFFFFFFF)
    return head + struct.pack("<4sI", b"fmt ", 16) + FORMAT + data


def rf64() -> bytes:
    head = struct.pack("<4sI4s", b"RF64", 0xFFFFFFFF, b"WAVE")
    sizes = struct.pack("<QQQI", DATA_BYTES + 72, DATA_BYTES, SECONDS * FILE_HZ, 0)
    return (
        head
        + struct.pack("<4sI", b"ds64", len(sizes))
        + sizes
        + struct.pack("<4sI", b"fmt ", 16)
        + FORMAT
        + struct.pack("<4sI", b"data", 0xFFFFFFFF)
    )


def w64() -> bytes:
    def chunk(kind: bytes, size: int) -> bytes:
        return _W64_GUIDS[kind] + struct.pack("<Q", size)

    total = 40 + 40 + 24 + DATA_BYTES
    return (
        chunk(b"riff", total)
        + _W64_GUIDS[b"wave"]
        + chunk(b"fmt ", 24 + 16)
        + FORMAT
        + chunk(b"data", 24 + DATA_BYTES)
    )


def write_sparse(path: Path, head: bytes) -> None:
    """Silence that takes no room on the disk, and words near the end."""
    spoken = np.repeat(words(1)[0], FILE_HZ // RATE_HZ).astype("<f8")
    with path.open("wb") as file:
        file.write(head)
        file.seek(len(head) + WORDS_S * FILE_HZ * SAMPLE_BYTES)
        file.write(np.repeat(spoken[:, None], CHANNELS, 1).tobytes())
        file.truncate(len(head) + DATA_BYTES)


@pytest.mark.parametrize(
    ("header", "extension"),
    [(wrapped_riff, "wav"), (endless_riff, "wav"), (rf64, "wav"), (w64, "w64")],
    ids=["wrapped", "endless", "rf64", "w64"],
)
def test_a_wav_beyond_four_gigabytes_is_known_to_be_so_long(tmp_path, header, extension):
    path = tmp_path / f"huge.{extension}"
    write_sparse(path, header())
    try:
        with open_audio(path) as source:
            assert source.info.duration_ms == pytest.approx(1000 * SECONDS, abs=1)
            first = next(source.blocks())
    finally:
        path.unlink()
    assert not first.any()


@pytest.mark.parametrize("stated", ["wrapped", "unknown"])
@pytest.mark.parametrize("trailing", [0, 26])
def test_sound_behind_a_size_that_wrapped_round_is_read_to_its_end(
    tmp_path, monkeypatch, stated, trailing
):
    """As in files of gigabytes, with a size field that counts to 64 KiB only."""
    monkeypatch.setattr(wave_header, "_WRAP_BYTES", 1 << 16)
    monkeypatch.setattr(wave_header, "_MOST_TRAILING_BYTES", 64)
    path = tmp_path / "long.wav"
    spoken = words(1)[0]
    soundfile.write(path, np.concatenate([np.zeros(4 * RATE_HZ), spoken]), RATE_HZ, "PCM_16")
    content = bytearray(path.read_bytes())
    at = content.index(b"data") + 4
    (size,) = struct.unpack_from("<I", content, at)
    assert size > 1 << 16
    size = 0xFFFFFFFF if stated == "unknown" else size % (1 << 16)
    struct.pack_into("<I", content, at, size)
    path.write_bytes(content + b"LIST" + bytes(trailing) if trailing else content)

    decoded = decode(path)

    extra_s = (trailing + 4) / 2 / RATE_HZ if trailing and stated == "unknown" else 0
    assert decoded.seconds == pytest.approx(4 + len(spoken) / RATE_HZ + extra_s, abs=0.0002)
    assert decoded.warnings == []
    np.testing.assert_allclose(decoded.waveform[4 * RATE_HZ :][: len(spoken)], spoken, atol=1e-4)
