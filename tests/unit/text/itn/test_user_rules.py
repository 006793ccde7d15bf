"""The user's own rules: exact words, patterns on request, read again when the file changes."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from asr_core.results import WrittenSpan
from asr_core.text.itn.normalizer import RuleNormalizer
from asr_core.text.itn.user_rules import MAX_FILE_BYTES, RuleProblem, parse_rules
from asr_core.text.tokens import TimedPiece, tokens_from_pieces


def write_rules(path: Path, text: str, stamp_s: int) -> None:
    path.write_text(text, encoding="utf-8")
    os.utime(path, (stamp_s, stamp_s))


def test_a_rule_comes_before_the_numbers(tmp_path: Path) -> None:
    path = tmp_path / "rules.txt"
    write_rules(path, "# 自己的词\n二十一厂 => 二十一厂\n八八六 => 886（再见）\n", 1000)
    normalizer = RuleNormalizer(path)
    assert normalizer.write("二十一厂有二十一人") == "二十一厂有21人"
    assert normalizer.write("我说八八六") == "我说886（再见）"
    tokens = tokens_from_pieces([TimedPiece("我说八八六吧", 0, 600, 0.9)])
    assert normalizer.spans(tokens) == (WrittenSpan(2, 4, "886（再见）"),)
    assert normalizer.problems == ()


def test_the_longest_word_wins_and_protected_tokens_stay(tmp_path: Path) -> None:
    path = tmp_path / "rules.txt"
    write_rules(path, "三号 => 3#\n三号楼 => 3#楼\n", 1000)
    normalizer = RuleNormalizer(path)
    assert normalizer.write("三号楼和三号") == "3#楼和3#"
    tokens = tokens_from_pieces([TimedPiece("三号楼", 0, 300, 0.9)])
    assert normalizer.spans(tokens, protected=((0, 1),)) == ()


def test_the_file_is_read_again_when_it_changes_appears_or_goes(tmp_path: Path) -> None:
    path = tmp_path / "rules.txt"
    normalizer = RuleNormalizer(path)
    assert normalizer.write("小甲") == "小甲"
    write_rules(path, "小甲 => 小A\n", 1000)
    assert normalizer.write("小甲") == "小A"
    write_rules(path, "小甲 => 小B\n", 2000)
    assert normalizer.write("小甲") == "小B"
    write_rules(path, "小甲 => 小CC\n", 2000)
    assert normalizer.write("小甲") == "小CC"
    path.unlink()
    assert normalizer.write("小甲") == "小甲"


def test_a_bad_line_is_named_and_the_others_hold(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "rules.txt"
    write_rules(path, "没有箭头\n小甲 => 小A\n=> 空\nre: 三+ => 3\n", 1000)
    normalizer = RuleNormalizer(path)
    assert normalizer.write("小甲三三") == "小A三三"
    assert [(each.file, each.line) for each in normalizer.problems] == [
        ("rules.txt", 1),
        ("rules.txt", 3),
        ("rules.txt", 4),
    ]
    assert "file=rules.txt line=4 reason=regular expressions are switched off" in caplog.text


def test_patterns_when_they_are_switched_on(tmp_path: Path) -> None:
    path = tmp_path / "rules.txt"
    write_rules(path, "re: 第(.)代 => G\\1\nre: ( => x\nre: 甲 => \\2\nre: a* => b\n", 1000)
    normalizer = RuleNormalizer(path, allow_patterns=True)
    assert normalizer.write("第五代") == "G五"
    assert [each.line for each in normalizer.problems] == [2, 3]


def test_an_unreadable_or_huge_file_is_a_problem_and_no_fault(tmp_path: Path) -> None:
    normalizer = RuleNormalizer(tmp_path)
    assert normalizer.write("二十人") == "20人"
    assert [each.line for each in normalizer.problems] == [0]
    huge = tmp_path / "huge.txt"
    huge.write_bytes(b"#" * (MAX_FILE_BYTES + 1))
    assert RuleNormalizer(huge).problems == (RuleProblem("huge.txt", 0, "larger than 4 MB"),)


def test_bytes_that_are_no_text_do_no_harm(tmp_path: Path) -> None:
    path = tmp_path / "rules.txt"
    path.write_bytes(b"\xff\xfe => \x00\n\xe5\xb0 => a\n" + "小甲 => 小A\n".encode())
    assert RuleNormalizer(path).write("小甲") == "小A"


def test_a_mark_at_the_start_of_the_file_is_no_part_of_the_word() -> None:
    assert parse_rules("\ufeff小甲 => 小A", "x").edits("小甲")[0].written == "小A"


def test_threads_share_one_file(tmp_path: Path) -> None:
    path = tmp_path / "rules.txt"
    write_rules(path, "小甲 => 小A\n", 1000)
    normalizer = RuleNormalizer(path)
    seen: set[str] = set()

    def run() -> None:
        for _ in range(50):
            seen.add(normalizer.write("小甲有二十人"))

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    write_rules(path, "小甲 => 小B\n", 2000)
    for thread in threads:
        thread.join()
    assert seen <= {"小A有20人", "小B有20人", "小甲有20人"}
    assert normalizer.write("小甲") == "小B"
