"""How fast a history of 100,000 transcripts is searched, listed and exported.

Run from the project root::

    python -m benchmarks.history [--count N] [--keep FOLDER] [--export]

The transcripts are made up: words of common characters, as often as words of a language are, 300
to 2,000 characters each. Queries are pieces of such texts, of one to four characters and longer,
and the commonest characters. With ``--keep`` the history stays in a folder and is used again.
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import resource
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path

import numpy as np
import sqlite_utils

from asr_core.engine import HistoryFilters, HistorySelection, HistorySort, JobState
from asr_core.export.many import ManyExport
from asr_core.export.progress import ExportProgress
from asr_core.store import search
from asr_core.store.archive import Archive
from asr_core.store.database import Database
from asr_core.store.names import name_key

COMMON = (
    "的一是不了在人有我他这中大来上国个到说们为子和你地出道也时年得就那要下以生会自着去之过家学"
)
WORDS = 30_000
DAY_MS = 86_400_000
Times = tuple[float, float]
"""Wall time and processor time, in milliseconds: others may use the machine."""

FIRST_MS = 1_700_000_000_000
MODELS = ("whisper-base", "paraformer-large", "seaco-paraformer")
TAGS = ("会议", "访谈", "保留", "客户", "待校对")


def texts(count: int, seed: int = 7) -> Iterator[str]:
    """Made-up texts, 300 to 2,000 characters, most of them short."""
    chance = np.random.default_rng(seed)
    usual = [bytes((high, low)) for high in range(0xB0, 0xD8) for low in range(0xA1, 0xFF)]
    others = [pair.decode("gb2312", "ignore") for pair in usual]
    chars = list(dict.fromkeys([*COMMON, *(char for char in others if char)]))
    by_char = _falling(len(chars))
    words = [
        "".join(chars[place] for place in chance.choice(len(chars), size, p=by_char))
        for size in chance.choice([1, 2, 3, 4], WORDS, p=[0.05, 0.65, 0.2, 0.1])
    ]
    by_word = np.cumsum(_falling(WORDS))
    for _ in range(count):
        length = int(min(2_000, 300 + chance.exponential(350)))
        places = np.searchsorted(by_word, chance.random(length // 2))
        joined = "".join(
            words[min(place, WORDS - 1)] + ("，" if index % 6 == 5 else "")
            for index, place in enumerate(places)
        )
        yield joined[:length]


def _falling(count: int) -> np.ndarray:
    """Chances after Zipf."""
    weights = 1 / (np.arange(count) + 3.0)
    return weights / weights.sum()


def fill(database: Database, count: int) -> None:
    """Write recordings, without their sound, until the history has so many."""
    chance = random.Random(11)  # noqa: S311
    present = database.read(lambda db: db["recordings"].count)
    if present >= count:
        return
    every = itertools.islice(enumerate(texts(count), 1), present, None)

    def fill_some(db: sqlite_utils.Database) -> bool:
        some = [*itertools.islice(every, 1_000)]
        for number, text in some:
            _write(db, number, text, chance)
        return bool(some)

    def add_tags(db: sqlite_utils.Database) -> None:
        for tag in TAGS:
            db.execute(
                "INSERT OR IGNORE INTO tags (name, key) VALUES (?, ?)", [tag, search.fold(tag)]
            )

    database.write(add_tags)
    while database.write(fill_some):
        pass


def _write(db: sqlite_utils.Database, number: int, text: str, chance: random.Random) -> None:
    recording_id = f"{number:032x}"
    name = f"录音{number}-{text[:6]}.m4a"
    created_ms = FIRST_MS + number * 600_000
    duration_ms = len(text) * 250
    db.execute(
        "INSERT INTO recordings (number, id, name, name_key, origin, size_bytes, duration_ms,"
        " created_ms) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        [
            *(number, recording_id, name, name_key(name)),
            *(chance.choice(["file", "batch", "dictation"]), 0, duration_ms, created_ms),
        ],
    )
    options = json.dumps({"hotwords": ["听录", text[10:13]]})
    db.execute(
        "INSERT INTO jobs (id, recording_id, batch_id, state, options, created_ms)"
        " VALUES (?, ?, '', ?, ?, ?)",
        [recording_id, recording_id, "done" if number % 50 else "partial", options, created_ms],
    )
    db.execute(
        "INSERT INTO transcripts (id, recording_id, job_id, created_ms, language, model_name,"
        " backend, device, duration_ms, processing_ms, speech_ms, transcribed_ms, gaps, warnings,"
        " partial, text, spoken_text) VALUES"
        " (?, ?, ?, ?, 'zh', ?, 'onnxruntime int8', 'cpu', ?, 1000, ?, ?, '[]', '[]', 0, ?, '')",
        [
            *(number, recording_id, recording_id, created_ms, MODELS[number % 37 % 3]),
            *(duration_ms, duration_ms, duration_ms, text),
        ],
    )
    tokens = [
        [text[at : at + 20], at * 250, min(at + 20, len(text)) * 250, 0.9, ""]
        for at in range(0, len(text), 20)
    ]
    db.execute(
        "INSERT INTO sentences VALUES (?, 0, 0, ?, 0.9, '', '', ?, ?, '[]')",
        [number, duration_ms, f"说话人{number % 5}", json.dumps(tokens, ensure_ascii=False)],
    )
    if number % 10 == 0:
        tag = 1 + number // 10 % len(TAGS)
        db.execute("INSERT INTO recording_tags VALUES (?, ?)", [tag, number])
    search.put(db, number, name, text)


def queries(count: int, seed: int) -> dict[str, list[str]]:
    """Queries by kind: pieces of texts by their length, the commonest characters, dates."""
    chance = random.Random(seed)  # noqa: S311
    some = list(texts(200, seed=7))
    kinds = {}
    for size in (1, 2, 3, 4, 8):
        kinds[f"{size} 字"] = [_piece(chance.choice(some), size, chance) for _ in range(count)]
    kinds["最常见的字"] = [*COMMON[:count]]
    kinds["没有的字"] = ["龘", "不存在的话", "zzz", "的龘", "一是不了在"]
    kinds["日期"] = ["2024-03-05", "3月5日", "2024年3月", "12-31"]
    return kinds


def _piece(text: str, size: int, chance: random.Random) -> str:
    start = chance.randrange(len(text) - size)
    return text[start : start + size]


def _timed(call: Callable[[], object]) -> Times:
    start, processor = time.perf_counter(), time.process_time()
    call()
    return (time.perf_counter() - start) * 1000, (time.process_time() - processor) * 1000


def _report(name: str, times: Sequence[Times]) -> None:
    wall, processor = zip(*times, strict=True)
    cells = [np.percentile(wall, 50), np.percentile(wall, 95), max(wall)]
    cells += [np.percentile(processor, 50), np.percentile(processor, 95)]
    print(name, len(times), *(f"{cell:.1f}" for cell in cells), sep="\t", flush=True)


def measure(archive: Archive, rounds: int) -> None:
    """Print a table: what was done, how often, wall and processor times in milliseconds."""
    print("what\tn\tp50\tp95\tmax\tprocessor p50\tp95")
    _report("first page", [_timed(archive.find) for _ in range(rounds)])
    short: list[Times] = []
    for kind, some in queries(rounds, seed=3).items():
        times = [_timed(lambda query=query: archive.find(query)) for query in some]
        _report(f"query {kind}", times)
        short += times if kind[0] in "1234最" else []
    _report("query 1-4 字", short)
    for key in ("time", "name", "length"):
        for descending in (True, False):
            sort = HistorySort(key, descending)
            _report(
                f"sort {sort.key} {descending}", [_timed(lambda s=sort: archive.find("", sort=s))]
            )
            times = [
                _timed(lambda q=query, s=sort: archive.find(q, sort=s)) for query in COMMON[:10]
            ]
            _report(f"query sorted by {sort.key} {descending}", times)
    filters = {
        "tag": HistoryFilters(tags=("客户",)),
        "model": HistoryFilters(models=(MODELS[1],)),
        "state": HistoryFilters(states=(JobState.PARTIAL,)),
        "day": HistoryFilters(from_ms=FIRST_MS, to_ms=FIRST_MS + DAY_MS),
        "year": HistoryFilters(from_ms=FIRST_MS, to_ms=FIRST_MS + 365 * DAY_MS),
        "length": HistoryFilters(shortest_ms=480_000),
        "tag and model": HistoryFilters(tags=("客户",), models=(MODELS[1],)),
    }
    for name, wanted in filters.items():
        _report(f"filter {name}", [_timed(lambda f=wanted: archive.find("", f)) for _ in range(5)])
        times = [_timed(lambda q=query, f=wanted: archive.find(q, f)) for query in COMMON[:10]]
        _report(f"filter {name} and a common query", times)
    _report("facets", [_timed(archive.facets) for _ in range(5)])
    _report("storage", [_timed(archive.storage) for _ in range(3)])
    for query in ("", "的", "学家"):
        _report(f"pages of {query or 'all'}", [*_paged(archive, query)])


def _paged(archive: Archive, query: str) -> Iterator[Times]:
    """Every page from the first to the last, at most 2,000."""
    cursors = [""]

    def turn() -> None:
        cursors.append(archive.find(query, cursor=cursors[-1]).cursor)

    yield _timed(turn)
    while cursors[-1] and len(cursors) <= 2_000:
        yield _timed(turn)


class _MemoryByTenths:
    """Resident memory of this process as an export passes each tenth of the work."""

    def __init__(self) -> None:
        self.tenths: dict[int, float] = {}

    def note(self, progress: ExportProgress) -> None:
        tenth = 10 * progress.done // max(progress.total, 1)
        if tenth not in self.tenths:
            pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
            self.tenths[tenth] = pages * resource.getpagesize() / 2**20


def measure_export(archive: Archive, folder: Path) -> None:
    """Time and memory of writing everything out."""
    print("what\ttranscripts\tseconds\tMB\tpeak memory MB\tmemory MB after each tenth")
    for kind, formats in (("jsonl", ()), ("csv", ()), ("zip", ("txt", "srt"))):
        target = folder / f"all.{kind}"
        memory = _MemoryByTenths()
        start = time.perf_counter()
        many = ManyExport(archive, kind, formats)
        result = many.write(HistorySelection(), target, on_progress=memory.note)
        cells = [time.perf_counter() - start, result.size_bytes / 1e6]
        cells += [resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024]
        tenths = " ".join(f"{megabytes:.0f}" for megabytes in memory.tenths.values())
        print(
            kind, result.written, *(f"{cell:.0f}" for cell in cells), tenths, sep="\t", flush=True
        )
        target.unlink()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=100_000, metavar="N")
    parser.add_argument("--rounds", type=int, default=40, metavar="N")
    parser.add_argument("--keep", type=Path, metavar="FOLDER")
    parser.add_argument("--export", action="store_true", help="measure writing everything too")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.keep or Path(temporary)
        path = folder / "history.db"
        with closing(Database(path)) as database:
            start = time.perf_counter()
            fill(database, arguments.count)
            print(f"{arguments.count} transcripts after {time.perf_counter() - start:.0f} s")
            print(f"database {path.stat().st_size / 1e6:.0f} MB")
            archive = Archive(database, folder / "recordings")
            measure(archive, arguments.rounds)
            if arguments.export:
                measure_export(archive, folder)


if __name__ == "__main__":
    main()
