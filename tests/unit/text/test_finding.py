"""What is looked for is found where it stands, and replaced there."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from asr_core.results import Sentence, Token, WrittenSpan
from asr_core.text.compare import compare, compare_words
from asr_core.text.editing import split
from asr_core.text.finding import find, places, replace_all
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


def test_hits_lead_to_tokens_in_both_forms() -> None:
    assert [(h.position, h.start, h.end) for h in find([NUMBER, NUMBER], "26")] == [
        (0, 1, 3),
        (1, 1, 3),
    ]
    (written,) = find([NUMBER], "6")
    assert (written.first_token, written.last_token) == (1, 3)
    (spoken,) = find([NUMBER], "十六", form="spoken")
    assert (spoken.start, spoken.end, spoken.first_token, spoken.last_token) == (2, 4, 2, 3)
    assert find([NUMBER], "十六") == []
    assert find([NUMBER], "26", form="spoken") == []


def test_capitals_count_where_they_should() -> None:
    assert len(find([NUMBER], "gpu")) == 1
    assert find([NUMBER], "gpu", case=True) == []
    assert len(find([NUMBER], "GPU", case=True)) == 1


def test_a_query_is_no_pattern() -> None:
    assert places("a.b*c", ".") == [(1, 2)]
    assert places("a.b*c", "b*") == [(2, 4)]
    assert places("会会会", "会会") == [(0, 2)]
    assert places("会", "") == []


def test_only_the_hit_gets_new_words() -> None:
    made = replace_all([NUMBER], "26", "27")
    (splice,) = made.splices
    (new,) = splice.sentences
    assert new.text == "共27 GPU，好"
    assert new.tokens[0] == NUMBER.tokens[0]
    assert new.tokens[-1] == NUMBER.tokens[-1]
    assert (made.previews[0].hits, made.previews[0].places) == (((1, 3),), ((1, 3),))


def test_a_sentence_that_is_replaced_by_nothing_is_removed() -> None:
    word = Sentence((Token("嗯", 0, 100, 0.5),))
    made = replace_all([NUMBER, word], "嗯", "")
    assert [(s.first, s.removed, s.sentences) for s in made.splices] == [(1, 1, ())]
    assert (made.previews[0].after, made.previews[0].places) == ("", ())


@given(st.lists(sentences(), max_size=3), st.sampled_from(PIECES), typed)
def test_every_hit_is_replaced_and_shown(
    lines: list[Sentence], query: str, replacement: str
) -> None:
    made = replace_all(lines, query, replacement, case=True)
    after = {splice.first: splice.sentences for splice in made.splices}
    for position, line in enumerate(lines):
        expected = line.text.replace(query, replacement) if query else line.text
        new = after.get(position, (line,))
        assert "".join(sentence.text for sentence in new) == (expected if expected.strip() else "")
    for preview in made.previews:
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
