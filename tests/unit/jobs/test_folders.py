"""Folders of the server: nothing outside the configured roots is seen or read."""

import os
from pathlib import Path

import pytest

from asr_core.errors import BatchError
from asr_core.jobs import folders
from asr_core.jobs.batch_model import ItemState
from asr_core.jobs.folders import Found, Selection, browse, natural_key, open_roots, walk
from tests.unit.jobs.office import Office, tree, write


@pytest.fixture
def root(tmp_path: Path) -> Path:
    path = tmp_path / "root"
    path.mkdir()
    return path


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    return write(tmp_path / "secret", a="密")


def reason(refused: pytest.ExceptionInfo[BatchError]) -> str:
    return str(refused.value.details["reason"])


def walked(root: Path, **words: object) -> dict[str, str]:
    return {found.relative: found.refusal for found in walk(root, Selection(**words))}


@pytest.mark.parametrize(
    "path",
    [
        "{tmp}/secret",
        "{tmp}/secret/a.wav",
        "{tmp}/not there",
        "{tmp}",
        "/",
        "/etc",
        "{tmp}/root/../secret",
        "{tmp}/root/inner/../../secret",
        "{tmp}/root-beside",
        "root",
        "../secret",
        "",
        "{tmp}/root/link",
        "{tmp}/root/link/deeper",
        "{tmp}/root/\0",
    ],
)
def test_a_path_outside_is_refused_whether_it_exists_or_not(
    tmp_path: Path, root: Path, secret: Path, path: str
) -> None:
    (root / "inner").mkdir()
    (root / "link").symlink_to(secret)
    (tmp_path / "root-beside").mkdir()
    roots = open_roots([root])
    with pytest.raises(BatchError) as refused:
        browse(Path(path.format(tmp=tmp_path)), roots)
    assert reason(refused) == "outside"


def test_without_roots_nothing_is_offered(root: Path) -> None:
    with pytest.raises(BatchError) as refused:
        browse(root, ())
    assert reason(refused) == "no_roots"


def test_roots_are_real_folders(tmp_path: Path, root: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(root)
    (tmp_path / "file").touch()
    roots = open_roots([tmp_path / "missing", link, root, tmp_path / "file"])
    assert [(one.path, one.name) for one in roots] == [(root.resolve(), "link")]


def test_a_view_lists_folders_and_counts_recordings_below(root: Path, secret: Path) -> None:
    write(root, a="甲", b__c="乙", b__d__e="丙丙")
    (root / "notes.txt").write_text("x", encoding="utf-8")
    (root / ".git").mkdir()
    (root / "2").mkdir()
    (root / "10").mkdir()
    (root / "out").symlink_to(secret)
    (root / "in").symlink_to(root / "b")
    roots = open_roots([root])
    view = browse(root, roots)
    assert [path.name for path in view.folders] == ["2", "10", "b", "in"]
    assert (view.parent, view.recordings, view.size_bytes, view.is_complete) == (None, 3, 12, True)
    inner = browse(root / "in", roots)
    assert (inner.path, inner.parent, inner.recordings) == (root / "b", root, 2)


def test_a_view_of_a_missing_folder_inside_says_so(root: Path) -> None:
    with pytest.raises(BatchError) as refused:
        browse(root / "gone", open_roots([root]))
    assert reason(refused) == "missing"


def test_a_view_of_a_huge_folder_stops_counting(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folders, "_MOST_COUNTED", 3)
    write(root, **{f"a{number}": "x" for number in range(9)})
    view = browse(root, open_roots([root]))
    assert not view.is_complete
    assert 0 < view.recordings < 9


def test_links_stay_inside_the_boundary(root: Path, secret: Path) -> None:
    write(root, a="甲", b__c="乙")
    (root / "file.wav").symlink_to(secret / "a.wav")
    (root / "folder").symlink_to(secret)
    (root / "fine.wav").symlink_to(root / "a.wav")
    (root / "broken.wav").symlink_to(root / "nothing")
    (root / "ring.wav").symlink_to(root / "ring.wav")
    assert walked(root, boundary=root) == {
        "a.wav": "",
        "b/c.wav": "",
        "broken.wav": "missing",
        "file.wav": "outside",
        "fine.wav": "",
        "folder": "outside",
        "ring.wav": "missing",
    }


def test_without_a_boundary_links_are_followed(root: Path, secret: Path) -> None:
    (root / "file.wav").symlink_to(secret / "a.wav")
    (root / "folder").symlink_to(secret)
    assert walked(root) == {"file.wav": "", "folder/a.wav": ""}


def test_a_folder_is_gone_into_once(root: Path) -> None:
    write(root, b__c="乙")
    (root / "b" / "up").symlink_to(root)
    (root / "same").symlink_to(root / "b")
    assert walked(root) == {"b/c.wav": ""}


def test_what_is_no_file_is_passed_over(root: Path) -> None:
    os.mkfifo(root / "pipe.wav")
    (root / "folder.wav").mkdir()
    assert walked(root) == {}


def test_a_file_is_found_where_it_really_is(root: Path) -> None:
    write(root, a="甲")
    (root / "b.wav").symlink_to("a.wav")
    found = list(walk(root, Selection()))
    assert [one.path for one in found] == [root / "a.wav"] * 2
    stat = (root / "a.wav").stat()
    assert found[0] == Found("a.wav", root / "a.wav", 3, stat.st_mtime_ns)


def test_a_folder_without_permission_is_told_and_stops_nothing(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(root, a="甲", b__c="乙", d="丙")
    real = os.scandir

    def scandir(path: Path):
        if Path(path).name == "b":
            raise PermissionError(13, "Permission denied")
        return real(path)

    monkeypatch.setattr(os, "scandir", scandir)
    assert walked(root) == {"a.wav": "", "b": "unreadable", "d.wav": ""}


def test_a_source_that_is_gone_is_an_error(root: Path) -> None:
    with pytest.raises(BatchError) as refused:
        list(walk(root / "gone", Selection()))
    assert reason(refused) == "missing"


@pytest.mark.parametrize(
    ("relative", "patterns", "taken"),
    [
        ("a.wav", (), True),
        ("a.M4A", (), True),
        ("a.txt", (), False),
        ("a.dat", (), False),
        ("a", (), False),
        ("a.pcm", (), False),
        ("b/a.wav", ("*.wav",), True),
        ("b/a.WAV", ("*.wav",), True),
        ("b/a.wav", ("b/*",), True),
        ("c/a.wav", ("b/*",), False),
        ("会议-1.mp3", ("会议-?.mp3",), True),
        ("a.mp3", ("*.wav", "*.mp3"), True),
        ("a.mp3", ("*.wav",), False),
    ],
)
def test_patterns(relative: str, patterns: tuple[str, ...], taken: bool) -> None:
    assert Selection(patterns=patterns).takes(relative) is taken


def test_headerless_pcm_is_taken_where_it_is_declared() -> None:
    assert Selection(raw=True).takes("a.pcm")


def test_numbers_sort_by_value() -> None:
    names = ["b", "A10", "a2", "a", "1", "会议10", "会议9"]
    assert sorted(names, key=natural_key) == ["1", "a", "a2", "A10", "b", "会议9", "会议10"]


def test_a_batch_reads_nothing_outside_its_root(tmp_path: Path, root: Path, secret: Path) -> None:
    write(root, a="甲")
    (root / "link.wav").symlink_to(secret / "a.wav")
    (root / "folder").symlink_to(secret)
    with Office(tmp_path / "home", root) as office:
        batch = office.finish(office.start(root, bound=True))
        assert office.states(batch) == {
            "a.wav": ItemState.DONE,
            "folder": ItemState.REFUSED,
            "link.wav": ItemState.REFUSED,
        }
        assert office.read == ["甲"]
        assert tree(root / "transcripts") == {"a.txt": "甲"}
        for words in (
            {"source": secret},
            {"source": root / "folder"},
            {"source": root, "output": secret},
            {"source": root, "output": root / "folder" / "out"},
            {"source": root, "output": Path("relative")},
        ):
            with pytest.raises(BatchError) as refused:
                office.start(bound=True, **words)
            assert reason(refused) == "outside"
    assert sorted(path.name for path in secret.iterdir()) == ["a.wav"]


def test_the_page_is_bound_and_nothing_is_offered_without_roots(tmp_path: Path, root: Path) -> None:
    with Office(tmp_path / "home") as office:
        assert office.desk.roots() == ()
        with pytest.raises(BatchError) as refused:
            office.start(root, bound=True)
        assert reason(refused) == "no_roots"


def test_names_that_are_no_text_are_transcribed(office: Office, source: Path) -> None:
    path = Path(os.fsdecode(os.fsencode(source) + b"/\xff\xfe.wav"))
    path.write_text("甲", encoding="utf-8")
    batch = office.run(source)
    (item,) = office.items(batch)
    assert (item.path, item.state) == ("??.wav", ItemState.DONE)
    assert list(tree(source / "transcripts").values()) == ["甲"]
    assert office.run(source).items == {ItemState.SKIPPED: 1}
