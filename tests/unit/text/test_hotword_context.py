"""What is ordinary Mandarin, by the shipped statistic."""

from __future__ import annotations

from pathlib import Path

import pytest

from asr_core.errors import NormalizationError
from asr_core.text.hotword_context import BREAK, LATIN, NUMBER, CommonText, common_text

MAX_BYTES = 1_500_000


def likeness(text: str) -> float:
    common = common_text()
    ids = [BREAK, BREAK, *map(common.id_of, text), BREAK]
    return float(common.log_probs([ids[n : n + 3] for n in range(len(ids) - 2)]).sum())


@pytest.mark.parametrize(
    ("ordinary", "odd"),
    [
        ("我们的公司", "我门的公司"),
        ("请大家讨论", "请大家套论"),
        ("国家的权力", "国家的全力"),
        ("今天的会议", "今天的会已"),
    ],
)
def test_ordinary_text_is_more_probable_than_its_homophones(ordinary: str, odd: str) -> None:
    assert likeness(ordinary) > likeness(odd) + 2


def test_words_are_known() -> None:
    common = common_text()
    pairs, triples = common.words([common.id_of(char) for char in "在会议室工作"])
    assert pairs == [False, True, False, False, True, False]
    assert triples == [False, True, False, False, False, False]


def test_every_token_has_an_id() -> None:
    common = common_text()
    assert common.id_of("GPU") == LATIN
    assert common.id_of("85%") == NUMBER
    assert [common.id_of(text) for text in ("龘", "？", "")] == [0, 0, 0]
    assert common.id_of("我") > NUMBER
    assert common.is_common_latin("data")
    assert not common.is_common_latin("kubernetis")


def test_the_shipped_file_is_small() -> None:
    path = Path(__file__).resolve().parents[3] / "assets" / "hotwords" / "common.npz"
    assert path.stat().st_size <= MAX_BYTES


@pytest.mark.parametrize("content", [None, b"", b"PK\x03\x04 no archive"])
def test_a_damaged_file_is_a_fault_of_this_stage_only(
    content: bytes | None, tmp_path: Path
) -> None:
    path = tmp_path / "common.npz"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(NormalizationError):
        CommonText.load(path)
