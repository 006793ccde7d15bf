"""Paraformer on its own graphs: text, tokens and times of FunASR's AutoModel, on every runtime."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from asr_core.audio.features import FeatureStream
from asr_core.audio.segmenter import Segment
from asr_core.errors import (
    DeviceError,
    DeviceUnavailableError,
    ModelFileMissingError,
    ModelIntegrityError,
    RecognitionError,
    SessionClosedError,
    UsageError,
)
from asr_core.models.funasr_folder import open_folder
from asr_core.models.graph_folder import (
    graph_file,
    read_graph_folder,
    write_graph_manifest,
)
from asr_core.networks.config import read_paraformer_config
from asr_core.recognizers.base import RecognizeOptions
from asr_core.recognizers.paraformer import ParaformerRecognizer
from asr_core.recognizers.paraformer_backend import Int32, ParaformerOutput
from asr_core.recognizers.paraformer_graphs import MOST_WORDS, Batching, GraphParaformer
from asr_core.recognizers.paraformer_opening import batching_of, open_paraformer
from asr_core.results import ModelInfo, Utterance
from asr_core.runtime.onnx import OnnxSession
from asr_core.runtime.session import Array, Float32, Session, TensorSpec
from tests.golden.paraformer_files import PLAIN, SEACO, golden
from tests.golden.paraformer_onnx_material import hotwords, recordings

pytest.importorskip("mindspore", reason="MindSpore is not installed")
pytest.importorskip("onnx", reason="onnx is not installed")

WAVEFORMS = dict(recordings())
KEPT = {entry["name"]: entry["by_hotwords"] for entry in golden()["recordings"]}
TOLERANCE = 1e-4


def opened(folder: Path, runtime: str = "auto", threads: int = 1) -> ParaformerRecognizer:
    return ParaformerRecognizer(
        folder, name="seaco", threads=threads, batch_segments=8, runtime=runtime
    )


@pytest.fixture(scope="module")
def folders(seaco_fp32: Path, seaco_int8: Path, plain_fp32: Path) -> Mapping[str, Path]:
    """Converted folders: of the model with hotwords in both precisions, and of the plain one."""
    return {"fp32": seaco_fp32, "int8": seaco_int8, "plain": plain_fp32}


@pytest.fixture(scope="module")
def recognizers(folders: Mapping[str, Path]) -> Iterator[Mapping[str, ParaformerRecognizer]]:
    made = {
        "onnx": opened(folders["fp32"]),
        "int8": opened(folders["int8"], threads=2),
        "mindspore": opened(SEACO, "mindspore"),
        "plain onnx": opened(folders["plain"]),
        "plain mindspore": opened(PLAIN, "mindspore"),
    }
    yield made
    for recognizer in made.values():
        recognizer.close()


@pytest.fixture(scope="module")
def backends(recognizers: Mapping[str, ParaformerRecognizer]) -> Mapping[str, GraphParaformer]:
    return {
        name: backend
        for name, recognizer in recognizers.items()
        if isinstance(backend := recognizer._backend, GraphParaformer)
    }


def segment(waveform: Float32) -> Segment:
    return Segment(0, len(waveform), 0, len(waveform), waveform)


def recognize(
    recognizer: ParaformerRecognizer, waveforms: Sequence[Float32], words: tuple[str, ...] = ()
) -> list[Utterance]:
    return recognizer.recognize(
        [segment(waveform) for waveform in waveforms], RecognizeOptions(hotwords=words)
    )


def clipped(times: list[list[int]], waveform: Float32) -> list[list[int]]:
    last_ms = len(waveform) // 16
    return [[min(max(place, 0), last_ms) for place in span] for span in times]


@pytest.mark.parametrize("count", [0, 3, 60])
@pytest.mark.parametrize("which", ["onnx", "mindspore"])
def test_text_tokens_and_times_are_those_of_automodel(
    recognizers: Mapping[str, ParaformerRecognizer], which: str, count: int
) -> None:
    assert len(KEPT) >= 20
    utterances = recognize(recognizers[which], [WAVEFORMS[n] for n in KEPT], hotwords(count))
    for (name, by_hotwords), utterance in zip(KEPT.items(), utterances, strict=True):
        expected = by_hotwords[str(count)]["torch"]
        assert " ".join(token.text for token in utterance.tokens) == expected["text"], name
        times = [[token.start_ms, token.end_ms] for token in utterance.tokens]
        assert times == clipped(expected["times"], WAVEFORMS[name]), name


@pytest.mark.parametrize("which", ["plain onnx", "plain mindspore"])
def test_plain_paraformer_writes_what_automodel_writes(
    recognizers: Mapping[str, ParaformerRecognizer], which: str
) -> None:
    entries = golden()["plain"]
    assert len(entries) >= 20
    utterances = recognize(recognizers[which], [WAVEFORMS[entry["name"]] for entry in entries])
    for entry, utterance in zip(entries, utterances, strict=True):
        words = [token.text for token in utterance.tokens]
        assert words == entry["words"], entry["name"]
        assert "".join(words) == entry["torch"].replace(" ", ""), entry["name"]


def test_what_the_models_are_called(
    recognizers: Mapping[str, ParaformerRecognizer],
) -> None:
    called = {name: recognizer.info.backend for name, recognizer in recognizers.items()}
    assert called == {
        "onnx": "onnxruntime fp32",
        "int8": "onnxruntime int8",
        "mindspore": "mindspore fp32",
        "plain onnx": "onnxruntime fp32",
        "plain mindspore": "mindspore fp32",
    }
    takes = {name: recognizer.supports_hotwords for name, recognizer in recognizers.items()}
    assert [name for name, hears in takes.items() if not hears] == ["plain onnx", "plain mindspore"]


def features(folder: Path, names: Sequence[str]) -> tuple[Float32, Int32]:
    """Padded features of recordings."""
    files = open_folder(folder, name="seaco", graphs=False)
    rows = []
    for name in names:
        stream = FeatureStream(files.features, files.cmvn)
        rows.append(np.concatenate([stream.accept(WAVEFORMS[name]), stream.finish()]))
    lengths = np.array([len(row) for row in rows], np.int32)
    padded = np.full((len(rows), lengths.max(), files.feature_dim), 3.0, np.float32)
    for place, row in enumerate(rows):
        padded[place, : len(row)] = row
    return padded, lengths


def assert_alike(
    together: ParaformerOutput, row: int, alone: ParaformerOutput, tolerance: float
) -> None:
    count = int(alone.token_counts[0])
    assert together.token_counts[row] == count
    scores = together.scores[row, :count]
    assert np.abs(scores - alone.scores[0, :count]).max(initial=0) <= tolerance
    assert (scores.argmax(axis=1) == alone.scores[0, :count].argmax(axis=1)).all()
    if alone.us_alphas is not None:
        assert together.us_alphas is not None
        steps = alone.us_alphas.shape[1]
        assert np.abs(together.us_alphas[row, :steps] - alone.us_alphas[0]).max() <= tolerance


@pytest.mark.parametrize("count", [0, 1, 5, 60])
@pytest.mark.parametrize("which", ["onnx", "mindspore", "int8"])
def test_a_batch_of_unequal_lengths_equals_one_by_one(
    backends: Mapping[str, GraphParaformer], which: str, count: int
) -> None:
    backend = backends[which]
    names = ["speech 1", "noise 0", "speech 8", "tones 2", "speech 4"]
    batch, lengths = features(SEACO, names)
    words = None
    if count:
        rng = np.random.default_rng(count)
        ids = [rng.integers(3, 50, rng.integers(1, 5)).tolist() for _ in range(count)]
        words = backend.embed_hotwords([*ids, (1,)])
    together = backend.run(batch, lengths, words)
    for row, length in enumerate(lengths.tolist()):
        alone = backend.run(batch[row : row + 1, :length], lengths[row : row + 1], words)
        assert_alike(together, row, alone, 0.0 if which == "int8" else TOLERANCE)


def test_a_plain_batch_equals_one_by_one(backends: Mapping[str, GraphParaformer]) -> None:
    batch, lengths = features(PLAIN, ["speech 1", "noise 0", "speech 8"])
    for which in ("plain onnx", "plain mindspore"):
        together = backends[which].run(batch, lengths, None)
        assert together.us_alphas is None
        for row, length in enumerate(lengths.tolist()):
            alone = backends[which].run(batch[row : row + 1, :length], lengths[row : row + 1], None)
            assert_alike(together, row, alone, TOLERANCE)


def test_however_segments_share_runs_they_say_the_same(
    folders: Mapping[str, Path], recognizers: Mapping[str, ParaformerRecognizer]
) -> None:
    waveforms = [WAVEFORMS[name] for name in KEPT][:9]
    expected = recognize(recognizers["onnx"], waveforms, hotwords(3))
    other = opened(folders["fp32"], threads=2)
    assert isinstance(other._backend, GraphParaformer)
    for batching in (Batching(1), Batching(2), Batching(8)):
        other._backend.batching = batching
        for one, same in zip(recognize(other, waveforms, hotwords(3)), expected, strict=True):
            assert [(token.text, token.start_ms, token.end_ms) for token in one.tokens] == [
                (token.text, token.start_ms, token.end_ms) for token in same.tokens
            ]
    other.close()


def test_eight_bit_graphs_run_one_segment_each() -> None:
    assert batching_of("onnxruntime", "int8", 2) == Batching(rows=1, workers=2)
    assert batching_of("onnxruntime", "int8", 16).rows == 1
    assert batching_of("onnxruntime", "fp32", 2).rows > 1
    assert batching_of("mindspore", "fp32", 8).workers == 1
    with pytest.raises(UsageError):
        Batching(rows=0)


@pytest.mark.parametrize("which", ["onnx", "int8", "mindspore", "plain onnx", "plain mindspore"])
@pytest.mark.parametrize("samples", [0, 399, 400, 1_000, 16_000])
def test_silence_of_any_length_has_no_fault(
    recognizers: Mapping[str, ParaformerRecognizer], which: str, samples: int
) -> None:
    recognizer = recognizers[which]
    silence, speech = np.zeros(samples, np.float32), WAVEFORMS["speech 1"]
    utterances = recognize(recognizer, [silence, speech], hotwords(3))
    assert samples >= 400 or utterances[0].tokens == ()
    texts = [token.text for token in utterances[1].tokens]
    assert texts == [token.text for token in recognize(recognizer, [speech], hotwords(3))[0].tokens]


@pytest.mark.parametrize("which", ["onnx", "int8", "mindspore"])
def test_a_segment_without_a_token_is_empty(
    recognizers: Mapping[str, ParaformerRecognizer],
    backends: Mapping[str, GraphParaformer],
    which: str,
) -> None:
    blip = WAVEFORMS["noise 0"][:900]
    found = recognize(recognizers[which], [blip, WAVEFORMS["speech 1"], blip])
    assert [bool(utterance.tokens) for utterance in found] == [False, True, False]
    one_frame = np.zeros((2, 1, backends[which].feature_dim), np.float32)
    output = backends[which].run(one_frame, np.array([1, 1], np.int32), None)
    assert output.token_counts.tolist() == [0, 0]
    assert output.scores.shape == (2, 0, backends[which].vocabulary)
    assert output.us_alphas is not None
    assert output.us_alphas.shape == (2, 3)


def test_words_that_a_segment_looks_at_most_are_kept(
    backends: Mapping[str, GraphParaformer],
) -> None:
    """The 50 best of a list and the last word; below 51 words the whole list."""
    backend, asked = backends["onnx"], []
    sessions = dict(backend._sessions)

    class Watched:
        def __init__(self, session: Session) -> None:
            self.input_specs, self.output_specs = session.input_specs, session.output_specs
            self._session = session

        def run(self, inputs: Mapping[str, Array]) -> dict[str, Array]:
            asked.append(inputs["words"].shape[2])
            return self._session.run(inputs)

        def close(self) -> None:
            pass

    batch, lengths = features(SEACO, ["speech 1"])
    backend._sessions["bias"] = Watched(sessions["bias"])
    try:
        for count in (MOST_WORDS - 1, MOST_WORDS, 200):
            ids = [[3 + number % 40, 3 + number // 40] for number in range(count)]
            backend.run(batch, lengths, backend.embed_hotwords([*ids, (1,)]))
    finally:
        backend._sessions.update(sessions)
    assert asked == [50, 51, 51]


def test_hotwords_that_a_network_cannot_take(backends: Mapping[str, GraphParaformer]) -> None:
    with pytest.raises(UsageError):
        backends["onnx"].embed_hotwords([[]])
    with pytest.raises(UsageError):
        backends["plain onnx"].embed_hotwords([[3]])


def test_a_closed_backend_says_so(folders: Mapping[str, Path]) -> None:
    for folder, runtime in ((folders["plain"], "auto"), (PLAIN, "mindspore")):
        files, backend = open_paraformer(folder, name="plain", threads=1, runtime=runtime)
        backend.close()
        backend.close()
        silence = np.zeros((1, 4, files.feature_dim), np.float32)
        with pytest.raises(SessionClosedError):
            backend.run(silence, np.array([4], np.int32), None)


def copied(source: Path, target: Path, **changes: bytes) -> Path:
    """A converted folder with other graphs that its manifest describes."""
    folder = Path(shutil.copytree(source, target))
    graphs = read_graph_folder(folder, "seaco")
    for name, content in changes.items():
        graphs.file(name).write_bytes(content)
    files = {name: graph_file(graphs.file(name)) for name in graphs.graphs}
    write_graph_manifest(replace(graphs, graphs=files))
    return folder


def test_a_folder_that_lacks_files_is_refused_before_anything_is_loaded(
    folders: Mapping[str, Path], tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(folders["fp32"], tmp_path / "seaco"))
    for file in ("encode.onnx", "bias.onnx", "am.mvn"):
        (folder / file).unlink()
    with pytest.raises(ModelFileMissingError) as caught:
        opened(folder)
    assert caught.value.details["files"] == "am.mvn, encode.onnx, bias.onnx"


def test_a_manifest_without_a_graph_that_the_model_needs(
    folders: Mapping[str, Path], tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(folders["fp32"], tmp_path / "seaco"))
    graphs = read_graph_folder(folder, "seaco")
    left = {name: file for name, file in graphs.graphs.items() if name not in ("times", "filter")}
    write_graph_manifest(replace(graphs, graphs=left))
    with pytest.raises(ModelIntegrityError, match="lacks the graphs times, filter"):
        opened(folder)


def test_networks_of_another_token_list_are_refused(
    folders: Mapping[str, Path], tmp_path: Path
) -> None:
    for source, runtime in ((folders["fp32"], "auto"), (SEACO, "mindspore")):
        folder = Path(shutil.copytree(source, tmp_path / runtime))
        tokens = json.loads((folder / "tokens.json").read_text(encoding="utf-8"))
        (folder / "tokens.json").write_text(json.dumps([*tokens, "多"]), encoding="utf-8")
        with pytest.raises(ModelIntegrityError):
            opened(folder, runtime)


@pytest.mark.parametrize("content", [b"no graph", b"decode"])
def test_graphs_of_another_kind_are_refused(
    folders: Mapping[str, Path], tmp_path: Path, content: bytes
) -> None:
    if content == b"decode":
        content = (folders["fp32"] / "decode.onnx").read_bytes()
    with pytest.raises(ModelIntegrityError):
        opened(copied(folders["fp32"], tmp_path / "seaco", encode=content))


def test_graphs_of_a_model_of_another_size_are_refused(
    folders: Mapping[str, Path], tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(folders["fp32"], tmp_path / "seaco"))
    config = (folder / "config.yaml").read_text(encoding="utf-8")
    (folder / "config.yaml").write_text(config.replace(": 16\n", ": 32\n"), encoding="utf-8")
    with pytest.raises(ModelIntegrityError):
        opened(folder)


class Faulty:
    """A session that fails when it is told to, or gives results of a wrong shape."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self.fails = False
        self.is_closed = False

    @property
    def input_specs(self) -> tuple[TensorSpec, ...]:
        return self._session.input_specs

    @property
    def output_specs(self) -> tuple[TensorSpec, ...]:
        return self._session.output_specs

    def run(self, inputs: Mapping[str, Array]) -> dict[str, Array]:
        if self.fails:
            raise DeviceError("the device is gone")
        return self._session.run(inputs)

    def close(self) -> None:
        self.is_closed = True
        self._session.close()


def faulty(folder: Path) -> dict[str, Faulty]:
    graphs = read_graph_folder(folder, "seaco")
    return {
        name: Faulty(OnnxSession(graphs.file(name), threads=1))
        for name in ("encode", "decode", "times", "embed", "bias", "filter")
    }


def driven(folder: Path, sessions: Mapping[str, Session]) -> ParaformerRecognizer:
    tokens = open_folder(folder, name="seaco", graphs=False).tokens
    backend = GraphParaformer(
        read_paraformer_config(folder / "config.yaml", len(tokens)),
        sessions,
        info=ModelInfo("seaco", "faulty", "cpu"),
        no_bias=1,
        batching=Batching(4),
    )
    return ParaformerRecognizer(folder, name="seaco", threads=1, batch_segments=4, backend=backend)


@pytest.mark.parametrize("graph", ["encode", "decode", "times", "embed", "bias", "filter"])
def test_a_fault_of_any_graph_is_told_and_the_next_recording_works(
    folders: Mapping[str, Path], graph: str
) -> None:
    sessions = faulty(folders["fp32"])
    recognizer = driven(folders["fp32"], sessions)
    speech = WAVEFORMS["speech 1"]
    expected = recognize(recognizer, [speech], hotwords(60))
    recognizer._embedded.clear()
    sessions[graph].fails = True
    with pytest.raises(RecognitionError, match="the device is gone"):
        recognize(recognizer, [speech], hotwords(60))
    sessions[graph].fails = False
    assert recognize(recognizer, [speech], hotwords(60)) == expected
    recognizer.close()
    assert all(session.is_closed for session in sessions.values())


def test_a_graph_that_cannot_be_run_is_refused_and_all_are_closed(
    folders: Mapping[str, Path],
) -> None:
    sessions = faulty(folders["fp32"])
    sessions["times"].fails = True
    with pytest.raises(ModelIntegrityError, match="cannot be run"):
        driven(folders["fp32"], sessions)
    assert all(session.is_closed for session in sessions.values())
    lacking = faulty(folders["fp32"])
    del lacking["filter"]
    with pytest.raises(ModelIntegrityError, match="lack filter"):
        driven(folders["fp32"], lacking)


def test_without_mindspore_the_reason_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mindspore", None)
    with pytest.raises(DeviceUnavailableError, match="MindSpore is not usable here") as caught:
        opened(SEACO, "mindspore")
    assert caught.value.details["device"] == "cpu"
