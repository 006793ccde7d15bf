"""Lists of the history: what they find, in which order, page by page."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

import pytest
import sqlite_utils
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from asr_core.jobs.model import JobState
from asr_core.store import finding, search
from asr_core.store.archive import Archive
from asr_core.store.database import Database
from asr_core.store.entries import HistoryFilters, HistoryPage, HistorySort, Snippet
from asr_core.store.names import name_key

DAY_MS = 86_400_000
NOON_MS = int(datetime(2026, 11, 30, 12).timestamp() * 1000)


@dataclass(frozen=True)
class Item:
    """One recording with everything that it is found by."""

    name: str = "录音"
    text: str = ""
    created_ms: int = NOON_MS
    duration_ms: int | None = 1_000
    model: str = "whisper-base"
    state: str = "done"
    origin: str = "file"
    owner: str = ""
    note: str = ""
    tags: tuple[str, ...] = ()
    asked: tuple[str, ...] = ()
    found: tuple[str, ...] = ()
    speaker: str = ""
    deleted_ms: int | None = None
    part_of: str | None = None

    @property
    def searched(self) -> tuple[str, ...]:
        return (
            self.name,
            self.text,
            self.note,
            *self.tags,
            *self.asked,
            *self.found,
            self.speaker,
        )


def _id(number: int) -> str:
    return f"{number:032x}"


def fill(database: Database, items: Sequence[Item]) -> None:
    """Replace the whole history by these, numbered from 1."""

    def fill(db: sqlite_utils.Database) -> None:
        for (number,) in db.execute("SELECT number FROM search_texts").fetchall():
            search.remove(db, number)
        db.execute("DELETE FROM recordings")
        db.execute("DELETE FROM tags")
        for number, item in enumerate(items, 1):
            _insert(db, number, item)

    database.write(fill)


def _insert(db: sqlite_utils.Database, number: int, item: Item) -> None:
    db.execute(
        "INSERT INTO recordings (number, id, name, name_key, origin, size_bytes, duration_ms,"
        " created_ms, owner, note, deleted_ms, part_of) VALUES (?,?,?,?,?,0,?,?,?,?,?,?)",
        [
            *(number, _id(number), item.name, name_key(item.name), item.origin, item.duration_ms),
            *(item.created_ms, item.owner, item.note, item.deleted_ms, item.part_of),
        ],
    )
    db.execute(
        "INSERT INTO jobs (id, recording_id, batch_id, state, options, created_ms)"
        " VALUES (?, ?, '', ?, ?, 0)",
        [_id(number), _id(number), item.state, json.dumps({"hotwords": item.asked})],
    )
    if item.model:
        uses = json.dumps([(word, 1, 0) for word in item.found])
        db.execute(
            "INSERT INTO transcripts (id, recording_id, job_id, created_ms, language, model_name,"
            " backend, device, duration_ms, processing_ms, speech_ms, transcribed_ms, gaps,"
            " warnings, partial, text, spoken_text, hotwords)"
            " VALUES (?, ?, ?, 0, 'zh', ?, '', '', 0, 0, 0, 0, '[]', '[]', 0, ?, '', ?)",
            [number, _id(number), _id(number), item.model, item.text, uses],
        )
        db.execute(
            "INSERT INTO sentences VALUES (?, 0, 0, 0, 0, '', '', ?, '[]', '[]')",
            [number, item.speaker],
        )
    for tag in item.tags:
        db.execute("INSERT OR IGNORE INTO tags (name, key) VALUES (?, ?)", [tag, search.fold(tag)])
        db.execute(
            "INSERT OR IGNORE INTO recording_tags SELECT id, ? FROM tags WHERE key = ?",
            [number, search.fold(tag)],
        )
    search.put(db, number, item.name, item.text)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    database = Database(tmp_path_factory.mktemp("finding") / "history.db")
    yield database
    database.close()


@pytest.fixture(scope="module")
def archive(shared: Database) -> Archive:
    return Archive(shared, Path("recordings"))


def numbers(page: HistoryPage) -> list[int]:
    return [int(entry.id, 16) for entry in page.entries]


WORDS = st.text(st.sampled_from("会议纪要预算aBß😀1 "), max_size=6)
ITEMS = st.builds(
    Item,
    name=WORDS.map(lambda word: word.strip() or "名"),
    text=WORDS,
    note=WORDS.map(str.strip),
    tags=st.lists(st.sampled_from(["会议", "客户", "预算A"]), max_size=2).map(tuple),
    asked=st.lists(WORDS.filter(bool), max_size=2).map(tuple),
    found=st.lists(WORDS.filter(bool), max_size=2).map(tuple),
    speaker=WORDS,
    created_ms=st.integers(0, 3).map(lambda days: NOON_MS + days * DAY_MS),
    duration_ms=st.sampled_from([None, 0, 500, 5_000]),
    model=st.sampled_from(["whisper-base", "paraformer"]),
    state=st.sampled_from(["done", "partial", "failed"]),
    owner=st.sampled_from(["", "a", "b"]),
    deleted_ms=st.sampled_from([None, None, None, 5]),
)
FILTERS = st.builds(
    HistoryFilters,
    from_ms=st.sampled_from([None, NOON_MS + DAY_MS]),
    to_ms=st.sampled_from([None, NOON_MS + 2 * DAY_MS]),
    shortest_ms=st.sampled_from([None, 500]),
    longest_ms=st.sampled_from([None, 500]),
    models=st.sampled_from([(), ("paraformer",)]),
    states=st.sampled_from([(), (JobState.DONE, JobState.FAILED)]),
    tags=st.sampled_from([(), ("会议",), ("客户", "预算a"), ("没有",)]),
    owner=st.sampled_from([None, "a"]),
    deleted=st.booleans(),
)
SORTS = st.builds(HistorySort, st.sampled_from(["time", "name", "length"]), st.booleans())


def _passes(item: Item, filters: HistoryFilters) -> bool:
    length = item.duration_ms or 0
    tags = {tag.casefold() for tag in item.tags}
    return (
        (item.deleted_ms is not None) == filters.deleted
        and (filters.from_ms is None or item.created_ms >= filters.from_ms)
        and (filters.to_ms is None or item.created_ms < filters.to_ms)
        and (filters.shortest_ms is None or length >= filters.shortest_ms)
        and (filters.longest_ms is None or length <= filters.longest_ms)
        and (not filters.models or item.model in filters.models)
        and (not filters.states or JobState(item.state) in filters.states)
        and (filters.owner is None or item.owner in ("", filters.owner))
        and {tag.casefold() for tag in filters.tags} <= tags
    )


def _expected(
    items: Sequence[Item], query: str, filters: HistoryFilters, sort: HistorySort
) -> list[int]:
    wanted = query.strip().casefold()
    found = [
        (number, item)
        for number, item in enumerate(items, 1)
        if _passes(item, filters) and any(wanted in text.casefold() for text in item.searched)
    ]
    keys = {
        "time": lambda item: item.created_ms,
        "name": lambda item: name_key(item.name),
        "length": lambda item: item.duration_ms or 0,
    }
    found.sort(key=lambda one: (keys[sort.key](one[1]), one[0]), reverse=sort.descending)
    return [number for number, _ in found]


@pytest.mark.parametrize(
    ("few", "sparse"),
    [(finding.FEW, finding.SPARSE), (0, finding.SPARSE), (0, 0), (finding.FEW, 0)],
    ids=["collected", "walked by the index", "walked by the texts", "collected by the texts"],
)
@settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(
    items=st.lists(ITEMS, max_size=6),
    query=WORDS,
    filters=FILTERS | st.just(HistoryFilters()),
    sort=SORTS,
)
def test_pages_hold_exactly_what_contains_the_query_and_passes_the_filters_in_order(
    shared: Database,
    archive: Archive,
    few: int,
    sparse: int,
    items: list[Item],
    query: str,
    filters: HistoryFilters,
    sort: HistorySort,
) -> None:
    fill(shared, items)
    expected = _expected(items, query, filters, sort)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(finding, "FEW", few)
        patch.setattr(finding, "SPARSE", sparse)
        found: list[int] = []
        cursor = ""
        while True:
            page = archive.find(query, filters, sort, cursor=cursor, limit=2)
            found += numbers(page)
            assert page.total == len(expected) if page.is_exact else page.total <= len(expected)
            for entry in page.entries:
                assert bool(entry.hits) == bool(query.strip())
                for hit in entry.hits:
                    marked = [piece for piece, is_hit in hit.pieces if is_hit]
                    assert query.strip().casefold() in "".join(marked).casefold()
            cursor = page.cursor
            if not cursor:
                break
    assert found == expected


def test_what_was_hit_is_told_by_field(shared: Database, archive: Archive) -> None:
    item = Item(
        name="预算会.m4a",
        text="今天讨论预算。",
        note="预算\n第二行",
        tags=("预算", "别的"),
        asked=("预算表", "听录"),
        found=("总预算",),
        speaker="预算组",
    )
    fill(shared, [item])
    (entry,) = archive.find("预算").entries
    assert entry.hits == (
        Snippet("name", "预算会.m4a", ((0, 2),)),
        Snippet("text", "今天讨论预算。", ((4, 6),)),
        Snippet("hotword", "总预算", ((1, 3),)),
        Snippet("hotword", "预算表", ((0, 2),)),
        Snippet("speaker", "预算组", ((0, 2),)),
        Snippet("note", "预算 第二行", ((0, 2),)),
        Snippet("tag", "预算", ((0, 2),)),
    )
    assert (entry.tags, entry.note) == (("别的", "预算"), "预算\n第二行")


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("2026-11-30", [3]),
        ("2026年11月30日", [3]),
        ("2026/11/30", [3]),
        ("11月30日", [3, 1]),
        ("11-30", [4, 3, 1]),
        ("2026-11", [3, 2]),
        ("2026年11月", [3, 2]),
        ("2026-02-30", []),
        ("2026", []),
        ("9-5", []),
    ],
)
def test_a_day_finds_what_was_added_then(
    shared: Database, archive: Archive, query: str, found: list[int]
) -> None:
    days = [datetime(2025, 11, 30, 23, 59), datetime(2026, 11, 29), datetime(2026, 11, 30)]
    items = [Item(created_ms=int(day.timestamp() * 1000)) for day in days]
    fill(shared, [*items, Item(text="型号11-30", created_ms=NOON_MS + DAY_MS)])
    page = archive.find(query)
    assert numbers(page) == found
    if query == "2026-11-30":
        assert page.entries[0].hits == (Snippet("date", "2026-11-30", ((0, 10),)),)


def test_parts_of_recordings_are_in_no_list(shared: Database, archive: Archive) -> None:
    fill(shared, [Item(text="预算"), Item(text="预算", part_of=_id(1))])
    assert numbers(archive.find("预算")) == numbers(archive.find()) == [1]
    assert archive.facets().total == 1


def test_names_are_ordered_as_people_do(shared: Database, archive: Archive) -> None:
    names = ["录音10", "录音2", "阿里", "张三", "b", "A", "李四"]
    fill(shared, [Item(name=name) for name in names])
    page = archive.find(sort=HistorySort("name", descending=False))
    assert [entry.name for entry in page.entries] == [
        *("A", "b", "阿里", "李四", "录音2", "录音10", "张三")
    ]


def test_a_cursor_of_another_list_begins_at_the_start(shared: Database, archive: Archive) -> None:
    fill(shared, [Item(text="预算")] * 5)
    cursor = archive.find("预算", limit=2).cursor
    assert numbers(archive.find("预算", limit=2, cursor=cursor)) == [3, 2]
    assert numbers(archive.find("预", limit=2, cursor=cursor)) == [5, 4]
    for broken in ("x", f"{cursor}x", "..", cursor.split(".")[0] + ".x.y"):
        assert numbers(archive.find("预算", limit=2, cursor=broken)) == [5, 4]


def test_a_page_is_not_moved_by_what_is_added_meanwhile(shared: Database, archive: Archive) -> None:
    fill(shared, [Item()] * 4)
    first = archive.find(limit=2)
    shared.write(lambda db: _insert(db, 5, Item()))
    assert numbers(archive.find(limit=2, cursor=first.cursor)) == [2, 1]


def test_the_total_of_a_common_query_is_at_least_so_many(
    shared: Database, archive: Archive, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(shared, [Item(text="预算")] * 5)
    monkeypatch.setattr(finding, "FEW", 3)
    page = archive.find("预算")
    assert (page.total, page.is_exact, len(page.entries)) == (3, False, 5)
    assert (archive.find().total, archive.find().is_exact) == (5, True)


def test_strange_texts_are_found_and_shown_unharmed(shared: Database, archive: Archive) -> None:
    strange = [
        "<script>alert('x')</script><b>粗</b>",
        "\u202e反着写\u202c العربية עברית",
        "👩‍👩‍👧‍👦家庭🏳️‍🌈",
        "'; DROP TABLE recordings; --",
        '"OR" NEAR(a b) * ^ %_',
    ]
    fill(shared, [Item(name=text, text=f"前{text}后", note=text) for text in strange])
    for number, text in enumerate(strange, 1):
        page = archive.find(text)
        assert numbers(page) == [number]
        assert [hit.field for hit in page.entries[0].hits] == ["name", "text", "note"]
        assert page.entries[0].hits[0] == Snippet("name", text, ((0, len(text)),))
        for end in range(1, len(text) + 1):
            piece = text[:end]
            assert number in numbers(archive.find(piece)) or not piece.strip()


def test_a_megabyte_without_a_space_is_found(shared: Database, archive: Archive) -> None:
    text = "".join(chr(0x4E00 + index * 7 % 5000) for index in range(350_000)) + "终点"
    fill(shared, [Item(text="短"), Item(text=text)])
    (entry,) = archive.find("终点").entries
    assert entry.hits[0].text.endswith("终点")
    assert len(entry.hits[0].text) == 120
    assert numbers(archive.find(text[200_000:200_004])) == [2]


def test_facets_count_what_there_is(shared: Database, archive: Archive) -> None:
    items = [
        Item(tags=("甲", "乙")),
        Item(tags=("乙",), model="paraformer", owner="a", origin="batch"),
        Item(model="", state="failed"),
        Item(tags=("乙",), deleted_ms=1),
        Item(owner="b"),
    ]
    fill(shared, items)
    facets = archive.facets()
    assert facets.models == (("paraformer", 1), ("whisper-base", 2))
    assert facets.states == ((JobState.DONE, 3), (JobState.FAILED, 1))
    assert facets.origins == (("batch", 1), ("file", 3))
    assert facets.owners == (("", 2), ("a", 1), ("b", 1))
    assert [(tag.name, tag.count) for tag in facets.tags] == [("乙", 2), ("甲", 1)]
    assert (facets.total, facets.deleted) == (4, 1)
    assert (archive.facets("a").total, archive.facets("a").owners) == (3, (("", 2), ("a", 1)))


def test_the_newest_job_and_text_count(shared: Database, archive: Archive) -> None:
    fill(shared, [replace(Item(), state="failed", model="")])

    def again(db: sqlite_utils.Database) -> None:
        db.execute(
            "INSERT INTO jobs (id, recording_id, batch_id, state, options, created_ms)"
            " VALUES ('second', ?, '', 'queued', '{}', 0)",
            [_id(1)],
        )

    shared.write(again)
    assert archive.entry(_id(1)).state is JobState.QUEUED
    shared.write(lambda db: db.execute("UPDATE jobs SET state = 'running' WHERE id = 'second'"))
    shared.write(lambda db: db.execute("UPDATE jobs SET state = 'done' WHERE id = ?", [_id(1)]))
    assert archive.entry(_id(1)).state is JobState.RUNNING
