"""FSMN-VAD: the reference's intervals, for any division of the recording, from any sound folder."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asr_core.audio.detector import open_detector
from asr_core.audio.features import Cmvn
from asr_core.audio.fsmn_config import read_fsmn_config
from asr_core.audio.fsmn_vad import FsmnVad, load_fsmn_vad
from asr_core.errors import (
    DeviceError,
    ModelFileMissingError,
    ModelIntegrityError,
    SessionClosedError,
    UsageError,
)
from asr_core.messages import LOCALES, describe
from asr_core.runtime.session import TensorSpec
from tests.golden.fsmn_material import (
    CASES,
    MEETING,
    Case,
    for_half_an_hour,
    read,
    recording_names,
    variants,
)

GOLDEN = json.loads(
    (Path(__file__).parents[2] / "golden" / "fsmn_vad.json").read_text(encoding="utf-8")
)
MS_SAMPLES = 16


class PlayingSession:
    """A network with one cache that gives scores prepared for it, whatever it hears."""

    input_specs = (
        TensorSpec("speech", (1, None, 80), "float32"),
        TensorSpec("in_cache0", (1, 128, 19, 1), "float32"),
    )
    output_specs = (
        TensorSpec("logits", (1, None, 2), "float32"),
        TensorSpec("out_cache0", (1, 128, 19, 1), "float32"),
    )

    def __init__(self, scores: np.ndarray) -> None:
        self.scores = scores
        self.calls: list[int] = []

    def run(self, inputs):
        frames = inputs["speech"].shape[1]
        begin = sum(self.calls)
        assert (inputs["in_cache0"] == begin).all(), "the caches go from call to call"
        self.calls.append(frames)
        return {
            "logits": self.scores[None, begin : begin + frames],
            "out_cache0": np.full((1, 128, 19, 1), begin + frames, np.float32),
        }

    def close(self) -> None:
        self.calls.clear()


@pytest.fixture(scope="module")
def vad(fsmn_folder):
    detector = load_fsmn_vad(fsmn_folder)
    yield detector
    detector.close()


@pytest.fixture(scope="module")
def golden(fsmn_folder):
    network = hashlib.sha256((fsmn_folder / "model.onnx").read_bytes()).hexdigest()
    if network != GOLDEN["network_sha256"]:
        pytest.skip("the golden intervals are those of another network")
    return GOLDEN


@pytest.fixture(scope="module")
def playing(tmp_path_factory):
    """A detector whose network plays scores, configured by what differs from the default."""
    path = tmp_path_factory.mktemp("model") / "config.yaml"

    def playing(scores, model_conf):
        content = {"model_conf": model_conf, "encoder_conf": {"fsmn_layers": 1}}
        path.write_text(json.dumps(content), encoding="utf-8")
        cmvn = Cmvn(np.zeros(80), np.ones(80))
        return FsmnVad(PlayingSession(scores), read_fsmn_config(path), cmvn)

    return playing


def detect(vad: FsmnVad, waveform: np.ndarray, cuts=()) -> list[tuple[int, int]]:
    stream = vad.stream()
    pieces = np.split(waveform, sorted(min(cut, len(waveform)) for cut in cuts))
    found = [interval for piece in pieces for interval in stream.accept(piece)]
    return found + stream.finish()


def in_ms(intervals) -> list[list[int]]:
    return [[start // MS_SAMPLES, end // MS_SAMPLES] for start, end in intervals]


def test_every_recording_has_the_intervals_of_the_reference(vad, golden, speech_folder):
    names = recording_names(speech_folder)
    found = {name: in_ms(detect(vad, read(speech_folder / name))) for name in names}
    assert found == golden["recordings"]


def test_a_spoiled_meeting_has_the_intervals_of_the_reference(vad, golden, speech_folder):
    meeting = read(speech_folder / MEETING)
    found = {name: in_ms(detect(vad, waveform)) for name, waveform in variants(meeting)}
    assert found == golden["meeting"]


@pytest.mark.slow
def test_half_an_hour_has_the_intervals_of_the_reference(vad, golden, speech_folder):
    recording = for_half_an_hour(read(speech_folder / MEETING))
    assert in_ms(detect(vad, recording)) == golden["for half an hour"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case.seed))
def test_made_up_scores_have_the_intervals_of_the_reference(playing, case):
    vad = playing(case.scores(), case.model_conf)
    assert in_ms(detect(vad, case.waveform())) == GOLDEN["cases"][str(case.seed)]


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000), st.lists(st.integers(0, 100_000), max_size=12), st.booleans())
def test_made_up_scores_in_pieces_are_those_at_once(playing, seed, cuts, hears_noise):
    case = Case(seed, frames=600, model_conf={"snr_thres": -8} if hears_noise else {})
    whole = detect(playing(case.scores(), case.model_conf), case.waveform())
    assert detect(playing(case.scores(), case.model_conf), case.waveform(), cuts) == whole


@settings(max_examples=25, deadline=None)
@given(cuts=st.lists(st.integers(0, 16_000 * 5), max_size=10))
def test_real_speech_in_pieces_is_that_at_once(vad, speech_folder, cuts):
    waveform = read(speech_folder / "clips" / "00.flac")
    silence = np.zeros(20_000, np.float32)
    recording = np.concatenate([waveform, silence, waveform])
    assert detect(vad, recording, cuts) == detect(vad, recording)


@pytest.mark.parametrize("piece_ms", [10, 37, 100, 600])
def test_a_meeting_in_pieces_of_one_length(vad, speech_folder, piece_ms):
    meeting = read(speech_folder / MEETING)[: 20 * 16_000]
    cuts = range(0, len(meeting), piece_ms * MS_SAMPLES)
    whole = detect(vad, meeting)
    assert len(whole) == 3
    assert detect(vad, meeting, cuts) == whole


def test_what_is_settled_and_open_comes_true(vad, speech_folder):
    meeting = read(speech_folder / MEETING)
    stream = vad.stream()
    found, promises = [], []
    for piece in np.array_split(meeting, 300):
        found += stream.accept(piece)
        promises.append((stream.settled, stream.open_span, len(found)))
    found += stream.finish()
    assert any(open_span for _, open_span, _ in promises)
    for settled, open_span, count in promises:
        assert all(start >= settled for start, _ in found[count:])
        if open_span:
            assert found[count][0] == open_span[0] < open_span[1] <= found[count][1]
    assert promises[-1][0] > len(meeting) - 10 * 16_000


@pytest.mark.parametrize("samples", [0, 1, 399, 400, 16_000])
def test_too_short_for_speech(vad, samples):
    assert detect(vad, np.zeros(samples, np.float32)) == []


@pytest.mark.parametrize(("silence", "intervals"), [(1, []), (0, [(0, 498 * 160)])])
def test_a_network_may_be_certain(playing, silence, intervals):
    certain = np.tile(np.array([[silence, 1 - silence]], np.float32), (498, 1))
    assert detect(playing(certain, {}), np.zeros(80_000, np.float32)) == intervals


def test_quiet_frames_hold_no_voice_where_the_model_folder_says_so(playing):
    scores = np.tile(np.array([[0, 1]], np.float32), (998, 1))
    waveform = np.repeat([0.1, 0.0001], 80_000).astype(np.float32)
    assert detect(playing(scores, {}), waveform) == [(0, 998 * 160)]
    # Frame 499 is the last with loud samples; 16 frames of the silence after it are kept.
    assert detect(playing(scores, {"decibel_thres": -14}), waveform) == [(0, (500 + 16) * 160)]


def test_a_piece_of_any_length_goes_through_the_network_in_small_batches(playing):
    scores = np.tile(np.array([[1, 0]], np.float32), (6_000, 1))
    vad = playing(scores, {})
    detect(vad, np.zeros(16_000 * 60, np.float32))
    assert sum(vad._session.calls) == 5_998
    assert max(vad._session.calls) <= 512


def test_streams_do_not_disturb_each_other(vad, speech_folder):
    waveform = read(speech_folder / "clips" / "00.flac")
    first, second = vad.stream(), vad.stream()
    found = []
    for start in range(0, len(waveform), 8_000):
        found += first.accept(waveform[start : start + 8_000])
        second.accept(waveform[:7_777])
    assert found + first.finish() == detect(vad, waveform)


def test_nothing_can_be_fed_after_the_end(vad):
    stream = vad.stream()
    stream.finish()
    with pytest.raises(UsageError):
        stream.accept(np.zeros(160, np.float32))


def test_a_closed_detector_says_so(fsmn_folder):
    vad = load_fsmn_vad(fsmn_folder)
    vad.close()
    with pytest.raises(SessionClosedError):
        vad.stream().accept(np.zeros(16_000, np.float32))


@pytest.mark.parametrize("name", ["config.yaml", "am.mvn", "model.onnx"])
def test_a_missing_file_is_named_with_its_folder(fsmn_folder, tmp_path, name):
    for path in fsmn_folder.iterdir():
        if path.name != name:
            shutil.copyfile(path, tmp_path / path.name)
    with pytest.raises(ModelFileMissingError) as caught:
        load_fsmn_vad(tmp_path)
    for told in (str(caught.value), *(describe(caught.value, locale) for locale in LOCALES)):
        assert name in told
        assert str(tmp_path) in told
        assert "fsmn-vad" in told


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(ModelFileMissingError, match=r"nowhere.*config\.yaml, am\.mvn, model\.onnx"):
        load_fsmn_vad(tmp_path / "nowhere")


def test_the_quantized_network_is_taken_where_it_is_the_only_one(fsmn_folder, tmp_path):
    for path in fsmn_folder.iterdir():
        shutil.copyfile(path, tmp_path / path.name)
    (tmp_path / "model.onnx").rename(tmp_path / "model_quant.onnx")
    load_fsmn_vad(tmp_path).close()
    (tmp_path / "model.onnx").write_bytes(b"damaged")
    with pytest.raises(DeviceError, match=r"model\.onnx"):
        load_fsmn_vad(tmp_path)


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("config.yaml", "lfr_m: 5", "lfr_m: 7"),
        ("config.yaml", "fsmn_layers: 4", "fsmn_layers: 3"),
        ("am.mvn", "-8.311879", ""),
    ],
)
def test_files_that_do_not_belong_together(fsmn_folder, tmp_path, name, old, new):
    for path in fsmn_folder.iterdir():
        shutil.copyfile(path, tmp_path / path.name)
    text = (tmp_path / name).read_text(encoding="utf-8")
    assert old in text
    (tmp_path / name).write_text(text.replace(old, new), encoding="utf-8")
    with pytest.raises(ModelIntegrityError):
        load_fsmn_vad(tmp_path)


def test_the_detector_hands_out_its_speech_as_segments(fsmn_folder, golden, speech_folder):
    meeting = read(speech_folder / MEETING)
    detector = open_detector("fsmn", fsmn_folder=fsmn_folder)
    stream = detector.stream()
    segments = [
        segment for piece in np.array_split(meeting, 12) for segment in stream.accept(piece)
    ] + stream.finish()
    detector.close()
    found = in_ms((segment.speech_start, segment.speech_end) for segment in segments)
    assert found == golden["recordings"][MEETING]
    assert all(
        np.array_equal(segment.waveform, meeting[segment.start : segment.end])
        for segment in segments
    )


def test_the_detector_needs_its_folder(tmp_path):
    with pytest.raises(ModelFileMissingError):
        open_detector("fsmn", fsmn_folder=tmp_path)
    with pytest.raises(UsageError):
        open_detector("fsmn")
