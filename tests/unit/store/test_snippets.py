import pytest
from hypothesis import given
from hypothesis import strategies as st

from asr_core.store.entries import Snippet
from asr_core.store.snippets import SNIPPET_CHARS, preview, snippet

# One line, as texts are; some letters fold to more than one.
LINES = st.text(
    st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp"]) | st.sampled_from("ßİ会")
)


@given(before=LINES, query=LINES.filter(bool), after=LINES)
def test_a_preview_is_short_and_shows_the_hit(before: str, query: str, after: str) -> None:
    text = before * 5 + query + after * 5
    shown = preview(text, query)
    assert len(shown) <= SNIPPET_CHARS
    # Of a hit that is longer than the preview, its beginning.
    assert query[: SNIPPET_CHARS // 2].casefold() in shown.casefold()
    assert shown.removeprefix("…").removesuffix("…") in text


@given(before=st.text(), query=st.text(min_size=1, max_size=20), after=st.text())
def test_a_snippet_marks_what_the_query_hits(before: str, query: str, after: str) -> None:
    text = before * 9 + query + after * 9
    shown = snippet("text", text, query)
    assert shown is not None
    assert len(shown.text) <= SNIPPET_CHARS
    assert "".join(piece for piece, _ in shown.pieces) == shown.text
    assert not set(shown.text) & set("\n\r\t\0\x1f\u2028")
    hits = [piece for piece, is_hit in shown.pieces if is_hit]
    assert hits
    if query.isprintable():
        assert query.casefold() in hits[0].casefold()


@given(text=st.text(max_size=40), query=st.text(min_size=1, max_size=3))
def test_without_a_hit_there_is_no_snippet(text: str, query: str) -> None:
    is_hit = query.casefold() in text.casefold()
    for whole in (False, True):
        found = snippet("note", text, query, whole=whole)
        assert (found is not None) == is_hit or "\x1f" in text + query


@pytest.mark.parametrize(
    ("text", "query", "shown", "ranges"),
    [
        ("预算会议：预算", "预算", "预算会议：预算", ((0, 2), (5, 7))),
        ("aaa", "aa", "aaa", ((0, 2),)),
        ("Straße", "SS", "Straße", ((4, 5),)),
        ("ßß", "s", "ßß", ((0, 1), (1, 2))),
        ("ßß", "sss", "ßß", ((0, 2),)),
        ("😀预算😀", "😀", "😀预算😀", ((0, 1), (3, 4))),
        ("第一行\n预算", "行\n预", "第一行 预算", ((2, 5),)),
        ("会" * 200 + "预算", "预算", "…" + "会" * 117 + "预算", ((118, 120),)),
        ("长" * 300, "长" * 200, "长" * 119 + "…", ((0, 119),)),
        ("会" * 50 + "长" * 300, "长" * 200, "…" + "会" * 29 + "长" * 89 + "…", ((30, 119),)),
        ("<script>alert(1)</script>", "alert", "<script>alert(1)</script>", ((8, 13),)),
        ("\u202e倒\u202c着写", "倒", "\u202e倒\u202c着写", ((1, 2),)),
    ],
)
def test_hits(text: str, query: str, shown: str, ranges: tuple[tuple[int, int], ...]) -> None:
    assert snippet("text", text, query) == Snippet("text", shown, ranges)


def test_what_is_short_is_shown_whole() -> None:
    word = "很长的标签" * 40
    found = snippet("tag", word, "标签", whole=True)
    assert found is not None
    assert found.text == word
    assert len(found.ranges) == 40


@pytest.mark.parametrize(
    ("text", "query", "shown"),
    [
        ("", "", ""),
        ("会议", "", "会议"),
        ("会" * 120, "", "会" * 120),
        ("会" * 121, "", "会" * 119 + "…"),
        ("会" * 121, "没有", "会" * 119 + "…"),
        ("会" * 200 + "预算" + "议" * 200, "预算", "…" + "会" * 29 + "预算" + "议" * 87 + "…"),
        ("会" * 200 + "预算", "预算", "…" + "会" * 117 + "预算"),
        ("ß" * 200 + "预算" + "议" * 200, "预算", "…" + "ß" * 29 + "预算" + "议" * 87 + "…"),
    ],
)
def test_previews(text: str, query: str, shown: str) -> None:
    assert preview(text, query) == shown
