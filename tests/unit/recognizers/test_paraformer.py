"""Paraformer on FunASR's own graphs: the text, tokens and times that the references give."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from asr_core.audio.features import FeatureStream
from asr_core.audio.segmenter import Segment
from asr_core.errors import (
    DeviceError,
    ModelIntegrityError,
    RecognitionError,
    SessionClosedError,
)
from asr_core.models.funasr_folder import open_folder
from asr_core.recognizers.base import RecognizeOptions
from asr_core.recognizers.paraformer import ParaformerRecognizer
from asr_core.recognizers.paraformer_backend import Int32, ParaformerOutput
from asr_core.recognizers.paraformer_onnx import OnnxParaformer
from asr_core.results import ModelInfo, Token, Utterance
from asr_core.runtime.session import Float32
from tests.golden.paraformer_files import PLAIN, SEACO, golden, quantize
from tests.golden.paraformer_onnx_material import TOKENS, hotwords, recordings

COUNTS = (0, 3, 60)
WAVEFORMS = dict(recordings())
KEPT = {entry["name"]: entry["by_hotwords"] for entry in golden()["recordings"]}


def opened(folder: Path, *, batch_segments: int = 8) -> ParaformerRecognizer:
    return ParaformerRecognizer(
        folder, name="seaco-paraformer", threads=1, batch_segments=batch_segments
    )


@pytest.fixture(scope="module")
def seaco() -> Iterator[ParaformerRecognizer]:
    recognizer = opened(SEACO)
    yield recognizer
    recognizer.close()


@pytest.fixture(scope="module")
def quantized(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ParaformerRecognizer]:
    recognizer = opened(quantize(SEACO, tmp_path_factory.mktemp("models") / "seaco"))
    yield recognizer
    recognizer.close()


@pytest.fixture(scope="module")
def plain() -> Iterator[ParaformerRecognizer]:
    recognizer = ParaformerRecognizer(PLAIN, name="paraformer", threads=1, batch_segments=4)
    yield recognizer
    recognizer.close()


def segment(waveform: Float32, start: int = 0) -> Segment:
    end = start + len(waveform)
    return Segment(start, end, start, end, waveform)


def recognize(
    recognizer: ParaformerRecognizer, waveforms: Sequence[Float32], words: tuple[str, ...] = ()
) -> list[Utterance]:
    segments = [segment(waveform) for waveform in waveforms]
    return recognizer.recognize(segments, RecognizeOptions(hotwords=words))


def texts_and_times(utterance: Utterance) -> list[tuple[str, int, int]]:
    return [(token.text, token.start_ms, token.end_ms) for token in utterance.tokens]


def clipped(times: list[list[int]], waveform: Float32) -> list[list[int]]:
    last_ms = len(waveform) // 16
    return [[min(max(place, 0), last_ms) for place in span] for span in times]


def test_features_are_those_of_funasr() -> None:
    folder = open_folder(SEACO, name="seaco-paraformer")
    for entry in golden()["features"]:
        stream = FeatureStream(folder.features, folder.cmvn)
        parts = [stream.accept(WAVEFORMS[entry["name"]]), stream.finish()]
        rows = np.concatenate(parts)[:, ::80]
        assert np.abs(rows - np.array(entry["rows"])).max() <= 2e-5


def test_twenty_recordings_are_compared() -> None:
    assert len(KEPT) >= 20
    assert {name.split()[0] for name in KEPT} == {"speech", "tones", "noise"}


@pytest.mark.parametrize("count", COUNTS)
def test_tokens_times_and_confidence_are_those_of_funasr_onnx(
    seaco: ParaformerRecognizer, count: int
) -> None:
    utterances = recognize(seaco, [WAVEFORMS[name] for name in KEPT], hotwords(count))
    for (name, by_hotwords), utterance in zip(KEPT.items(), utterances, strict=True):
        expected = by_hotwords[str(count)]["onnx"]
        tokens = utterance.tokens
        assert [token.text for token in tokens] == expected["words"], name
        times = [[token.start_ms, token.end_ms] for token in tokens]
        assert times == clipped(expected["times"], WAVEFORMS[name]), name
        confidence = [token.confidence for token in tokens]
        assert confidence == pytest.approx(expected["confidences"], abs=1e-4), name


@pytest.mark.parametrize("count", [0, 3])
def test_text_and_times_are_those_of_funasr_in_pytorch(
    seaco: ParaformerRecognizer, count: int
) -> None:
    utterances = recognize(seaco, [WAVEFORMS[name] for name in KEPT], hotwords(count))
    for (name, by_hotwords), utterance in zip(KEPT.items(), utterances, strict=True):
        expected = by_hotwords[str(count)]["torch"]
        assert " ".join(token.text for token in utterance.tokens) == expected["text"], name
        times = [[token.start_ms, token.end_ms] for token in utterance.tokens]
        assert times == clipped(expected["times"], WAVEFORMS[name]), name


def test_hotwords_change_what_is_written(seaco: ParaformerRecognizer) -> None:
    waveforms = list(WAVEFORMS.values())[:8]
    written = [
        [
            token.text
            for utterance in recognize(seaco, waveforms, words)
            for token in utterance.tokens
        ]
        for words in ((), hotwords(3), hotwords(60))
    ]
    assert written[0] != written[1]
    assert written[1] != written[2]


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("which", ["seaco", "quantized", "plain"])
def test_a_batch_of_unequal_lengths_equals_one_by_one(
    request: pytest.FixtureRequest, which: str, count: int
) -> None:
    recognizer: ParaformerRecognizer = request.getfixturevalue(which)
    waveforms = [*list(WAVEFORMS.values())[:7], list(WAVEFORMS.values())[1]]
    together = recognize(recognizer, waveforms, hotwords(count))
    alone = [recognize(recognizer, [waveform], hotwords(count))[0] for waveform in waveforms]
    assert together == alone


@pytest.mark.parametrize("threads", [2, 3])
def test_more_threads_write_the_same(seaco: ParaformerRecognizer, threads: int) -> None:
    waveforms = list(WAVEFORMS.values())[4:10]
    other = ParaformerRecognizer(SEACO, name="seaco-paraformer", threads=threads, batch_segments=4)
    written = recognize(other, waveforms, hotwords(3))
    other.close()
    expected = recognize(seaco, waveforms, hotwords(3))
    assert [texts_and_times(one) for one in written] == [texts_and_times(one) for one in expected]


def test_plain_paraformer_writes_what_funasr_onnx_writes(plain: ParaformerRecognizer) -> None:
    entries = golden()["plain"]
    assert len(entries) >= 10
    utterances = recognize(plain, [WAVEFORMS[entry["name"]] for entry in entries])
    for entry, utterance in zip(entries, utterances, strict=True):
        assert [token.text for token in utterance.tokens] == entry["words"], entry["name"]


def test_without_a_timestamp_head_tokens_share_the_speech(plain: ParaformerRecognizer) -> None:
    waveform = WAVEFORMS["speech 1"]
    padded = Segment(16_000, 16_000 + len(waveform), 20_800, 16_000 + len(waveform), waveform)
    (utterance,) = plain.recognize([padded], RecognizeOptions())
    assert utterance.tokens[0].start_ms == 1_300
    assert utterance.tokens[-1].end_ms == utterance.end_ms


def test_what_the_models_are_called(
    seaco: ParaformerRecognizer, quantized: ParaformerRecognizer, plain: ParaformerRecognizer
) -> None:
    assert seaco.info == ModelInfo("seaco-paraformer", "onnxruntime fp32", "cpu")
    assert quantized.info == ModelInfo("seaco-paraformer", "onnxruntime int8", "cpu")
    assert (seaco.language, seaco.supports_hotwords, plain.supports_hotwords) == ("zh", True, False)
    assert seaco.group_passes == 8
    assert seaco.passes([segment(np.zeros(800, np.float32))] * 3) == 3


def test_the_quantized_graph_hears_the_same_speech(
    seaco: ParaformerRecognizer, quantized: ParaformerRecognizer
) -> None:
    waveforms = [WAVEFORMS[name] for name in KEPT]
    pairs = zip(recognize(seaco, waveforms), recognize(quantized, waveforms), strict=True)
    counts = [(len(full.tokens), len(small.tokens)) for full, small in pairs]
    assert all(abs(full - small) <= 1 + full // 5 for full, small in counts), counts


def test_times_are_absolute_and_inside_the_segment(seaco: ParaformerRecognizer) -> None:
    waveform = WAVEFORMS["speech 3 in noise"]
    (here,) = seaco.recognize([segment(waveform)], RecognizeOptions())
    start = 160_008
    (there,) = seaco.recognize([segment(waveform, start)], RecognizeOptions())
    assert there.start_ms == 10_000
    assert [token.text for token in there.tokens] == [token.text for token in here.tokens]
    inside = [(start + 15) // 16 <= token.start_ms <= token.end_ms for token in there.tokens]
    assert all(inside)
    assert there.tokens[-1].end_ms <= there.end_ms
    moved = [token.start_ms - 10_000 for token in there.tokens[1:]]
    assert moved == [token.start_ms for token in here.tokens[1:]]


@pytest.mark.parametrize("which", ["seaco", "quantized", "plain"])
@pytest.mark.parametrize("samples", [0, 1, 399, 400, 1_000, 2_000, 16_000])
def test_silence_of_any_length_has_no_fault(
    request: pytest.FixtureRequest, which: str, samples: int
) -> None:
    recognizer: ParaformerRecognizer = request.getfixturevalue(which)
    silence, speech = np.zeros(samples, np.float32), WAVEFORMS["speech 1"]
    utterances = recognize(recognizer, [silence, speech])
    assert len(utterances) == 2
    assert samples >= 400 or utterances[0].tokens == ()
    assert utterances[1].tokens == recognize(recognizer, [speech])[0].tokens


def test_a_segment_without_a_token_is_empty(seaco: ParaformerRecognizer) -> None:
    blip = WAVEFORMS["noise 0"][:900]
    assert recognize(seaco, [blip, WAVEFORMS["speech 1"], blip])[0].tokens == ()


def test_a_segment_of_more_than_thirty_seconds_is_read_in_parts(
    seaco: ParaformerRecognizer,
) -> None:
    long = np.tile(WAVEFORMS["speech 3 in noise"], 9)
    (utterance,) = recognize(seaco, [long])
    starts = [token.start_ms for token in utterance.tokens]
    assert starts == sorted(starts)
    assert starts[-1] > 38_000
    assert utterance.end_ms == len(long) // 16


def test_nothing_to_recognize(seaco: ParaformerRecognizer) -> None:
    assert seaco.recognize([], RecognizeOptions()) == []


def test_what_a_hotword_list_cannot_do_is_told_by_word(seaco: ParaformerRecognizer) -> None:
    words = ("中国", "中𠮷国", "𠮷", "中国人" * 4)
    warnings = seaco.hotword_warnings(words)
    assert [(warning.code, warning.names) for warning in warnings] == [
        ("hotwords_unheard", ("𠮷", "中国人" * 4)),
        ("hotwords_shortened", ("中𠮷国",)),
    ]
    assert seaco.hotword_warnings(("中国", "World")) == ()


def test_five_hundred_hotwords_are_used_and_the_others_named(seaco: ParaformerRecognizer) -> None:
    words = hotwords(525)
    (warning,) = seaco.hotword_warnings(words)
    assert (warning.code, warning.names) == ("hotwords_unheard", words[500:])
    assert warning.message.endswith(f", {words[519]} … +5")
    waveforms = [WAVEFORMS["speech 1"], WAVEFORMS["speech 4"]]
    assert recognize(seaco, waveforms, words) == recognize(seaco, waveforms, words[:500])


def test_plain_paraformer_says_nothing_of_hotwords(plain: ParaformerRecognizer) -> None:
    assert plain.hotword_warnings(("𠮷",)) == ()


def test_hotwords_of_which_nothing_is_left_change_nothing(seaco: ParaformerRecognizer) -> None:
    waveform = WAVEFORMS["speech 1"]
    assert recognize(seaco, [waveform], ("𠮷",)) == recognize(seaco, [waveform])


def test_a_closed_recognizer_says_so() -> None:
    recognizer = ParaformerRecognizer(PLAIN, name="paraformer", threads=1, batch_segments=1)
    recognizer.close()
    recognizer.close()
    with pytest.raises(SessionClosedError):
        recognize(recognizer, [WAVEFORMS["speech 1"]])


class Recorded:
    """A backend that counts its calls and says one token a segment."""

    info = ModelInfo("recorded", "none", "cpu")
    feature_dim = 560
    max_hotword_tokens = 10
    max_frames = 0

    def __init__(self, vocabulary: int = len(TOKENS), *, fails: bool = False) -> None:
        self.vocabulary = vocabulary
        self.lists: list[int] = []
        self.batches: list[list[int]] = []
        self._fails = fails

    def embed_hotwords(self, words: Sequence[Sequence[int]]) -> Float32:
        self.lists.append(len(words))
        return np.zeros((len(words), 4), np.float32)

    def run(self, features: Float32, lengths: Int32, hotwords: Float32 | None) -> ParaformerOutput:
        if self._fails:
            raise DeviceError("the device is gone")
        self.batches.append(lengths.tolist())
        scores = np.full((len(features), 1, self.vocabulary), -9.0, np.float32)
        scores[:, 0, TOKENS.index("中")] = np.log(np.float32(0.75))
        return ParaformerOutput(scores, np.ones(len(features), np.int32))

    def close(self) -> None:
        pass


def driven(backend: Recorded, batch_segments: int = 3) -> ParaformerRecognizer:
    return ParaformerRecognizer(
        SEACO, name="recorded", threads=1, batch_segments=batch_segments, backend=backend
    )


def test_a_list_of_hotwords_is_embedded_once() -> None:
    backend = Recorded()
    recognizer = driven(backend)
    for words in (("中国",), ("中国", "我"), ("中国",), (), ("中国", "我")):
        recognize(recognizer, [WAVEFORMS["speech 1"]], words)
    assert backend.lists == [2, 3]


def test_segments_of_like_length_share_a_batch() -> None:
    backend = Recorded()
    seconds = (5, 1, 3, 2, 4)
    waveforms = [np.zeros(16_000 * length, np.float32) for length in seconds]
    utterances = recognize(driven(backend), waveforms)
    assert backend.batches == [[17, 33, 50], [67, 83]]
    ends = [utterance.tokens[-1].end_ms for utterance in utterances]
    assert ends == [1_000 * length for length in seconds]
    expected = Token("中", 0, 5_000, pytest.approx(0.75))  # type: ignore[arg-type]
    assert utterances[0].tokens == (expected,)


def test_a_fault_of_the_device_names_the_time() -> None:
    recognizer = driven(Recorded(fails=True))
    waveform = WAVEFORMS["speech 1"]
    with pytest.raises(RecognitionError) as caught:
        recognizer.recognize([segment(waveform, 32_000)], RecognizeOptions())
    assert caught.value.details == {"start_ms": 2_000, "end_ms": 2_000 + len(waveform) // 16}


def test_networks_of_another_token_list_are_refused() -> None:
    with pytest.raises(ModelIntegrityError):
        driven(Recorded(vocabulary=len(TOKENS) + 1))


@pytest.mark.parametrize(
    ("file", "other"),
    [
        ("model.onnx", "model_eb.onnx"),
        ("model_eb.onnx", "model.onnx"),
        ("tokens.json", ""),
        ("model.onnx", ""),
    ],
)
def test_graphs_of_another_kind_are_refused(tmp_path: Path, file: str, other: str) -> None:
    folder = Path(shutil.copytree(SEACO, tmp_path / "seaco"))
    if file == "tokens.json":
        (folder / file).write_text('["<blank>", "<s>", "</s>", "a"]', encoding="utf-8")
    elif other:
        shutil.copyfile(SEACO / other, folder / file)
    else:
        (folder / file).write_bytes(b"no graph")
    with pytest.raises(ModelIntegrityError):
        opened(folder)


FAULTS = (
    "Failed to allocate memory for requested buffer of size 1",
    "MatMul node: left operand cannot broadcast on dim 1 LeftShape: {1,40}, RightShape: {3,8}",
    "The input tensor cannot be reshaped. Input shape:{20,24}, requested shape:{1,20,24}",
)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_of_the_network_is_no_silence(
    seaco: ParaformerRecognizer, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    def failing(self: OnnxParaformer, features: Float32, bias: Float32 | None) -> None:
        raise DeviceError(fault)

    monkeypatch.setattr(OnnxParaformer, "_run_graph", failing)
    with pytest.raises(RecognitionError):
        recognize(seaco, [WAVEFORMS["speech 1"]])
    with pytest.raises(ModelIntegrityError):
        opened(SEACO)
