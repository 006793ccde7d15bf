"""Punctuation models are found by name or folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from asr_core.errors import ModelFileMissingError
from asr_core.text.punctuation.ct_transformer import CtTransformer
from asr_core.text.punctuation.opening import open_punctuation
from asr_core.text.punctuation.tagger import FACTS_FILE, PunctuationTagger
from tests.material import ROOT


@pytest.mark.parametrize("name", ["没有的文件夹", "."])
def test_a_folder_without_a_model_is_refused_by_name(tmp_path: Path, name: str) -> None:
    folder = tmp_path / name
    with pytest.raises(ModelFileMissingError) as caught:
        open_punctuation(str(folder), threads=1)
    assert str(folder) in str(caught.value.details["path"])


def test_a_folder_with_the_facts_of_a_tagger_is_one(tmp_path: Path) -> None:
    (tmp_path / FACTS_FILE).write_text("{}", encoding="utf-8")
    with pytest.raises(ModelFileMissingError, match=r"vocabulary\.json"):
        open_punctuation(str(tmp_path), threads=1)


def test_a_folder_of_funasr_is_a_ct_transformer() -> None:
    model = open_punctuation(str(ROOT / "tests" / "golden" / "ct_transformer"), threads=1)
    assert isinstance(model, CtTransformer)


def test_the_tagger_is_opened_by_its_name() -> None:
    assert isinstance(open_punctuation("tagger", threads=1), PunctuationTagger)
