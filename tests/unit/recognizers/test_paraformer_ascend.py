"""A whole transcription on a simulated device has the tokens of ONNX Runtime.

The device is a simulation: its OM files hold ONNX graphs, which ONNX Runtime executes.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from asr_core.audio.segmenter import Segment
from asr_core.errors import (
    DeviceError,
    DeviceLostError,
    DeviceMemoryError,
    DeviceUnavailableError,
    ModelIntegrityError,
    RecognitionError,
    SessionClosedError,
)
from asr_core.models.graph_folder import (
    graph_file,
    read_graph_folder,
    write_graph_manifest,
)
from asr_core.recognizers.base import RecognizeOptions
from asr_core.recognizers.paraformer import ParaformerRecognizer
from asr_core.recognizers.paraformer_ascend import open_ascend_paraformer
from asr_core.recognizers.pooled import PooledRecognizer
from asr_core.results import Utterance
from asr_core.runtime.ascend_acl import AclRuntime
from asr_core.runtime.ascend_manifest import MODES
from asr_core.runtime.pool import loss_in
from asr_core.runtime.session import Float32
from tests.fakes.ascend_folder import SIZES, ascend_folder
from tests.fakes.simulation import simulated
from tests.golden.paraformer_onnx_material import hotwords, recordings

pytest.importorskip("mindspore", reason="MindSpore is not installed")
pytest.importorskip("onnx", reason="onnx is not installed")

FRAME_SAMPLES = 960
WAVEFORMS = dict(recordings())
SHORT = [one for one in WAVEFORMS.values() if len(one) <= 64 * FRAME_SAMPLES][:14]
"""What needs no division at 64 frames, the largest size of the files."""


@pytest.fixture(scope="module")
def graphs(seaco_fp32: Path, plain_fp32: Path) -> Mapping[str, Path]:
    return {"seaco": seaco_fp32, "plain": plain_fp32}


@pytest.fixture(scope="module")
def folders(
    graphs: Mapping[str, Path], tmp_path_factory: pytest.TempPathFactory
) -> Mapping[str, Path]:
    work = tmp_path_factory.mktemp("ascend")
    made = {mode: ascend_folder(graphs["seaco"], work / mode, mode) for mode in MODES}
    made["plain"] = ascend_folder(graphs["plain"], work / "plain", "gears")
    made["times on the CPU"] = ascend_folder(
        graphs["seaco"], work / "times", "gears", on_cpu=("times", "embed")
    )
    return made


@pytest.fixture(scope="module")
def reference(graphs: Mapping[str, Path]) -> Iterator[Mapping[str, ParaformerRecognizer]]:
    made = {
        kind: ParaformerRecognizer(
            graphs[kind], name=kind, threads=1, batch_segments=4, runtime="onnxruntime"
        )
        for kind in graphs
    }
    yield made
    for recognizer in made.values():
        recognizer.close()


def opened(folder: Path) -> ParaformerRecognizer:
    _, backend = open_ascend_paraformer(
        folder, name="seaco", index=0, threads=1, runtime=AclRuntime()
    )
    return ParaformerRecognizer(folder, name="seaco", threads=1, batch_segments=4, backend=backend)


def recognize(
    recognizer: ParaformerRecognizer, waveforms: Sequence[Float32], words: tuple[str, ...] = ()
) -> list[Utterance]:
    segments = [Segment(0, len(one), 0, len(one), one) for one in waveforms]
    return recognizer.recognize(segments, RecognizeOptions(hotwords=words))


def said(utterances: Sequence[Utterance]) -> list[list[tuple[str, int, int]]]:
    return [
        [(token.text, token.start_ms, token.end_ms) for token in one.tokens] for one in utterances
    ]


def of_frames(frames: int) -> Float32:
    """Speech that has exactly so many frames."""
    speech = np.concatenate([WAVEFORMS["speech 8"], WAVEFORMS["speech 12"]])
    waveform = speech[: frames * FRAME_SAMPLES]
    assert len(waveform) == frames * FRAME_SAMPLES
    return waveform


@pytest.mark.parametrize("count", [0, 3, 60])
@pytest.mark.parametrize("mode", [*MODES, "times on the CPU"])
def test_the_tokens_are_those_of_onnx_runtime(
    folders: Mapping[str, Path],
    reference: Mapping[str, ParaformerRecognizer],
    mode: str,
    count: int,
) -> None:
    waveforms = SHORT
    words = hotwords(count)
    expected = said(recognize(reference["seaco"], waveforms, words))
    assert sum(map(len, expected)) > 20
    with simulated():
        recognizer = opened(folders[mode])
        assert recognizer.info.device == "npu:0"
        assert recognizer.info.backend == "ascend fp32"
        assert said(recognize(recognizer, waveforms, words)) == expected
        recognizer.close()


@pytest.mark.parametrize("mode", MODES)
def test_every_edge_of_the_sizes(
    folders: Mapping[str, Path], reference: Mapping[str, ParaformerRecognizer], mode: str
) -> None:
    frames = sorted({edge + step for edge in SIZES["frames"] for step in (-1, 0, 1)} | {1, 2})
    with simulated():
        recognizer = opened(folders[mode])
        for count in frames[:-1]:
            waveform = of_frames(count)
            expected = said(recognize(reference["seaco"], [waveform], hotwords(3)))
            assert len(expected[0]) >= count // 10
            assert said(recognize(recognizer, [waveform], hotwords(3))) == expected, count
        recognizer.close()


def test_longer_segments_are_read_in_parts(folders: Mapping[str, Path]) -> None:
    """Nothing is cut off: the last part is there too."""
    most = max(SIZES["frames"])
    long = of_frames(most + 30)
    with simulated():
        recognizer = opened(folders["gears"])
        [utterance] = recognize(recognizer, [long])
        times = [token.start_ms for token in utterance.tokens]
        assert times == sorted(times)
        assert times[-1] > most * 60
        recognizer.close()


def test_a_plain_paraformer(
    folders: Mapping[str, Path], reference: Mapping[str, ParaformerRecognizer]
) -> None:
    waveforms = SHORT[-6:]
    expected = said(recognize(reference["plain"], waveforms))
    with simulated():
        recognizer = opened(folders["plain"])
        assert said(recognize(recognizer, waveforms)) == expected
        recognizer.close()


def test_nothing_is_allocated_while_it_recognizes(folders: Mapping[str, Path]) -> None:
    with simulated() as machine:
        recognizer = opened(folders["gears"])
        recognize(recognizer, [WAVEFORMS["speech 1"]], hotwords(60))
        before = machine.allocations()
        for name in ("speech 1", "speech 4", "noise 0"):
            recognize(recognizer, [WAVEFORMS[name]] * 3, hotwords(60))
        assert machine.allocations() == before
        recognizer.close()


def test_a_lost_device_stops_the_recognizer_with_its_reason(folders: Mapping[str, Path]) -> None:
    with simulated() as machine:
        recognizer = opened(folders["gears"])
        machine.lose(0)
        with pytest.raises(RecognitionError) as caught:
            recognize(recognizer, [WAVEFORMS["speech 1"]])
        assert loss_in(caught.value) is not None
        recognizer.close()
        with pytest.raises(SessionClosedError):
            recognize(recognizer, [WAVEFORMS["speech 1"]])


@pytest.mark.parametrize(
    ("number", "kind"), [(507010, DeviceLostError), (207018, DeviceMemoryError)]
)
def test_a_device_that_fails_while_it_opens_is_not_taken_for_a_bad_file(
    folders: Mapping[str, Path], number: int, kind: type[DeviceError]
) -> None:
    with simulated() as machine:
        machine.fail("acl.mdl.execute_async", number, at=3)
        with pytest.raises(kind):
            opened(folders["gears"])


def test_without_pyacl_it_says_so(
    folders: Mapping[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "acl", None)
    with pytest.raises(DeviceUnavailableError) as caught:
        opened(folders["gears"])
    assert caught.value.details["reason"] == "no_acl"


def test_files_of_another_model_are_refused(folders: Mapping[str, Path], tmp_path: Path) -> None:
    folder = Path(shutil.copytree(folders["gears"], tmp_path / "mixed"))
    graphs = read_graph_folder(folder, "seaco")
    shutil.copyfile(folder / "decode.om.json", folder / "encode.om.json")
    entries = {**graphs.graphs, "encode": graph_file(folder / "encode.om.json")}
    write_graph_manifest(replace(graphs, graphs=entries))
    with pytest.raises(ModelIntegrityError, match="no encode of this model"):
        opened(folder)
    entries = dict(graphs.graphs)
    del entries["times"]
    shutil.copyfile(folders["gears"] / "encode.om.json", folder / "encode.om.json")
    write_graph_manifest(replace(graphs, graphs=entries))
    with pytest.raises(ModelIntegrityError, match="lacks the graph times"):
        opened(folder)


@pytest.mark.parametrize("how", ["nothing", "lose", "hang"])
def test_several_devices_say_what_one_says(
    folders: Mapping[str, Path], reference: Mapping[str, ParaformerRecognizer], how: str
) -> None:
    """Also when one of them dies while it works."""
    waveforms = SHORT * 3
    expected = said(recognize(reference["seaco"], waveforms, hotwords(3)))
    runtime = AclRuntime()

    def open_recognizer(index: int) -> ParaformerRecognizer:
        folder = folders["gears"]
        _, backend = open_ascend_paraformer(
            folder, name="seaco", index=index, threads=1, runtime=runtime
        )
        return ParaformerRecognizer(
            folder, name="seaco", threads=1, batch_segments=2, backend=backend
        )

    with simulated(devices=4) as machine:
        names = [f"npu:{index}" for index in range(4)]
        recognizer = PooledRecognizer(names, open_recognizer, back_off_s=(0.01,))
        assert recognizer.info.device == "npu:0,npu:1,npu:2,npu:3"
        assert recognizer.group_passes == 8
        assert recognizer.supports_hotwords
        assert recognizer.hotword_warnings(hotwords(3)) == ()
        if how != "nothing":
            getattr(machine, how)(1)
        assert said(recognize(recognizer, waveforms, hotwords(3))) == expected
        status = recognizer.status()
        assert [one.losses for one in status] == [0, int(how != "nothing"), 0, 0]
        assert sum(one.done for one in status) >= len(waveforms) // 2
        machine.recover(1)
        recognizer.close()
        recognizer.close()
        with pytest.raises(SessionClosedError):
            recognize(recognizer, waveforms)
        assert runtime.users == 0
