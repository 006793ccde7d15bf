"""A converted folder appears whole, whoever else writes there."""

from __future__ import annotations

import errno
import fcntl
from pathlib import Path

import pytest

from asr_core.errors import ConvertError
from asr_core.models.convert_target import new_folder
from asr_core.models.graph_folder import GRAPHS_FILE


def made(target: Path, content: bytes = b"new", *, replace: bool = False) -> None:
    with new_folder(target, 0, replace=replace) as work:
        (work / GRAPHS_FILE).write_bytes(content)
        (work / "secret").write_bytes(b"x")
        (work / "secret").chmod(0o400)


def test_a_folder_gets_its_name_at_the_end(tmp_path: Path) -> None:
    target = tmp_path / "deep" / "out"
    with new_folder(target, 0, replace=False) as work:
        (work / GRAPHS_FILE).write_bytes(b"new")
        assert not target.exists()
    assert [path.name for path in target.parent.iterdir()] == ["out"]


def test_files_can_be_read_by_all_that_may_read_the_folder(tmp_path: Path) -> None:
    made(tmp_path / "out")
    expected = (tmp_path / "out").stat().st_mode & 0o666
    assert {path.stat().st_mode & 0o777 for path in (tmp_path / "out").iterdir()} == {expected}


def test_what_a_killed_conversion_left_is_cleared(tmp_path: Path) -> None:
    left = tmp_path / ".out.converting"
    (left / "tmp1").mkdir(parents=True)
    (left / "tmp1" / "encode.onnx").write_bytes(b"half")
    (left / "old.onnx").write_bytes(b"half")
    made(tmp_path / "out")
    assert {path.name for path in (tmp_path / "out").iterdir()} == {GRAPHS_FILE, "secret"}
    assert not left.exists()


def test_two_conversions_to_one_folder_do_not_meet(tmp_path: Path) -> None:
    target = tmp_path / "out"
    with new_folder(target, 0, replace=False) as work:
        (work / GRAPHS_FILE).write_bytes(b"first")
        with pytest.raises(ConvertError) as caught:
            made(target)
        assert caught.value.details == {"reason": "busy", "path": str(target)}
    assert (target / GRAPHS_FILE).read_bytes() == b"first"


def test_a_replacement_that_was_killed_between_its_steps_is_mended(tmp_path: Path) -> None:
    made(tmp_path / "out", b"old")
    (tmp_path / "out").rename(tmp_path / ".out.replaced")
    with pytest.raises(ConvertError, match="exists already"):
        made(tmp_path / "out")
    assert (tmp_path / "out" / GRAPHS_FILE).read_bytes() == b"old"
    made(tmp_path / "out", replace=True)
    assert (tmp_path / "out" / GRAPHS_FILE).read_bytes() == b"new"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_what_another_conversion_replaces_at_this_moment_is_left_to_it(tmp_path: Path) -> None:
    target, retired = tmp_path / "out", tmp_path / ".out.replaced"
    made(target, b"old")
    with new_folder(target, 0, replace=True) as work:
        (work / GRAPHS_FILE).write_bytes(b"new")
        # As between the two steps of a replacement.
        target.rename(retired)
        with pytest.raises(ConvertError) as caught:
            made(target, replace=True)
        assert caught.value.details["reason"] == "busy"
        assert (retired.is_dir(), target.exists()) == (True, False)
        retired.rename(target)
    assert (target / GRAPHS_FILE).read_bytes() == b"new"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_refused_conversion_leaves_nothing(tmp_path: Path) -> None:
    made(tmp_path / "out", b"old")
    with pytest.raises(ConvertError, match="exists already"):
        made(tmp_path / "out")
    (tmp_path / "out").rename(tmp_path / ".out.replaced")
    with pytest.raises(ConvertError, match="exists already"):
        made(tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize("ends", ["published", "cleared"])
def test_a_work_folder_whose_name_was_given_away_meanwhile_is_not_claimed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ends: str
) -> None:
    target, hidden = tmp_path / "out", tmp_path / ".out.converting"
    lock = fcntl.flock

    def late(descriptor: int, operation: int) -> None:
        """Another conversion ends before this one has its lock."""
        hidden.rename(target)
        if ends == "cleared":
            hidden.mkdir()
            (hidden / "theirs").write_bytes(b"x")
        lock(descriptor, operation)

    monkeypatch.setattr(fcntl, "flock", late)
    with pytest.raises(ConvertError) as caught:
        made(target)
    assert caught.value.details["reason"] == "busy"
    assert (hidden / "theirs").exists() == (ends == "cleared")


def test_an_empty_folder_may_be_there(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    made(tmp_path / "out")
    assert (tmp_path / "out" / GRAPHS_FILE).is_file()


def test_a_link_is_never_replaced(tmp_path: Path) -> None:
    made(tmp_path / "real")
    (tmp_path / "out").symlink_to(tmp_path / "real")
    with pytest.raises(ConvertError, match="left alone"):
        made(tmp_path / "out", replace=True)
    assert (tmp_path / "real" / GRAPHS_FILE).is_file()


@pytest.mark.parametrize(
    ("number", "reason"),
    [(errno.ENOSPC, "disk_full"), (errno.EDQUOT, "disk_full"), (errno.EIO, "storage")],
)
def test_a_disk_that_refuses_is_told(tmp_path: Path, number: int, reason: str) -> None:
    with (
        pytest.raises(ConvertError) as caught,
        new_folder(tmp_path / "out", 0, replace=False) as work,
    ):
        raise OSError(number, "refused", str(work / "x"))
    assert caught.value.details["reason"] == reason
    assert list(tmp_path.iterdir()) == []


def test_a_file_in_the_place_of_a_folder_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("mine", encoding="utf-8")
    for replace in (False, True):
        with pytest.raises(ConvertError):
            made(tmp_path / "out", replace=replace)
    assert (tmp_path / "out").read_text(encoding="utf-8") == "mine"
