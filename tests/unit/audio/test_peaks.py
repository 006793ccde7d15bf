"""Peaks files: what they hold, whoever wrote them in whatever pieces, and how they are reduced."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest
import soundfile
from hypothesis import given, settings
from hypothesis import strategies as st

from asr_core.audio.peaks import (
    POINT_SAMPLES,
    PeaksWriter,
    is_peaks_file,
    read_peaks,
    reduce_peaks,
    write_peaks,
)
from asr_core.errors import AudioDecodeError, AudioError, UsageError
from tests.unit.audio.recordings import sweep

POINT_MS = 20


def write(path: Path, *pieces: np.ndarray) -> Path:
    writer = PeaksWriter(path)
    for piece in pieces:
        writer.accept(piece)
    writer.commit()
    return path


def write_points(path: Path, lows: list[int], highs: list[int]) -> Path:
    """A file whose points have these values."""
    points = np.zeros((len(lows), POINT_SAMPLES), np.float32)
    points[:, 0], points[:, 1] = np.array(lows) / 128, np.array(highs) / 128
    return write(path, points.reshape(-1))


def expected_points(waveform: np.ndarray) -> np.ndarray:
    """Lowest and highest sample of every 320, one point at a time."""
    points = [
        (piece.min(), piece.max())
        for start in range(0, len(waveform), POINT_SAMPLES)
        for piece in [waveform[start : start + POINT_SAMPLES]]
    ]
    scaled = np.rint(np.array(points, np.float64).reshape(-1, 2) * 128)
    return np.clip(scaled, -128, 127).astype(np.int8)


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    samples=st.integers(0, 5 * POINT_SAMPLES),
    cuts=st.lists(st.integers(0, 5 * POINT_SAMPLES), max_size=8),
)
def test_points_are_the_extremes_however_the_recording_arrives(
    tmp_path_factory, seed, samples, cuts
):
    waveform = np.random.default_rng(seed).uniform(-1, 1, samples).astype(np.float32)
    pieces = np.split(waveform, sorted(min(cut, samples) for cut in cuts))
    info, points = read_peaks(write(tmp_path_factory.mktemp("peaks") / "a.peaks", *pieces))
    assert points.tolist() == expected_points(waveform).tolist()
    assert info.length == len(points)


def test_the_file_is_what_audiowaveform_writes(tmp_path):
    waveform = np.zeros(POINT_SAMPLES + 1, np.float32)
    waveform[7], waveform[9], waveform[-1] = -1.0, 0.5, 1.0
    content = write(tmp_path / "a.peaks", waveform).read_bytes()
    assert struct.unpack("<iIiiIi", content[:24]) == (2, 1, 16_000, 320, 2, 1)
    assert np.frombuffer(content[24:], np.int8).tolist() == [-128, 64, 127, 127]


def test_samples_beyond_full_scale_are_clipped(tmp_path):
    loud = np.linspace(-2, 2, POINT_SAMPLES, dtype=np.float32)
    assert read_peaks(write(tmp_path / "a.peaks", loud))[1].tolist() == [[-128, 127]]


def test_a_recording_without_samples_has_no_points(tmp_path):
    path = write(tmp_path / "a.peaks")
    info, points = read_peaks(path)
    assert (info.length, info.duration_ms, points.shape) == (0, 0, (0, 2))
    assert reduce_peaks(path, 3).tolist() == [[0, 0]] * 3


def test_nothing_appears_before_the_file_is_complete(tmp_path):
    path = tmp_path / "a.peaks"
    writer = PeaksWriter(path)
    writer.accept(np.ones(1000, np.float32))
    assert not path.exists()
    (draft,) = tmp_path.iterdir()
    assert draft.name.startswith("a.peaks.")
    assert draft.suffix == ".part"
    writer.commit()
    assert [file.name for file in tmp_path.iterdir()] == ["a.peaks"]


def test_what_is_discarded_leaves_nothing_and_what_is_committed_stays(tmp_path):
    writer = PeaksWriter(tmp_path / "a.peaks")
    writer.accept(np.ones(1000, np.float32))
    writer.discard()
    writer.discard()
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(UsageError):
        writer.accept(np.ones(1000, np.float32))
    with pytest.raises(UsageError):
        writer.commit()
    kept = PeaksWriter(tmp_path / "b.peaks")
    kept.commit()
    kept.discard()
    assert is_peaks_file(tmp_path / "b.peaks")


def test_a_second_file_replaces_the_first(tmp_path):
    path = write_points(tmp_path / "a.peaks", [-1], [1])
    write_points(path, [-2, -3], [2, 3])
    assert read_peaks(path)[1].tolist() == [[-2, 2], [-3, 3]]


def test_only_mono_is_taken(tmp_path):
    writer = PeaksWriter(tmp_path / "a.peaks")
    with pytest.raises(UsageError):
        writer.accept(np.zeros((2, 320), np.float32))
    writer.discard()


def test_a_folder_that_does_not_exist_is_reported(tmp_path):
    with pytest.raises(AudioError) as caught:
        PeaksWriter(tmp_path / "none" / "a.peaks")
    assert caught.value.details == {"path": "a.peaks", "reason": "No such file or directory"}


def test_a_name_that_is_taken_by_a_folder_is_reported_and_leaves_no_draft(tmp_path):
    (tmp_path / "a.peaks").mkdir()
    writer = PeaksWriter(tmp_path / "a.peaks")
    with pytest.raises(AudioError):
        writer.commit()
    assert [file.name for file in tmp_path.iterdir()] == ["a.peaks"]


def test_a_full_disk_is_reported_and_leaves_no_draft(tmp_path):
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("the system has no device that is always full")
    writer = PeaksWriter(tmp_path / "a.peaks")
    with full.open("wb", buffering=0) as disk:
        writer._file.close()
        writer._file = disk
        with pytest.raises(AudioError) as caught:
            writer.accept(np.ones(POINT_SAMPLES, np.float32))
        assert caught.value.details == {"path": "a.peaks", "reason": "No space left on device"}
        with pytest.raises(AudioError):
            writer.commit()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"short",
        struct.pack("<iIiiIi", 1, 1, 16_000, 320, 0, 1),
        struct.pack("<iIiiIi", 2, 0, 16_000, 320, 0, 1),
        struct.pack("<iIiiIi", 2, 1, 16_000, 320, 0, 2),
        struct.pack("<iIiiIi", 2, 1, 0, 320, 0, 1),
        struct.pack("<iIiiIi", 2, 1, 16_000, 0, 0, 1),
        struct.pack("<iIiiIi", 2, 1, 16_000, 320, 2, 1) + b"\1\2\3",
        struct.pack("<iIiiIi", 2, 1, 16_000, 320, 1, 1) + b"\1\2\3",
    ],
)
def test_a_file_that_is_no_whole_peaks_file_is_refused(tmp_path, content):
    path = tmp_path / "a.peaks"
    path.write_bytes(content)
    assert not is_peaks_file(path)
    for read in (read_peaks, lambda damaged: reduce_peaks(damaged, 10)):
        with pytest.raises(AudioError) as caught:
            read(path)
        assert caught.value.details == {"path": "a.peaks", "reason": "damaged"}


def test_a_missing_file_is_reported(tmp_path):
    assert not is_peaks_file(tmp_path / "a.peaks")
    with pytest.raises(AudioError) as caught:
        read_peaks(tmp_path / "a.peaks")
    assert caught.value.details["reason"] == "No such file or directory"


def test_two_points_for_five(tmp_path):
    path = write_points(tmp_path / "a.peaks", [-1, -2, -3, -4, -5], [5, 4, 3, 2, 1])
    # The point in the middle lies half in each part.
    assert reduce_peaks(path, 2).tolist() == [[-3, 5], [-5, 3]]


def test_more_points_than_there_are_repeat_them(tmp_path):
    path = write_points(tmp_path / "a.peaks", [-1, -2], [1, 2])
    assert reduce_peaks(path, 4).tolist() == [[-1, 1], [-1, 1], [-2, 2], [-2, 2]]


def test_beyond_the_recording_is_silence(tmp_path):
    path = write_points(tmp_path / "a.peaks", [-1, -2], [1, 2])
    assert reduce_peaks(path, 4, end_ms=80).tolist() == [[-1, 1], [-2, 2], [0, 0], [0, 0]]
    assert reduce_peaks(path, 2, start_ms=1000, end_ms=2000).tolist() == [[0, 0], [0, 0]]
    assert reduce_peaks(path, 1, start_ms=1000).tolist() == [[0, 0]]


@settings(max_examples=60, deadline=None)
@given(
    highs=st.lists(st.integers(0, 127), min_size=1, max_size=40),
    count=st.integers(1, 50),
    start_ms=st.integers(0, 900),
    length_ms=st.integers(1, 1000),
)
def test_every_part_holds_the_extremes_of_what_it_overlaps(
    tmp_path_factory, highs, count, start_ms, length_ms
):
    lows = [-high for high in highs]
    path = write_points(tmp_path_factory.mktemp("peaks") / "a.peaks", lows, highs)
    made = reduce_peaks(path, count, start_ms=start_ms, end_ms=start_ms + length_ms)
    for part in range(count):
        # Multiplied by count, so that the edges of the parts are whole numbers.
        begin = start_ms * count + part * length_ms
        end = begin + length_ms
        inside = [
            high
            for index, high in enumerate(highs)
            if index * POINT_MS * count < end and (index + 1) * POINT_MS * count > begin
        ]
        assert made[part].tolist() == [-max(inside, default=0), max(inside, default=0)]


@pytest.mark.parametrize(("count", "start_ms", "end_ms"), [(0, 0, 10), (1, -1, 10), (1, 10, 10)])
def test_an_impossible_range_is_a_mistake_of_the_caller(tmp_path, count, start_ms, end_ms):
    path = write_points(tmp_path / "a.peaks", [-1], [1])
    with pytest.raises(UsageError):
        reduce_peaks(path, count, start_ms=start_ms, end_ms=end_ms)


def test_peaks_of_a_recording_follow_its_loudness(tmp_path):
    quiet, loud = 0.1 * sweep(1, 44_100), sweep(1, 44_100)
    recording, target = tmp_path / "会议.wav", tmp_path / "会议.peaks"
    soundfile.write(recording, np.concatenate([quiet, loud]), 44_100)
    assert write_peaks(recording, target)
    info, points = read_peaks(target)
    assert info.duration_ms == 2000
    assert points[5:45, 1].tolist() == pytest.approx([6] * 40, abs=1)
    assert points[55:95, 1].tolist() == pytest.approx([64] * 40, abs=2)


def test_work_that_is_stopped_or_fails_leaves_nothing(tmp_path):
    recording, target = tmp_path / "a.wav", tmp_path / "a.peaks"
    soundfile.write(recording, sweep(1, 16_000), 16_000)
    assert not write_peaks(recording, target, is_stopped=lambda: True)
    recording.write_text("no sound")
    with pytest.raises(AudioDecodeError):
        write_peaks(recording, target)
    assert list(tmp_path.iterdir()) == [recording]
