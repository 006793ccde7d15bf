import errno
import hashlib
import os
import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asr_core.errors import AudioDecodeError, RecordNotFoundError, StoreError
from asr_core.store import recordings
from asr_core.store.database import Database
from asr_core.store.history import History
from asr_core.store.process import own_tag
from asr_core.transcription.options import TranscribeOptions
from tests.unit.store.build import recording


def _columns(database: Database, recording_id: str) -> dict[str, object]:
    sql = "SELECT * FROM recordings WHERE id = ?"
    return database.read(lambda db: next(iter(db.query(sql, [recording_id]))))


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "周会 录音.MP3"
    path.write_bytes(b"ID3 content" * 1000)
    return path


def test_a_kept_copy_survives_the_original(history: History, source: Path, folder: Path) -> None:
    recording_id = recording(history, source)
    content = source.read_bytes()
    source.unlink()
    kept = history.recording_path(recording_id)
    assert kept == folder / f"{recording_id}.mp3"
    assert kept.read_bytes() == content
    assert [path.name for path in folder.iterdir()] == [kept.name]


def test_size_and_hash_are_those_of_the_content(
    history: History, database: Database, source: Path
) -> None:
    content = source.read_bytes()
    for keep in ("copy", "none"):
        row = _columns(database, recording(history, source, keep=keep))
        assert row["size_bytes"] == len(content)
        assert row["sha256"] == hashlib.sha256(content).hexdigest()


def test_without_a_copy_only_the_path_is_remembered(
    history: History, database: Database, source: Path, folder: Path
) -> None:
    recording_id = recording(history, source, keep="none")
    row = _columns(database, recording_id)
    assert row["stored_name"] is None
    assert row["original_path"] == str(source)
    assert history.recording_path(recording_id) is None
    assert not folder.exists()


def test_a_copy_is_made_where_links_are_impossible(
    history: History, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*args: object) -> None:
        raise OSError(errno.EXDEV, "Invalid cross-device link")

    monkeypatch.setattr(os, "link", refuse)
    kept = history.recording_path(recording(history, source))
    assert kept is not None
    assert kept.read_bytes() == source.read_bytes()
    assert not kept.samefile(source)


def test_the_copy_of_a_link_is_what_the_link_points_to(
    history: History, source: Path, tmp_path: Path
) -> None:
    link = tmp_path / "link.wav"
    link.symlink_to(source)
    kept = history.recording_path(recording(history, link))
    assert kept is not None
    assert not kept.is_symlink()
    assert kept.read_bytes() == source.read_bytes()


@pytest.mark.parametrize(
    ("name", "suffix"),
    [
        ("a.wav", ".wav"),
        ("a.M4A", ".m4a"),
        ("a.tar.gz", ".gz"),
        ("a", ""),
        (".wav", ""),
        ("a.录音", ""),
        ("a.w v", ""),
        ("a.verylongsuffix", ""),
        ("a.w;v", ""),
        ("a.peaks", ""),
        ("a.PEAKS", ""),
    ],
)
def test_only_a_plain_short_suffix_is_kept(name: str, suffix: str) -> None:
    assert recordings.stored_name(Path(name), "0" * 32) == "0" * 32 + suffix


@pytest.mark.parametrize("keep", ["copy", "none"])
def test_a_missing_file_is_named_by_its_name(
    history: History, tmp_path: Path, folder: Path, keep: str
) -> None:
    with pytest.raises(AudioDecodeError) as caught:
        history.add_recording(tmp_path / "没有.wav", name="没有.wav", origin="file", keep=keep)
    assert caught.value.details == {"path": "没有.wav", "reason": "missing"}
    assert not folder.exists() or not list(folder.iterdir())


def test_a_folder_is_not_a_recording(history: History, tmp_path: Path, folder: Path) -> None:
    with pytest.raises(AudioDecodeError) as caught:
        history.add_recording(tmp_path, name="x", origin="file", keep="copy")
    assert caught.value.details["reason"] == "unreadable"
    assert list(folder.iterdir()) == []


def test_a_folder_that_cannot_be_used_is_a_fault_of_the_store(
    history: History, source: Path, folder: Path
) -> None:
    folder.write_text("in the way")
    with pytest.raises(StoreError) as caught:
        recording(history, source)
    assert caught.value.details["path"] == str(folder)


def test_a_refused_row_leaves_no_file(
    history: History, database: Database, source: Path, folder: Path
) -> None:
    database.close()
    with pytest.raises(StoreError):
        recording(history, source)
    assert list(folder.iterdir()) == []


def test_an_unknown_recording_is_named(history: History) -> None:
    with pytest.raises(RecordNotFoundError) as caught:
        history.recording_path("0" * 32)
    assert caught.value.details == {"id": "0" * 32}


@pytest.mark.parametrize(
    ("given_name", "shown"),
    [
        ("周会 2025-07.wav", "周会 2025-07.wav"),
        ("  a\tb\n.wav ", "ab.wav"),
        ("../../etc/passwd", "....etcpasswd"),
        ("C:\\录音\\a.wav", "C:录音a.wav"),
        ("e\u0301.wav", "e\u0301.wav"),
        ("\udce4.wav", ".wav"),
        ("", "recording"),
        ("..", "recording"),
        ("/\0\\", "recording"),
    ],
)
def test_names_are_cleaned(given_name: str, shown: str) -> None:
    assert recordings.clean_name(given_name) == shown


@given(st.text(st.characters(), max_size=400))
def test_any_name_becomes_one_that_can_be_shown(name: str) -> None:
    shown = recordings.clean_name(name)
    assert 0 < len(shown) <= 255
    assert shown.encode("utf-8")
    assert not set(shown) & {"/", "\\", "\0", "\n"}
    assert all(unicodedata.category(char) != "Cc" for char in shown)
    assert recordings.clean_name(shown) == shown


def _dead_tag() -> str:
    code = "from asr_core.store.process import own_tag; print(own_tag())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_recovery_clears_what_nobody_knows_and_nothing_else(
    history: History, source: Path, folder: Path
) -> None:
    recording_id = recording(history, source)
    history.add_job(recording_id, TranscribeOptions())
    reused_pid = f"{os.getppid()}-0"
    for name in [
        f"{'1' * 32}.{_dead_tag()}.part",
        f"{'2' * 32}.{own_tag()}.part",
        f"{'3' * 32}..part",
        f"{'4' * 32}.{reused_pid}.part",
        f"{'5' * 32}.wav",
        f"{'5' * 32}.peaks",
        f"{recording_id}.peaks.{'7' * 32}.part",
        f"{recording_id}.peaks",
        "6" * 32,
        "notes.txt",
    ]:
        (folder / name).write_bytes(b"")
    history.recover_interrupted()
    left = {path.name for path in folder.iterdir()}
    assert left == {f"{recording_id}.mp3", f"{recording_id}.peaks", "notes.txt"}


def test_recovery_spares_what_a_living_process_is_writing(history: History, folder: Path) -> None:
    code = (
        "import sys; from asr_core.store.process import own_tag;"
        "print(own_tag(), flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        tag = other.stdout.readline().strip()
        if not tag:
            pytest.skip("the system does not tell processes apart (no /proc)")
        folder.mkdir()
        path = folder / f"{'1' * 32}.{tag}.part"
        path.write_bytes(b"")
        history.recover_interrupted()
        assert path.exists()
        other.communicate()
    history.recover_interrupted()
    assert not path.exists()


def test_peaks_lie_beside_the_recording_and_go_with_it(
    history: History, source: Path, folder: Path
) -> None:
    recording_id = recording(history, source)
    peaks = history.peaks_path(recording_id)
    assert peaks == folder / f"{recording_id}.peaks"
    peaks.write_bytes(b"peaks")
    history.delete([recording_id])
    assert list(folder.iterdir()) == []


def test_a_recording_without_peaks_is_deleted_as_well(
    history: History, source: Path, folder: Path
) -> None:
    history.delete([recording(history, source)])
    assert list(folder.iterdir()) == []


def test_what_is_not_kept_has_no_place_for_peaks(history: History, source: Path) -> None:
    assert history.peaks_path(recording(history, source, keep="none")) is None
    with pytest.raises(RecordNotFoundError):
        history.peaks_path("0" * 32)


def test_a_recording_that_is_called_like_peaks_is_never_taken_for_them(
    history: History, database: Database, source: Path
) -> None:
    recording_id = recording(history, source.rename(source.with_suffix(".peaks")))
    kept = history.recording_path(recording_id)
    assert kept is not None
    assert history.peaks_path(recording_id) != kept
    sql = "UPDATE recordings SET stored_name = ? WHERE id = ?"
    database.write(lambda db: db.execute(sql, [f"{recording_id}.peaks", recording_id]))
    assert history.peaks_path(recording_id) is None


def test_recordings_that_never_got_a_job_are_cleared_after_an_hour(
    history: History, database: Database, source: Path, folder: Path
) -> None:
    old, new = recording(history, source), recording(history, source)
    sql = "UPDATE recordings SET created_ms = created_ms - 3600001 WHERE id = ?"
    database.write(lambda db: db.execute(sql, [old]))
    history.recover_interrupted()
    assert [path.name for path in folder.iterdir()] == [f"{new}.mp3"]
    assert history.recording_path(new) is not None
    with pytest.raises(RecordNotFoundError):
        history.recording_path(old)
