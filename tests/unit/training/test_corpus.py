from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from asr_core.errors import UsageError
from asr_core.text.punctuation.base import MARKS
from asr_core.text.tokens import TimedPiece, tokens_from_pieces
from asr_core.training.corpus import (
    UNSURE,
    build_corpus,
    label_of,
    load_corpus,
    save_corpus,
    words_and_labels,
)
from tests.unit.training.texts import write_corpus

_ALPHABET = "我们的，。？！、；：“”《》（）aB7.5%-' \u3000é〇𠮷😀"


def marked(text: str) -> str:
    words, labels = words_and_labels(text)
    return "".join(
        word + ("~" if label == UNSURE else MARKS[label])
        for word, label in zip(words, labels, strict=True)
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("你好，世界。", "你好，世界。"),
        ("他说：“真的吗？”然后走了！", "他说：真的吗？然后走了！"),
        ("《红楼梦》（曹雪芹）很好；", "红楼梦曹雪芹很好；"),
        ("花了3.5元,PM2.5是85%.", "花了3.5元，PM2.5是85%。"),
        ("安迪·沃霍尔——画家……来了？！", "安迪沃霍尔~画家~来了？"),
        ("，，开头的逗号", "开头的逗号"),
        ("", ""),
        ("“”", ""),
    ],
)
def test_words_carry_the_mark_that_follows_them(text: str, expected: str) -> None:
    assert marked(text) == expected


@given(st.text(alphabet=_ALPHABET, max_size=30))
def test_words_and_marks_are_those_of_the_token_list(text: str) -> None:
    tokens = tokens_from_pieces([TimedPiece(text, 0, 0, 1.0)])
    words, labels = words_and_labels(text)
    assert words == [token.text for token in tokens]
    # Beside dots and dashes any mark would be right, and either may stay.
    expected = [label_of(token) for token in tokens]
    assert [label for label, wanted in zip(labels, expected, strict=True) if wanted != UNSURE] == [
        wanted for wanted in expected if wanted != UNSURE
    ]


def test_the_same_texts_give_the_same_corpus(tmp_path: Path) -> None:
    data = write_corpus(tmp_path / "data")
    first, second = build_corpus(data), build_corpus(data)
    assert first.vocabulary == second.vocabulary
    for name, part in first.training.items():
        np.testing.assert_array_equal(part.units, second.training[name].units)
        np.testing.assert_array_equal(part.labels, second.training[name].labels)


def test_a_corpus_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    data = write_corpus(tmp_path / "data")
    corpus = build_corpus(data)
    save_corpus(corpus, tmp_path / "work")
    read = load_corpus(data, tmp_path / "work")
    assert read.vocabulary == corpus.vocabulary
    assert read.sources == corpus.sources
    for kind in ("training", "validation"):
        for name, part in getattr(corpus, kind).items():
            again = getattr(read, kind)[name]
            np.testing.assert_array_equal(part.units, again.units)
            np.testing.assert_array_equal(part.labels, again.labels)
            np.testing.assert_array_equal(part.starts, again.starts)


def test_validation_paragraphs_are_not_trained_on(tmp_path: Path) -> None:
    corpus = build_corpus(write_corpus(tmp_path / "data"))
    for name in ("meeting-tang-transcript", "news-ntrex"):
        training, validation = corpus.training[name], corpus.validation[name]
        assert len(validation) >= 25
        assert len(training) + len(validation) == 240
        assert training.starts[-1] == len(training.units) == len(training.labels)


def test_units_and_pairs_come_from_the_texts(tmp_path: Path) -> None:
    corpus = build_corpus(write_corpus(tmp_path / "data"))
    vocabulary = corpus.vocabulary
    units = vocabulary.unit_ids(["我", "们", "龘"])
    assert [vocabulary.units[unit] for unit in units] == ["我", "们", "<rare>"]
    assert vocabulary.pair_ids(units)[0] > 0
    assert vocabulary.pair_ids(units)[1] == 0


def test_a_folder_without_a_list_of_sources_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"SOURCES\.tsv"):
        build_corpus(tmp_path)
