"""The catalogue is complete, consistent with the pinned requirements, and names what it lacks."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from asr_core.errors import UnknownModelError
from asr_core.models.catalog import CATALOGUE, WHISPER_BASE, ListedFiles, find_entry

ROOT = Path(__file__).resolve().parents[3]


def test_find_entry_gives_the_embedded_model() -> None:
    entry = find_entry("whisper-base")
    assert (entry.title, entry.licence, entry.family) == ("Whisper base", "MIT", "whisper")
    assert entry.size_bytes == 145_217_532 + 2_309 + 2_203_239 + 459_861


def test_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(UnknownModelError) as caught:
        find_entry("whisper-gigantic")
    assert caught.value.details == {
        "name": "whisper-gigantic",
        "known": "ct-punc, fsmn-vad, paraformer, seaco-paraformer, whisper-base",
    }


@pytest.mark.parametrize("entry", CATALOGUE.values(), ids=lambda entry: entry.name)
def test_entries_are_well_formed(entry: object) -> None:
    assert CATALOGUE[WHISPER_BASE.name] is WHISPER_BASE
    for layout in entry.layouts:
        names = [file.name for file in layout.files]
        assert len(set(names)) == len(names)
        assert layout.main_file.name == "model.bin"
        for file in layout.files:
            assert re.fullmatch(r"[0-9a-f]{64}", file.sha256)
            assert file.size_bytes > 0
            assert file.parts


@pytest.mark.parametrize(
    ("name", "family", "repo", "required"),
    [
        (
            "seaco-paraformer",
            "paraformer",
            "iic/speech_seaco_paraformer_large_asr_nat-zh-cn-16k-common-vocab8404-onnx",
            ["config.yaml", "tokens.json", "am.mvn", "model_quant.onnx", "model_eb_quant.onnx"],
        ),
        (
            "paraformer",
            "paraformer",
            "iic/speech_paraformer-large_asr_nat-zh-cn-16k-common-vocab8404-onnx",
            ["config.yaml", "tokens.json", "am.mvn", "model_quant.onnx"],
        ),
        (
            "fsmn-vad",
            "fsmn_vad",
            "iic/speech_fsmn_vad_zh-cn-16k-common-onnx",
            ["config.yaml", "am.mvn", "model.onnx"],
        ),
        (
            "ct-punc",
            "ct_transformer",
            "iic/punc_ct-transformer_zh-cn-common-vocab272727-onnx",
            ["config.yaml", "tokens.json", "model.onnx"],
        ),
    ],
)
def test_models_of_funasr_are_listed_on_modelscope(
    name: str, family: str, repo: str, required: list[str]
) -> None:
    entry = find_entry(name)
    assert (entry.family, entry.layouts, entry.size_bytes) == (family, (), None)
    assert entry.listed is not None
    assert entry.listed.repos[0] == repo
    assert [names[0] for names in entry.listed.required] == required


def test_either_name_of_a_file_will_do() -> None:
    listed = ListedFiles(("a/b",), (("c",), ("quant", "full")), ("extra", "more"))
    assert listed.missing([]) == ("c", "quant / full")
    assert listed.missing(["full", "more"]) == ("c",)
    assert listed.missing(["c", "full"]) == ()
    assert listed.chosen(["more", "full", "c", "other"]) == ("c", "full", "more")
    assert listed.chosen(["c", "full", "quant"]) == ("c", "quant")


def test_layouts_are_told_apart_by_the_size_of_the_weights() -> None:
    sizes = [layout.main_file.size_bytes for layout in WHISPER_BASE.layouts]
    assert sizes == [145_217_532, 145_217_607]


@pytest.mark.parametrize(
    ("index", "requirements"),
    [(0, "requirements-embedded.txt"), (1, "requirements-embedded-alt.txt")],
)
def test_requirements_pin_exactly_the_packages_of_a_layout(index: int, requirements: str) -> None:
    lines = (ROOT / requirements).read_text(encoding="utf-8").splitlines()
    pinned = [line for line in lines if line and not line.startswith("#")]
    packages = WHISPER_BASE.layouts[index].packages
    assert pinned == [f"{package.replace('_', '-')}==1.0.0" for package in packages]


def test_hub_path_of_a_file() -> None:
    file = WHISPER_BASE.layouts[0].files[0]
    assert WHISPER_BASE.hub_path(file) == "Systran/faster-whisper-base/resolve/main/model.bin"
