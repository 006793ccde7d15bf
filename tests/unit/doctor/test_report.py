"""The report: for the terminal, for programs, and as a page."""

from __future__ import annotations

import json
from datetime import datetime, timezone
from html.parser import HTMLParser

import pytest

from asr_core.doctor.examination import Examination
from asr_core.doctor.finding import fail, listed, none, ok, warn
from asr_core.doctor.report import to_json, to_lines
from asr_core.doctor.report_html import to_html

MADE = datetime(2026, 5, 6, 7, 8, 9, tzinfo=timezone.utc)

SICK = Examination(
    (
        ("software", (ok("python", "fits", version="3.11.4"),)),
        ("npu", (none("cann", "no_npu"),)),
        (
            "models",
            (
                fail(
                    "model_files", "unusable", "./run.sh models install x", name="<b>", path="/a&b"
                ),
            ),
        ),
        ("memory", (warn("swappiness", "high", "sudo sysctl -w vm.swappiness=10", value=60),)),
    ),
    "aarch64",
    MADE,
    "9.9",
)
WELL = Examination((("software", (ok("python", "fits", version="3.11.4"),)),), "x86_64", MADE)


class Reader(HTMLParser):
    """Checks that tags close in order; collects texts and what is loaded."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.texts: list[str] = []
        self.loaded: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag != "meta":
            self.open.append(tag)
        self.loaded += [str(value) for name, value in attrs if name in ("src", "href")]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def read(text: str) -> Reader:
    reader = Reader()
    reader.feed(text)
    reader.close()
    assert reader.open == []
    return reader


def test_lines_in_chinese() -> None:
    assert list(to_lines(SICK, "zh-CN")) == [
        "上线前检查 · 听录 9.9 · aarch64 · 2026-05-06 07:08 UTC",
        "",
        "软件",
        "  ✓ Python 版本：Python 3.11.4",
        "",
        "昇腾 NPU",
        "  – CANN：本机没有昇腾设备、驱动或 CANN",
        "",
        "模型",
        "  ✗ 模型文件：<b> 在 /a&b 里不完整或不存在",
        "    缺少文件的模型无法加载，任务会失败。",
        "    $ ./run.sh models install x",
        "",
        "内存与限制",
        "  ! 交换倾向（swappiness）：60",
        "    空闲一阵后模型被换到磁盘，下一次识别的开头会很慢。",
        "    $ sudo sysctl -w vm.swappiness=10",
        "",
        "正常 1 · 注意 1 · 故障 1 · 不适用 1",
    ]


def test_lines_in_english() -> None:
    lines = list(to_lines(SICK, "en"))
    assert "  ✓ Python: Python 3.11.4" in lines
    assert lines[-1] == "1 ok · 1 to note · 1 failed · 1 not applicable"


def test_only_failures_fail() -> None:
    assert (SICK.failed, WELL.failed) == (True, False)
    groups = (("memory", (warn("swappiness", "high", "x", value=60),)),)
    assert not Examination(groups, "x86_64", MADE).failed


def test_json_has_everything() -> None:
    data = json.loads(to_json(SICK, "en"))
    assert (data["schema"], data["version"], data["machine"]) == (1, "9.9", "aarch64")
    assert data["made"] == "2026-05-06T07:08:09+00:00"
    assert data["counts"] == {"ok": 1, "warn": 1, "fail": 1, "not_applicable": 1}
    assert data["findings"][2] == {
        "group": "models",
        "check": "model_files",
        "state": "fail",
        "title": "Model files",
        "found": "<b> is incomplete or missing in /a&b",
        "why": "A model that lacks files cannot be loaded, and jobs fail.",
        "mend": ["./run.sh models install x"],
        "values": {"name": "<b>", "path": "/a&b"},
    }


def test_the_page_is_sound_and_loads_nothing() -> None:
    text = to_html(SICK, "zh-CN")
    reader = read(text)
    assert reader.loaded == []
    assert "url(" not in text
    assert "<b>" not in text
    assert any("<b> 在 /a&b" in part for part in reader.texts)


def test_what_is_to_do_comes_first_and_worst_first() -> None:
    todo = to_html(SICK, "en").partition('<section id="todo">')[2].partition("</section>")[0]
    assert todo.index("Model files") < todo.index("Swappiness")
    assert "Python" not in todo
    assert "<pre>sudo sysctl -w vm.swappiness=10</pre>" in todo


def test_nothing_to_do_is_said() -> None:
    assert "没有要处理的" in to_html(WELL, "zh-CN")


@pytest.mark.parametrize(
    ("names", "shown"),
    [
        ([], ""),
        (["a"], "a"),
        (list("abc"), "a, b, c"),
        (list(range(9)), "0, 1, 2, 3, 4, 5, 6, 7 … (9)"),
    ],
)
def test_long_lists_are_cut(names: list[object], shown: str) -> None:
    assert listed(names) == shown
