"""Versions: their order, and which belong together."""

from __future__ import annotations

import pytest

from asr_core.doctor.versions import (
    CANN_OF_MINDSPORE,
    HDK_OF_CANN,
    canns_of,
    major_minor,
    needed_hdk,
    version_key,
)


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("8.0.RC3", "8.0.0"),
        ("8.2.RC1.alpha003", "8.2.RC1.1"),
        ("8.0.0", "8.1.RC1"),
        ("24.1.RC3", "24.1.0"),
        ("24.1.0", "25.0.rc1"),
        ("25.0.rc1", "25.2.0"),
        ("9.0.0", "26.0.RC1"),
        ("7.5.0.1.129", "7.7.99"),
    ],
)
def test_the_order(older: str, newer: str) -> None:
    assert version_key(older) < version_key(newer)


def test_rc_is_the_same_in_capitals() -> None:
    assert version_key("25.3.RC1") == version_key("25.3.rc1")


@pytest.mark.parametrize(("cann", "hdk"), HDK_OF_CANN.items())
def test_known_pairs(cann: str, hdk: str) -> None:
    assert needed_hdk(cann) == hdk


@pytest.mark.parametrize(
    ("cann", "hdk"), [("8.5.2", "25.5.0"), ("8.0.1", "24.1.0"), ("12.0.0", ""), ("", "")]
)
def test_a_later_release_wants_what_its_line_wants(cann: str, hdk: str) -> None:
    assert needed_hdk(cann) == hdk


@pytest.mark.parametrize(
    ("mindspore", "canns"),
    [
        ("2.10.0", ("8.2", "8.3", "8.5", "9.0", "9.1")),
        ("2.7.1", ("8.3",)),
        ("2.6.0", ("8.1", "8.2")),
        ("2.1.0", ()),
        ("2.100.0", ()),
    ],
)
def test_mindspore(mindspore: str, canns: tuple[str, ...]) -> None:
    assert canns_of(mindspore) == canns


def test_every_cann_of_mindspore_has_a_driver() -> None:
    lines = {major_minor(cann) for cann in HDK_OF_CANN}
    assert {cann for canns in CANN_OF_MINDSPORE.values() for cann in canns} <= lines
