"""Speed of number normalization and its accuracy on tables of spoken and written lines.

    python -m benchmarks.itn TABLE.tsv [TABLE.tsv ...]

A table has a header and the columns spoken, written and category. Prints per table the share of
exact lines, of lines that must stay and of each category, then characters per second of short
lines and of one long line.
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict
from pathlib import Path

from asr_core.text.itn.normalizer import RuleNormalizer

LONG_CHARS = 100_000


def read_rows(path: Path) -> list[tuple[str, str, str]]:
    lines = path.read_text(encoding="utf-8").splitlines()[1:]
    cells = [line.split("\t") for line in lines if line]
    return [(row[0], row[1], row[2] if len(row) > 2 else "") for row in cells]


def print_accuracy(normalizer: RuleNormalizer, path: Path, show: bool) -> None:
    rows = read_rows(path)
    right: dict[str, list[bool]] = defaultdict(list)
    for spoken, written, category in rows:
        found = normalizer.write(spoken)
        is_right = found == written
        right["all"].append(is_right)
        right["must stay" if spoken == written else "must change"].append(is_right)
        right[f"  {category}"].append(is_right)
        if show and not is_right:
            print(f"  {category}: {spoken} -> {found} (expected {written})")
    print(f"{path.name}: {len(rows)} lines")
    for name, hits in right.items():
        print(f"  {name:<28}{sum(hits):>5}/{len(hits):<5}{100 * sum(hits) / len(hits):6.1f} %")


def print_speed(normalizer: RuleNormalizer, lines: list[str]) -> None:
    joined = "，".join(lines)
    long_line = (joined * (LONG_CHARS // len(joined) + 1))[:LONG_CHARS]
    begin = time.perf_counter()
    for line in lines:
        normalizer.write(line)
    seconds = time.perf_counter() - begin
    print(f"short lines: {sum(map(len, lines)) / seconds:,.0f} characters/s")
    begin = time.perf_counter()
    normalizer.write(long_line)
    seconds = time.perf_counter() - begin
    print(f"one line of {LONG_CHARS:,}: {seconds:.2f} s, {LONG_CHARS / seconds:,.0f} characters/s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tables", nargs="+", type=Path)
    parser.add_argument("--show", action="store_true", help="print every line that is wrong")
    arguments = parser.parse_args()
    begin = time.perf_counter()
    normalizer = RuleNormalizer()
    normalizer.write("三十五")
    print(f"load: {time.perf_counter() - begin:.2f} s")
    for path in arguments.tables:
        print_accuracy(normalizer, path, arguments.show)
    print_speed(normalizer, [row[0] for path in arguments.tables for row in read_rows(path)])


if __name__ == "__main__":
    main()
