"""The command that prepares, trains, exports and evaluates."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from asr_core.text.punctuation.base import MARKS
from asr_core.text.punctuation.tagger import PunctuationTagger
from asr_core.training.punctuation import main
from tests.unit.training.texts import paragraph, write_corpus


def test_one_command_after_another_makes_a_network(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("mindspore", reason="MindSpore is not installed")
    data, work, output = tmp_path / "data", tmp_path / "work", tmp_path / "model"
    write_corpus(data)
    places = ["--data", str(data), "--work", str(work), "--threads", "1"]
    sizes = ["--unit-width", "16", "--pair-width", "8", "--layer-steps", "1", "2", "4"]
    pace = ["--steps", "120", "--rate", "0.02", "--rows", "8", "--length", "32"]

    assert main(["prepare", *places]) == 0
    assert main(["train", *places, *sizes, *pace, "--judge-every", "60"]) == 0
    assert main(["export", *places, "--output", str(output)]) == 0

    tagger = PunctuationTagger(output, 1)
    words = list("我们今天开会了")
    marks = tagger.score(words, None).argmax(axis=1)
    assert "".join(MARKS[mark] for mark in marks) == "。"
    facts = json.loads((output / "model.json").read_text(encoding="utf-8"))
    assert facts["validation"]["all"]["micro"] > 0.9
    assert "| news-ntrex | some/texts | abc | CC0-1.0 |" in (
        (output / "SOURCES.md").read_text(encoding="utf-8")
    )

    chance = random.Random(9)  # noqa: S311
    test = tmp_path / "test.tsv"
    test.write_text(f"p1\tmeeting\t{paragraph(chance)}\np2\tnews\t{paragraph(chance)}\n", "utf-8")
    capsys.readouterr()
    assert main(["evaluate", "--model", str(output), "--test", str(test)]) == 0
    table = capsys.readouterr().out.splitlines()
    assert table[0] == "without the last marks"
    assert [line.split()[0] for line in table[2:5]] == ["meeting", "news", "all"]


def test_a_folder_without_texts_is_refused_in_words(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    places = ["--data", str(tmp_path), "--work", str(tmp_path / "work")]
    assert main(["prepare", *places]) == 2
    assert "SOURCES.tsv" in caplog.text


def test_a_test_file_with_other_columns_is_refused(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    from tests.unit.text.punctuation.test_tagger import SHIPPED

    test = tmp_path / "test.tsv"
    test.write_text("only text\n", "utf-8")
    assert main(["evaluate", "--model", str(SHIPPED), "--test", str(test)]) == 2
    assert "Line 1" in caplog.text
