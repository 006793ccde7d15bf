"""What happens to results that lie in the output folder already, by mode and by whose they are."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from asr_core.jobs.batch_model import BatchRequest, ItemState
from asr_core.store.archive import Archive
from asr_core.transcription.options import TranscribeOptions
from tests.unit.jobs.office import Office, tree, write
from tests.waiting import wait_until

DONE, SKIPPED = ItemState.DONE, ItemState.SKIPPED


@dataclass(frozen=True)
class Case:
    """The second run over a.wav, whose results of the first run are ``甲``.

    Attributes:
        before: what happened in between: ``nothing``, ``new_content`` (the recording is another
            one), ``edited`` (the user corrected the text), ``foreign`` (there was no first run,
            the file is the user's), ``deleted`` (the result is gone), ``both`` (new content and
            edited).
        mode: of the second run.
        files: the output folder afterwards.
        state: of the file.
        note: of the file.
        read: how often the recognizer read a recording in all.
    """

    before: str
    mode: str
    files: dict[str, str]
    state: ItemState
    note: str
    read: int


CASES = [
    Case("nothing", "skip", {"a.txt": "甲"}, SKIPPED, "already_done", 1),
    Case("nothing", "overwrite", {"a.txt": "甲"}, DONE, "", 2),
    Case("nothing", "rename", {"a.txt": "甲", "a (2).txt": "甲"}, DONE, "renamed", 2),
    Case("new_content", "skip", {"a.txt": "新"}, DONE, "", 2),
    Case("new_content", "overwrite", {"a.txt": "新"}, DONE, "", 2),
    Case("new_content", "rename", {"a.txt": "甲", "a (2).txt": "新"}, DONE, "renamed", 2),
    Case("edited", "skip", {"a.txt": "改"}, SKIPPED, "already_done", 1),
    Case("edited", "overwrite", {"a.txt": "甲"}, DONE, "", 2),
    Case("edited", "rename", {"a.txt": "改", "a (2).txt": "甲"}, DONE, "renamed", 2),
    Case("both", "skip", {"a.txt": "改", "a (2).txt": "新"}, DONE, "renamed", 2),
    Case("both", "overwrite", {"a.txt": "新"}, DONE, "", 2),
    Case("foreign", "skip", {"a.txt": "我的", "a (2).txt": "甲"}, DONE, "renamed", 1),
    Case("foreign", "overwrite", {"a.txt": "甲"}, DONE, "", 1),
    Case("foreign", "rename", {"a.txt": "我的", "a (2).txt": "甲"}, DONE, "renamed", 1),
    Case("deleted", "skip", {"a.txt": "甲"}, DONE, "reused", 1),
    Case("deleted", "overwrite", {"a.txt": "甲"}, DONE, "", 2),
    Case("deleted", "rename", {"a.txt": "甲"}, DONE, "", 2),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.before}-{case.mode}")
def test_the_second_run(office: Office, source: Path, case: Case) -> None:
    write(source, a="甲")
    result = source / "transcripts" / "a.txt"
    if case.before == "foreign":
        result.parent.mkdir()
        result.write_text("我的", encoding="utf-8")
    else:
        office.run(source)
    if case.before in ("edited", "both"):
        result.write_text("改", encoding="utf-8")
    if case.before in ("new_content", "both"):
        (source / "a.wav").unlink()
        write(source, a="新")
    if case.before == "deleted":
        result.unlink()
    batch = office.run(source, on_existing=case.mode)
    (item,) = office.items(batch)
    assert tree(source / "transcripts") == case.files
    assert (item.state, item.note) == (case.state, case.note)
    assert len(office.read) == case.read
    (name,) = item.outputs
    assert name in case.files


def test_other_settings_make_results_outdated(office: Office, source: Path) -> None:
    write(source, a="甲")
    office.run(source)
    request = BatchRequest(TranscribeOptions(itn=False), source=source)
    batch = office.finish(office.desk.start(request, bound=False))
    assert batch.items == {DONE: 1}
    assert office.read == ["甲", "甲"]
    assert tree(source / "transcripts") == {"a.txt": "甲"}


def test_a_further_format_is_written_from_the_history(office: Office, source: Path) -> None:
    write(source, a="甲")
    office.run(source)
    (source / "transcripts" / "a.txt").write_text("改", encoding="utf-8")
    batch = office.run(source, formats=("txt", "md"))
    (item,) = office.items(batch)
    assert item.outputs == ("a.txt", "a.md")
    assert item.note == "reused"
    assert office.read == ["甲"]
    assert tree(source / "transcripts")["a.txt"] == "改"


def test_a_text_in_the_history_is_used_and_not_recognized_again(
    office: Office, source: Path, tmp_path: Path
) -> None:
    write(source, a="甲")
    office.run(source)
    other = write(tmp_path / "别处", copy="甲")
    batch = office.run(other)
    (item,) = office.items(batch)
    assert (item.state, item.note, item.outputs) == (DONE, "reused", ("copy.txt",))
    assert office.read == ["甲"]
    assert tree(other / "transcripts") == {"copy.txt": "甲"}
    assert Archive(office.database, office.settings.recordings).find().total == 1


def test_copies_are_recognized_once(office: Office, source: Path) -> None:
    write(source, a="慢甲", b__copy="慢甲", c="乙", d__copy="慢甲")
    batch = office.start(source)
    assert office.holding.wait(30)
    wait_until(lambda: len(office.items(batch)) == 4)
    assert [item.job_id != "" for item in office.items(batch)] == [True, False, True, False]
    office.release.set()
    assert office.finish(batch).items == {DONE: 4}
    assert office.read == ["慢甲", "乙"]
    assert [item.note for item in office.items(batch)] == ["", "reused", "", "reused"]
    assert tree(source / "transcripts") == {
        "a.txt": "慢甲",
        "b/copy.txt": "慢甲",
        "c.txt": "乙",
        "d/copy.txt": "慢甲",
    }


def test_a_copy_of_what_failed_is_tried_for_itself(office: Office, source: Path) -> None:
    write(source, a="bad", b="bad")
    batch = office.run(source)
    assert batch.items == {ItemState.FAILED: 2}


def test_a_copy_that_waits_is_cancelled_with_its_batch(office: Office, source: Path) -> None:
    write(source, a="慢甲", b="慢甲")
    batch = office.start(source)
    assert office.holding.wait(30)
    wait_until(lambda: len(office.items(batch)) == 2)
    office.desk.cancel(batch.id)
    wait_until(lambda: all(item.state.is_final for item in office.items(batch)))
    assert office.states(batch) == {"a.wav": ItemState.PARTIAL, "b.wav": ItemState.CANCELLED}
    office.release.set()
    office.desk.retry(batch.id)
    assert office.finish(batch).items == {DONE: 2}


def test_recordings_of_one_name_get_numbers_that_last(office: Office, source: Path) -> None:
    write(source, a="甲")
    (source / "a.mp3").write_text("乙", encoding="utf-8")
    first = office.run(source, formats=("txt", "srt"))
    assert {item.path: item.outputs for item in office.items(first)} == {
        "a.mp3": ("a.txt", "a.srt"),
        "a.wav": ("a (2).txt", "a (2).srt"),
    }
    assert [item.note for item in office.items(first)] == ["", "renamed"]
    again = office.run(source, formats=("txt", "srt"))
    assert again.items == {SKIPPED: 2}
    (source / "a.mp3").unlink()
    assert office.run(source, on_existing="overwrite").items == {DONE: 1}
    assert tree(source / "transcripts")["a.txt"] == "乙"  # its recording is gone, its text is not
    assert tree(source / "transcripts")["a (2).txt"] == "甲"


def test_a_name_stays_with_the_file_that_had_it_first(office: Office, source: Path) -> None:
    """The first file fails and is tried again after the second one has ended."""
    (source / "a.mp3").write_text("bad", encoding="utf-8")
    write(source, a="乙")
    batch = office.run(source)
    assert tree(source / "transcripts") == {"a (2).txt": "乙"}
    (source / "a.mp3").write_text("甲", encoding="utf-8")
    office.desk.retry(batch.id)
    office.finish(batch)
    assert tree(source / "transcripts") == {"a (2).txt": "乙", "a.txt": "甲"}


def test_two_sources_with_one_output_do_not_replace_each_other(
    office: Office, source: Path, tmp_path: Path
) -> None:
    output = tmp_path / "out"
    office.run(write(source, a="甲"), output=output)
    office.run(write(tmp_path / "别处", a="乙"), output=output)
    assert tree(output) == {"a.txt": "甲", "a (2).txt": "乙"}
    assert office.run(source, output=output).items == {SKIPPED: 1}


def test_a_folder_or_a_link_in_the_place_of_a_result_is_left_alone(
    office: Office, source: Path, tmp_path: Path
) -> None:
    output = source / "transcripts"
    (output / "a.txt").mkdir(parents=True)
    precious = tmp_path / "precious.txt"
    precious.write_text("重要", encoding="utf-8")
    (output / "b.txt").symlink_to(precious)
    write(source, a="甲", b="乙")
    office.run(source, on_existing="overwrite")
    assert precious.read_text(encoding="utf-8") == "重要"
    assert (output / "a (2).txt").read_text(encoding="utf-8-sig").strip() == "甲"
    assert (output / "b (2).txt").read_text(encoding="utf-8-sig").strip() == "乙"


def test_a_file_that_appears_while_the_recording_runs_is_not_replaced(
    office: Office, source: Path
) -> None:
    write(source, a="慢甲")
    batch = office.start(source)
    assert office.holding.wait(30)
    result = source / "transcripts" / "a.txt"
    result.write_text("我的", encoding="utf-8")
    office.release.set()
    office.finish(batch)
    assert tree(source / "transcripts") == {"a.txt": "我的", "a (2).txt": "慢甲"}
    assert office.items(batch)[0].note == "renamed"
