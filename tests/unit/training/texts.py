"""A small made-up corpus whose marks can be learnt in a few steps."""

from __future__ import annotations

import lzma
import random
from pathlib import Path

_PARTS = ("我们今天开会", "大家都到了", "先看第一项", "他说PM2.5很高", "预算有85%", "明天再谈")
_HEADER = "file\trepo\tcommit\tlicence\tlines\tchars\tgenre\tbytes_utf8\n"


def write_corpus(folder: Path, *, paragraphs: int = 240) -> Path:
    """Two sources in which a question ends with 吗, all else with 了 or 。, parts with commas."""
    (folder / "corpus").mkdir(parents=True)
    rows = [_HEADER]
    for name, seed in (("meeting-tang-transcript", 1), ("news-ntrex", 2)):
        chance = random.Random(seed)  # noqa: S311
        lines = [paragraph(chance) for _ in range(paragraphs)]
        with lzma.open(folder / "corpus" / f"{name}.txt.xz", "wt", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")
        rows.append(f"{name}.txt.xz\tsome/texts\tabc\tCC0-1.0\t{paragraphs}\t1\tnews\t1\n")
    (folder / "SOURCES.tsv").write_text("".join(rows), encoding="utf-8")
    return folder


def paragraph(chance: random.Random) -> str:
    """Two to five sentences."""
    sentences = []
    for _ in range(chance.randint(2, 5)):
        parts = chance.sample(_PARTS, chance.randint(1, 3))
        end = "吗？" if chance.random() < 0.4 else "了。"
        sentences.append("，".join(parts) + end)
    return "".join(sentences)
