"""A decoder that runs in circles is stopped, and what it had decoded stays."""

from __future__ import annotations

import io
import itertools

import pytest

from asr_core.audio import watch
from asr_core.audio.decode import DecodeOptions, open_audio
from asr_core.audio.watch import StalledError, WatchedFile
from asr_core.errors import AudioDecodeError
from tests.unit.audio.recordings import encode, sweep


@pytest.fixture
def clock(monkeypatch):
    """Seconds that pass at every look at the clock."""
    step = {"s": 0.0}
    now = itertools.accumulate(iter(lambda: step["s"], None), initial=0.0)
    monkeypatch.setattr(watch.time, "monotonic", lambda: next(now))
    return step


def test_reading_ends_when_the_time_is_over(clock):
    file = WatchedFile(io.BytesIO(b"0123456789"), stall_s=10)
    clock["s"] = 6.0
    assert file.read(2) == b"01"
    with pytest.raises(StalledError):
        file.read(2)
    file.restart()
    assert file.read(2) == b"23"


def test_places_that_cannot_exist_are_an_error_number():
    file = WatchedFile(io.BytesIO(b"0123456789"), stall_s=10)
    assert file.seek(4) == 4
    assert file.seek(-1) < 0
    assert file.seek(1 << 70) < 0
    assert file.read(1) == b"4"


def test_a_file_of_which_nothing_comes_out_is_refused(tmp_path, clock):
    path = tmp_path / "slow.mp3"
    encode(path, sweep(5, 44_100), 44_100, "libmp3lame", container="mp3")
    clock["s"] = 100.0
    with pytest.raises(AudioDecodeError) as caught, open_audio(path):
        pass
    assert caught.value.details == {"path": "slow.mp3", "reason": "stalled"}


def test_what_came_out_before_stays(tmp_path, clock):
    path = tmp_path / "slow.mp3"
    encode(path, sweep(60, 44_100), 44_100, "libmp3lame", container="mp3")
    with open_audio(path, options=DecodeOptions(stall_s=10)) as source:
        blocks = source.blocks()
        length = len(next(blocks))
        clock["s"] = 100.0
        length += sum(len(block) for block in blocks)
        assert 4 * 16_000 < length < 30 * 16_000
        assert "truncated" in [warning.code for warning in source.warnings]
        assert source.gaps[-1][1] == pytest.approx(60_000, abs=60)


def test_time_that_others_need_does_not_count(tmp_path, clock):
    path = tmp_path / "fine.mp3"
    encode(path, sweep(30, 44_100), 44_100, "libmp3lame", container="mp3")
    with open_audio(path, options=DecodeOptions(stall_s=10)) as source:
        length = 0
        for block in source.blocks():
            clock["s"] = 100.0  # as if recognition took long
            watch.time.monotonic()
            clock["s"] = 0.0
            length += len(block)
        assert length == pytest.approx(30 * 16_000, abs=500)
        assert source.warnings == []
