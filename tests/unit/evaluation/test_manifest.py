"""Lists of recordings are read as people write them, and refused by name and line."""

from __future__ import annotations

from pathlib import Path

import pytest

from asr_core.errors import ManifestError
from asr_core.evaluation.manifest import GivenText, Sample, read_manifest, read_texts
from asr_core.messages import LOCALES, describe, load_messages


def write(folder: Path, content: str | bytes) -> Path:
    path = folder / "清单.tsv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_all_columns_in_any_order(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        "\ufeffTag\taudio\tspoken\treference\tspeaker\r\n"
        "会议\tclips/a.wav\t二十五台\t25台。\t甲\r\n"
        "\r\n"
        "\tb.wav\r\n",
    )
    assert read_manifest(path) == (
        Sample("clips/a.wav", tmp_path / "clips/a.wav", "25台。", "二十五台", "甲", "会议"),
        Sample("b.wav", tmp_path / "b.wav", ""),
    )


def test_absolute_names_stay(tmp_path: Path) -> None:
    path = write(tmp_path, f"audio\treference\n{tmp_path}/x/a.wav\t好\n")
    assert read_manifest(path)[0].path == tmp_path / "x" / "a.wav"


@pytest.mark.parametrize(
    ("content", "reason", "line"),
    [
        ("", "empty", 1),
        ("audio\treference\n\n", "empty", 1),
        ("audio\ttext\na\tb\n", "columns", 1),
        ("audio,reference\na,b\n", "columns", 1),
        ("audio\treference\taudio\na\tb\tc\n", "columns", 1),
        ("audio\treference\na.wav\t好\n\t坏\n", "no_audio", 3),
        ("audio\treference\na.wav\t好\nb.wav\t好\tx\n", "cells", 3),
        ("audio\treference\na.wav\t好\n\na.wav\t坏\n", "twice", 4),
        ("audio\treference\na.wav\t好\n".encode() + b"b.wav\t\xff\n", "encoding", 3),
    ],
)
def test_what_is_wrong_is_named_with_its_line(
    tmp_path: Path, content: str | bytes, reason: str, line: int
) -> None:
    path = write(tmp_path, content)
    with pytest.raises(ManifestError) as caught:
        read_manifest(path)
    details = caught.value.details
    assert (details["reason"], details["line"], details["path"]) == (reason, line, str(path))
    for locale in LOCALES:
        assert f"error.manifest.{reason}" in load_messages(locale)
        assert str(path) in describe(caught.value, locale)
        assert str(line) in describe(caught.value, locale)


@pytest.mark.parametrize("name", ["没有.tsv", "."])
def test_a_list_that_cannot_be_read(tmp_path: Path, name: str) -> None:
    with pytest.raises(ManifestError) as caught:
        read_manifest(tmp_path / name)
    assert caught.value.details["reason"] == "unreadable"


SAMPLES = (Sample("a.wav", Path("a.wav"), "好"), Sample("b.wav", Path("b.wav"), "坏"))


def test_texts_that_exist_already(tmp_path: Path) -> None:
    path = write(tmp_path, "audio\ttext\tspoken\na.wav\t25\t二十五\nb.wav\t\n")
    assert read_texts(path, SAMPLES) == {
        "a.wav": GivenText("25", "二十五"),
        "b.wav": GivenText("", ""),
    }


def test_a_text_for_a_recording_that_is_not_evaluated(tmp_path: Path) -> None:
    path = write(tmp_path, "audio\ttext\nc.wav\t好\n")
    with pytest.raises(ManifestError, match=r"line 2: c\.wav"):
        read_texts(path, SAMPLES)
