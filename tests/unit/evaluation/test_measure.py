"""The figures of an evaluation, by hand-made recordings."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from asr_core.evaluation.manifest import Sample
from asr_core.evaluation.measure import Evaluation, Group, HotwordScore, Outcome, evaluate
from asr_core.evaluation.report import to_json, to_lines
from asr_core.evaluation.report_html import to_html
from asr_core.evaluation.written import NumberScore
from asr_core.messages import LOCALES
from asr_core.results import ModelInfo
from asr_core.text.scoring import ErrorRate

MARKUP = "<script>alert(1)</script>&\"'"
MODEL = ModelInfo("whisper-base", "ctranslate2 int8", "cpu")


def sample(
    audio: str, reference: str, spoken: str = "", speaker: str = "", tag: str = ""
) -> Sample:
    return Sample(audio, Path(audio), reference, spoken, speaker, tag)


RESULTS = (
    (
        sample("a.wav", "昇腾有25台。", "昇腾有二十五台", "甲", "会议"),
        Outcome("升腾有25台。", "升腾有二十五台。", 4_000, 1_000),
    ),
    (sample("b.wav", "用昇腾吗？", "", "乙", "会议"), Outcome("用昇腾吗", "", 2_000, 500)),
    (sample("c.wav", "没有声音", "", "甲"), Outcome("", "", 2_000, 500)),
    (sample("d.wav", "坏文件", "", "乙"), Outcome("", error="“d.wav”已损坏")),
)


@pytest.fixture(scope="module")
def measured() -> Evaluation:
    return evaluate(RESULTS, hotwords=["昇腾", "鲲鹏"])


def test_error_rates(measured: Evaluation) -> None:
    assert measured.counts == ErrorRate(1, 7, 0, 18)
    assert measured.spoken_counts == ErrorRate(1, 0, 0, 7)
    assert measured.speakers == (
        Group("甲", 2, ErrorRate(1, 4, 0, 11)),
        Group("乙", 2, ErrorRate(0, 3, 0, 7)),
    )
    assert measured.tags == (
        Group("会议", 2, ErrorRate(1, 0, 0, 11)),
        Group("", 2, ErrorRate(0, 7, 0, 7)),
    )


def test_nothing_is_dropped_silently(measured: Evaluation) -> None:
    assert measured.empty == ("c.wav", "d.wav")
    assert measured.failed == ("d.wav",)


def test_marks_numbers_and_speed(measured: Evaluation) -> None:
    assert measured.marks is not None
    assert (measured.marks.micro.expected, measured.marks.micro.hits) == (2, 1)
    assert measured.numbers == NumberScore(1, 1, 1, 1, 0)
    assert measured.rtf == pytest.approx(0.25)


def test_hotwords(measured: Evaluation) -> None:
    assert measured.hotwords == (HotwordScore("昇腾", 2, 1, 0), HotwordScore("鲲鹏", 0, 0, 0))


@pytest.mark.parametrize(
    ("word", "said", "heard", "score"),
    [
        ("AI", "用 AI 和 ai", "用 AI 和 AIR", (2, 1, 0)),
        ("鲲鹏", "没说", "鲲鹏鲲鹏", (0, 0, 2)),
        ("Kunpeng 920", "kunpeng920 和 KUNPENG 920", "Kunpeng 920", (2, 1, 0)),
        ("C++", "C++ 很难", "c++很难", (1, 1, 0)),
        ("昇腾", "昇腾昇腾", "昇腾和昇腾和昇腾", (2, 2, 1)),
    ],
)
def test_hits_and_false_alarms(
    word: str, said: str, heard: str, score: tuple[int, int, int]
) -> None:
    found = evaluate([(sample("a", said), Outcome(heard))], hotwords=[word]).hotwords
    assert found == (HotwordScore(word, *score),)


def test_without_spoken_references_nothing_is_said_about_numbers() -> None:
    found = evaluate([(sample("a", "25台"), Outcome("25台"))])
    assert (found.spoken_counts, found.numbers, found.marks) == (None, None, None)
    assert (found.speakers, found.tags, found.rtf) == ((), (), 0.0)


def test_an_empty_text_suggests_no_hotwords(measured: Evaluation) -> None:
    assert [one.word for one in measured.suggestions] == []


def test_json_has_every_figure(measured: Evaluation) -> None:
    document = json.loads(to_json(measured, MODEL))
    assert document["schema"] == 1
    assert document["model"]["name"] == "whisper-base"
    assert document["cer"]["rate"] == round(8 / 18, 6)
    assert document["cer"]["deletions"] == 7
    assert document["empty"] == ["c.wav", "d.wav"]
    assert document["failed"] == [{"audio": "d.wav", "reason": "“d.wav”已损坏"}]
    assert document["punctuation"]["micro"]["f1"] == round(2 / 3, 6)
    assert document["numbers"]["heard_exact"] == 1
    assert document["rtf"] == 0.25
    assert [one["word"] for one in document["hotwords"]] == ["昇腾", "鲲鹏"]
    assert document["items"][0]["differences"] == [["replace", "昇", "升"]]
    assert len(document["items"]) == 4


@pytest.mark.parametrize("locale", LOCALES)
def test_the_table_names_every_figure(measured: Evaluation, locale: str) -> None:
    rows = [line.split("\t") for line in to_lines(measured, locale)]
    assert all(len(row) >= 2 and all(row) for row in rows)
    assert rows[0][1] == "4"
    assert rows[1][1] == "44.44 %"
    assert {"甲", "乙", "会议", "昇腾", "c.wav", "d.wav"} <= {row[1] for row in rows}


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.names: set[str] = set()
        self.text = ""

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.names.add(tag)
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.mark.parametrize("locale", LOCALES)
def test_the_report_escapes_every_text_and_loads_nothing(locale: str) -> None:
    hostile = sample(MARKUP, f"说{MARKUP}好。", f"说{MARKUP}好", MARKUP, MARKUP)
    found = evaluate(
        [
            (hostile, Outcome(f"听{MARKUP}了，", f"听{MARKUP}", 1, 1)),
            (sample("x", MARKUP), Outcome("", error=MARKUP)),
        ],
        normalizations=(),
        hotwords=[MARKUP],
    )
    text = to_html(found, ModelInfo(MARKUP, MARKUP, MARKUP), locale)
    assert "<script" not in text
    assert not re.search(r"https?:|//|url\(|@import|\bsrc=|\bhref=", text)
    tags = _Tags()
    tags.feed(text)
    tags.close()
    assert tags.open == []
    assert tags.names <= {
        *("html", "head", "meta", "title", "style", "body", "main", "h1", "h2", "section", "table"),
        *("thead", "tbody", "tr", "th", "td", "div", "p", "span", "del", "ins", "br"),
    }
    assert MARKUP in tags.text


def test_the_report_shows_differences_in_place(measured: Evaluation) -> None:
    text = to_html(measured, MODEL, "zh-CN")
    assert '<span class="s"><del>昇</del><ins>升</ins></span>腾有25台。' in text
    assert "<del>没有声音</del>" in text
    assert text.index("c.wav ·") < text.index("a.wav ·")
    assert "去标点" in text
