"""Files that made a native library read or write memory that is not its own.

Each is decoded in a process of its own, with glibc's checks of the heap where there are any.
"""

from __future__ import annotations

import base64
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import av
import numpy as np
import pytest

from tests.unit.audio.encoders import words

ROOT = Path(__file__).resolve().parents[3]
CHANNELS = 16

_CHILD = """
import json, sys
from pathlib import Path
from asr_core.audio.decode import DecodeOptions, open_audio
from asr_core.errors import AudioDecodeError
try:
    with open_audio(Path(sys.argv[1]), options=DecodeOptions(split=bool(sys.argv[2]))) as source:
        blocks = list(source.channel_blocks())
    answer = {"rows": sorted({len(block) for block in blocks})}
    answer["samples"] = sum(block.shape[1] for block in blocks)
    answer["levels"] = [float(row.std()) for row in blocks[0]]
except AudioDecodeError as error:
    answer = {"reason": error.details["reason"]}
print(json.dumps(answer))
"""

# The first packet is of 8 kHz, the second claims to be of 24 kHz: a decoder that makes room for
# less than 20 ms at 24 kHz writes beyond it.
_SILK_PACKETS = base64.b85decode(
    "J^+j}SsFjv=m*~Ty1$HoVJK%RXkkmtWWaprr6;O~!jzXV_K*1p=eh-oMtu=XCBf&1rXHSLk4#hh?>cUeLID2&MY{ZU"
    "R2>^|eGCsCV4>!kEGc^Dw5P0XGz;$$XYiBt9AwEr=aHyfOz*yC3Aw~Q#XHlm=~oYeAAEgCX2#UN"
)


def decode_apart(path: Path, *, split: bool = False) -> dict:
    """Decode a file in another process; a crash of it fails the test."""
    checked = {
        "LD_PRELOAD": "libc_malloc_debug.so.0",
        "GLIBC_TUNABLES": "glibc.malloc.check=3",
        "PYTHONPATH": str(ROOT),
    }
    done = subprocess.run(
        [sys.executable, "-c", _CHILD, str(path), "yes" if split else ""],
        env={**os.environ, **checked},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2_000:]
    return json.loads(done.stdout)


def many_channels(muxer: str, codec: str, rate_hz: int, options: dict[str, str]) -> bytes:
    """The same words in every one of sixteen channels, as a room's microphones record them."""
    target = io.BytesIO()
    layout = f"{CHANNELS} channels"
    with av.open(target, "w", format=muxer) as output:
        stream = output.add_stream(codec, rate=rate_hz, layout=layout, options=options)
        spoken = np.repeat(words(1)[0], rate_hz // 16_000)
        interleaved = np.repeat(spoken, CHANNELS)[None]
        frame = av.AudioFrame.from_ndarray(interleaved, format="flt", layout=layout)
        frame.sample_rate = rate_hz
        frame.pts = 0
        output.mux(stream.encode(frame))
        output.mux(stream.encode(None))
    return target.getvalue()


@pytest.mark.parametrize(
    ("muxer", "codec", "rate_hz", "options"),
    [
        ("wv", "wavpack", 16_000, {}),
        ("matroska", "wavpack", 16_000, {}),
        ("ogg", "libopus", 48_000, {"mapping_family": "255"}),
        ("wav", "pcm_s16le", 16_000, {}),
    ],
    ids=["wavpack", "wavpack in matroska", "opus", "wav"],
)
@pytest.mark.parametrize("split", [True, False])
def test_more_than_eight_channels(tmp_path, muxer, codec, rate_hz, options, split):
    path = tmp_path / f"room.{muxer}"
    path.write_bytes(many_channels(muxer, codec, rate_hz, options))

    answer = decode_apart(path, split=split)

    assert answer["rows"] == [CHANNELS if split else 1]
    assert answer["samples"] == pytest.approx(words(1).shape[1], abs=400)
    assert answer["levels"] == pytest.approx([float(words(1).std())] * answer["rows"][0], rel=0.1)


def test_a_voice_message_that_changes_its_rate_stays_in_its_room(tmp_path):
    path = tmp_path / "switch.silk"
    path.write_bytes(b"#!SILK_V3" + _SILK_PACKETS)
    answer = decode_apart(path)
    assert answer.get("samples", 640) == 640
