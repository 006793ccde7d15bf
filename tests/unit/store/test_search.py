from collections.abc import Iterator

import pytest
import sqlite_utils
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from asr_core.store import finding, rows, search
from asr_core.store.database import Database

# Few letters, so that queries hit, with all that has a meaning to SQL, LIKE, FTS5 or case folding.
CROWDED = st.text(st.sampled_from("会议记录aAbBßİſ'\"%_*-^:() \n{}[]😀é\u0301，。1"), max_size=12)
ANYTHING = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12)
TEXTS = CROWDED | ANYTHING


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    database = Database(tmp_path_factory.mktemp("search") / "history.db")
    yield database
    database.close()


def _fill(database: Database, documents: list[tuple[str, str]]) -> None:
    """Replace whatever is listed by these names and texts, numbered from 1."""

    def fill(db: sqlite_utils.Database) -> None:
        for (number,) in db.execute("SELECT number FROM search_texts").fetchall():
            search.remove(db, number)
        db.execute("DELETE FROM recordings")
        for number, (name, text) in enumerate(documents, 1):
            db.execute(
                "INSERT INTO recordings (number, id, name, origin, size_bytes, created_ms, state)"
                " VALUES (?, ?, ?, 'file', 0, ?, 'done')",
                (number, str(number), rows.encodable(name), number),
            )
            search.put(db, number, name, text)

    database.write(fill)


def _find(database: Database, query: str) -> tuple[list[int], int]:
    found = database.read(lambda db: finding.find(db, finding.Wanted(query)))
    assert found.is_exact
    return [*found.numbers], found.total


def _expected(documents: list[tuple[str, str]], query: str) -> list[int]:
    """By plain ``in``, newest first; spaces around a query do not count."""
    wanted = query.strip().casefold()
    return [
        number
        for number, (name, text) in reversed(list(enumerate(documents, 1)))
        if wanted in name.casefold() or wanted in text.casefold()
    ]


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(documents=st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=4), data=st.data())
def test_a_query_finds_exactly_what_contains_it(
    shared: Database, documents: list[tuple[str, str]], data: st.DataObject
) -> None:
    whole = "".join(name + text for name, text in documents) or "会"
    start = data.draw(st.integers(0, len(whole) - 1))
    piece = whole[start : start + data.draw(st.integers(1, 4))]
    query = data.draw(st.sampled_from([piece, piece.upper(), piece.lower()]) | TEXTS.filter(bool))
    _fill(shared, documents)
    expected = _expected(documents, query)
    assert _find(shared, query) == (expected, len(expected))


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("识", [2, 1]),
        ("识别", [2, 1]),
        ("音识别", [1]),
        ("语音识别", [1]),
        ("别语", []),
        ("asr", [2, 1]),
        ("ASR 系", [2]),
        ("周会", [1]),
        ("会语", []),
        ("统周", []),
        ("OR", []),
        ('"', [3]),
        ("100%", [3]),
        ("%", [3]),
        ("_", [3]),
        ("😀", [3]),
        ("STRASSE", [3]),
        ("*", []),
    ],
)
def test_what_people_type(shared: Database, query: str, found: list[int]) -> None:
    _fill(
        shared,
        [
            ("周会", "语音识别的Asr系统"),
            ("访谈", "识别 ASR 系统"),
            ("报表", '他说"涨了100%"😀 a_b straße'),
        ],
    )
    assert _find(shared, query) == (found, len(found))


def test_a_very_long_query_is_still_exact(shared: Database) -> None:
    text = "".join(chr(0x4E00 + index) for index in range(500))
    _fill(shared, [("一", text), ("二", text[:-1])])
    assert _find(shared, text) == ([1], 1)
    assert _find(shared, text[:-1]) == ([2, 1], 2)
    assert _find(shared, text + "完") == ([], 0)


def test_pages_are_cut_from_all_hits_newest_first(shared: Database) -> None:
    _fill(shared, [("会议记录", "")] * 7)
    for query in ("会", "会议", "会议记", "会议记录"):
        wanted, pages, cursor = finding.Wanted(query), [], ""
        while cursor or not pages:
            page = shared.read(lambda db: finding.find(db, wanted, cursor=cursor, limit=3))  # noqa: B023
            pages.append((page.numbers, page.total))
            cursor = page.cursor
        assert pages == [((7, 6, 5), 7), ((4, 3, 2), 7), ((1,), 7)]


def test_replacing_a_text_forgets_the_old_one(shared: Database) -> None:
    _fill(shared, [("周会", "预算会议")])
    shared.write(lambda db: search.put(db, 1, "周会", "人事安排"))
    assert _find(shared, "预算")[0] == []
    assert _find(shared, "算")[0] == []
    assert _find(shared, "预算会")[0] == []
    assert _find(shared, "预算会议")[0] == []
    assert _find(shared, "人事")[0] == [1]
    shared.write(lambda db: search.put_name(db, 1, "例会"))
    assert _find(shared, "人事")[0] == [1]
    shared.write(lambda db: search.remove(db, 1))
    assert _find(shared, "人事")[0] == []


def test_a_lone_surrogate_in_a_query_finds_nothing_and_fails_nothing(shared: Database) -> None:
    _fill(shared, [("周会", "预算会议")])
    assert _find(shared, "\udce4\udcb8") == ([], 0)
