"""What is looked for is found where it stands, and replaced there."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from asr_core.results import Sentence, Token, WrittenSpan
from asr_core.text.compare import compare, compare_words
from asr_core.text.editing import Splice, split
from asr_core.text.finding import Preview, places, replace_in
from tests.unit.text.lines import PIECES, sentences, typed

NUMBER = Sentence(
    (
        *(
            Token(char, 100 * index, 100 * index + 100, 0.5)
            for index, char in enumerate("共二十六")
        ),
        Token("GPU", 400, 500, 0.5, "，"),
        Token("好", 500, 600, 0.5),
    ),
    (WrittenSpan(1, 3, "26"),),
)


def test_capitals_count_where_they_should() -> None:
    assert places(NUMBER.text, "gpu") == [(4, 7)]
    assert places(NUMBER.text, "gpu", case=True) == []
    assert places(NUMBER.text, "GPU", case=True) == [(4, 7)]


def test_a_query_is_no_pattern() -> None:
    assert places("a.b*c", ".") == [(1, 2)]
    assert places("a.b*c", "b*") == [(2, 4)]
    assert places("会会会", "会会") == [(0, 2)]
    assert places("会", "") == []


def test_only_the_hit_gets_new_words() -> None:
    made = replace_in(NUMBER, 5, "26", "27")
    assert made is not None
    splice, preview = made
    (new,) = splice.sentences
    assert (splice.first, splice.removed, preview.position) == (5, 1, 5)
    assert new.text == "共27 GPU，好"
    assert new.tokens[0] == NUMBER.tokens[0]
    assert new.tokens[-1] == NUMBER.tokens[-1]
    assert (preview.hits, preview.places) == (((1, 3),), ((1, 3),))


def test_what_was_said_is_not_replaced_where_it_is_written_otherwise() -> None:
    assert replace_in(NUMBER, 0, "十六", "十七") is None


def test_a_sentence_that_is_replaced_by_nothing_is_removed() -> None:
    word = Sentence((Token("嗯", 0, 100, 0.5),))
    made = replace_in(word, 1, "嗯", "")
    assert made == (Splice(1, 1, ()), Preview(1, "嗯", ((0, 1),), "", ()))


@given(sentences(), st.sampled_from(PIECES), typed)
def test_every_hit_is_replaced_and_shown(line: Sentence, query: str, replacement: str) -> None:
    made = replace_in(line, 0, query, replacement, case=True)
    assert (made is None) == (not query or query not in line.text)
    if made is None:
        return
    splice, preview = made
    expected = line.text.replace(query, replacement)
    new = "".join(sentence.text for sentence in splice.sentences)
    assert new == preview.after == (expected if expected.strip() else "")
    assert {preview.before[start:end] for start, end in preview.hits} == {query}
    assert {preview.after[start:end] for start, end in preview.places} <= {replacement}
    assert len(preview.places) == (len(preview.hits) if preview.after else 0)


@given(typed, typed)
def test_the_pieces_of_a_comparison_are_both_texts(before: str, after: str) -> None:
    pieces = compare_words(before, after)
    assert "".join(text for kind, text in pieces if kind != "insert") == before
    assert "".join(text for kind, text in pieces if kind != "delete") == after
    kinds = [kind for kind, _text in pieces]
    assert all(a != b for a, b in itertools.pairwise(kinds))


def test_a_comparison_goes_sentence_by_sentence() -> None:
    word = Sentence((Token("完", 9000, 9100, 0.5),))
    before = [NUMBER, NUMBER, word]
    assert compare(before, before) == ()
    halves = split(NUMBER, 4)
    (difference,) = compare(before, [NUMBER, *halves, word])
    assert (difference.before_first, difference.after_first) == (1, 1)
    assert (difference.before, difference.after) == ((NUMBER,), halves)
    (gone,) = compare(before, before[:2])
    assert (gone.before_first, gone.before, gone.after) == (2, (word,), ())
    assert gone.pieces == (("delete", "完"),)
    other = Sentence(word.tokens, speaker="甲")
    (named,) = compare([word], [other])
    assert named.pieces == (("equal", "完"),)
