"""Whole tables of spoken and written lines."""

from __future__ import annotations

import functools
from pathlib import Path

import pytest

from asr_core.text.itn.normalizer import RuleNormalizer

HERE = Path(__file__).resolve().parent
SHARED = HERE.parents[3].parent / "shared" / "data" / "itn"


@functools.cache
def normalizer() -> RuleNormalizer:
    return RuleNormalizer()


def read_rows(path: Path) -> list[list[str]]:
    return [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()[1:]]


def shared_rows(name: str) -> list[list[str]]:
    path = SHARED / name
    if not path.is_file():
        pytest.skip(f"{path} is not on this machine")
    return read_rows(path)


def failures(rows: list[list[str]]) -> list[tuple[str, str, str]]:
    written = [(row[0], row[1], normalizer().write(row[0])) for row in rows]
    return [row for row in written if row[1] != row[2]]


def test_every_case_of_our_own() -> None:
    assert failures(read_rows(HERE / "cases_own.tsv")) == []


def test_own_cases_cover_every_class_and_are_many() -> None:
    rows = read_rows(HERE / "cases_own.tsv")
    assert len({row[0] for row in rows}) == len(rows) >= 500
    assert len({row[2] for row in rows}) >= 42


def test_cases_of_the_policy() -> None:
    rows = shared_rows("cases.tsv")
    wrong = failures(rows)
    assert [row for row in wrong if row[0] == row[1]] == []
    assert len(wrong) <= 0.03 * len(rows), wrong


def test_cases_of_other_projects_differ_where_the_policy_says_so() -> None:
    rows = shared_rows("cases_other_projects.tsv")
    known = {row[0] for row in read_rows(HERE / "other_projects_known.tsv")}
    wrong = failures(rows)
    assert {row[0] for row in wrong} == known
    assert len(wrong) <= 0.15 * len(rows)


def test_each_known_difference_names_a_rule() -> None:
    for spoken, reason in read_rows(HERE / "other_projects_known.tsv"):
        assert spoken
        assert reason.startswith("rule ")


def test_a_written_case_stays_as_it_is() -> None:
    rows = read_rows(HERE / "cases_own.tsv")
    again = [(row[1], normalizer().write(row[1])) for row in rows]
    assert [pair for pair in again if pair[0] != pair[1]] == []
