"""Zip files from browsers: Chinese names, and everything an archive may try."""

import contextlib
import io
import stat
import struct
import zipfile
import zlib
from pathlib import Path

import hypothesis
import pytest
from hypothesis import strategies as st

from asr_core.errors import BatchError
from asr_core.jobs.archives import ArchiveLimits, is_archive, member_name, open_archive
from asr_core.jobs.batch_model import Batch, ItemState, Upload
from tests.unit.jobs.office import Office, parts
from tests.waiting import wait_until


def zip_of(path: Path, **members: bytes) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as bundle:
        for name, content in members.items():
            bundle.writestr(name, content)
    return path


def named(path: Path, raw: bytes, content: bytes = b"x") -> Path:
    """A zip whose one member has a name of these bytes and no UTF-8 flag: as Windows makes it."""
    placeholder = "n" * len(raw)
    zip_of(path, **{placeholder: content})
    path.write_bytes(path.read_bytes().replace(placeholder.encode(), raw))
    return path


def kind(path: Path, mode: int) -> Path:
    """A zip whose one member is a link, a device or the like."""
    with zipfile.ZipFile(path, "w") as bundle:
        info = zipfile.ZipInfo("a.wav")
        info.create_system = 3
        info.external_attr = (mode | 0o777) << 16
        bundle.writestr(info, "/etc/passwd")
    return path


def names(path: Path) -> list[str]:
    with open_archive(path, path.name) as archive:
        return [member.name for member in archive.members]


def refusal(path: Path, limits: ArchiveLimits | None = None) -> str:
    with pytest.raises(BatchError) as refused, open_archive(path, "档案.zip", limits):
        pass
    assert refused.value.details["path"] == "档案.zip"
    return str(refused.value.details["reason"])


@pytest.mark.parametrize("encoding", ["gbk", "gb18030", "utf-8"])
def test_names_without_the_flag_are_read_as_their_maker_meant(
    tmp_path: Path, encoding: str
) -> None:
    name = "项目例会/第１次会议（终稿）.wav"
    assert names(named(tmp_path / "a.zip", name.encode(encoding))) == [name]


def test_names_with_the_flag_are_utf_8(tmp_path: Path) -> None:
    assert names(zip_of(tmp_path / "a.zip", **{"会议/周一.wav": b"x"})) == ["会议/周一.wav"]


def test_a_name_in_no_known_encoding_is_still_a_name(tmp_path: Path) -> None:
    assert names(named(tmp_path / "a.zip", b"a\xff\xff.wav")) == ["a\xa0\xa0.wav"]


def test_the_extra_field_with_the_name_wins_where_it_fits() -> None:
    raw = "会议.wav".encode("gbk")
    name = "會議.wav".encode()
    for checksum, expected in ((zlib.crc32(raw), "會議.wav"), (1, "会议.wav")):
        info = zipfile.ZipInfo(raw.decode("cp437"))
        content = struct.pack("<BL", 1, checksum) + name
        info.extra = b"\x01\x00\x00\x00" + struct.pack("<HH", 0x7075, len(content)) + content
        assert member_name(info) == expected


def test_backslashes_are_folders(tmp_path: Path) -> None:
    assert names(named(tmp_path / "a.zip", b"b\\c.wav")) == ["b/c.wav"]


@pytest.mark.parametrize(
    "name",
    [
        *("../a.wav", "b/../../a.wav", "..", "b/..", "..\\a.wav", "b\\..\\..\\a.wav"),
        *("/a.wav", "//host/a.wav", "\\a.wav", "C:\\a.wav", "c:a.wav", "C:/a.wav"),
    ],
)
def test_names_that_lead_out_are_refused(tmp_path: Path, name: str) -> None:
    assert refusal(named(tmp_path / "a.zip", name.encode())) == "archive_unsafe"


def test_a_name_with_a_null_byte_is_refused(tmp_path: Path) -> None:
    assert refusal(named(tmp_path / "a.zip", b"a.wav\0.txt")) == "archive_unsafe"


@pytest.mark.parametrize("mode", [stat.S_IFLNK, stat.S_IFCHR, stat.S_IFIFO, stat.S_IFSOCK])
def test_links_and_devices_are_refused(tmp_path: Path, mode: int) -> None:
    assert refusal(kind(tmp_path / "a.zip", mode)) == "archive_unsafe"


def test_a_password_is_told(tmp_path: Path) -> None:
    path = zip_of(tmp_path / "a.zip", **{"a.wav": b"x"})
    content = bytearray(path.read_bytes())
    for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        content[content.index(signature) + offset] |= 1
    path.write_bytes(content)
    assert refusal(path) == "archive_protected"


@pytest.mark.parametrize("content", [b"", b"PK", b"no archive at all" * 100])
def test_what_is_no_archive_is_told(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.zip"
    path.write_bytes(content)
    assert refusal(path) == "archive"


def test_too_many_members_are_refused(tmp_path: Path) -> None:
    path = zip_of(tmp_path / "a.zip", **{f"{number}.wav": b"x" for number in range(4)})
    assert refusal(path, ArchiveLimits(members=3)) == "archive_too_large"
    with open_archive(path, "a.zip", ArchiveLimits(members=4)) as archive:
        assert len(archive.members) == 4


def test_a_bomb_is_refused_by_what_it_says(tmp_path: Path) -> None:
    path = zip_of(tmp_path / "a.zip", **{"a.wav": bytes(1_000_000)})
    assert refusal(path, ArchiveLimits(total_bytes=999_999)) == "archive_too_large"
    assert refusal(path, ArchiveLimits(harmless_bytes=500_000)) == "archive_too_large"


def test_a_bomb_that_lies_about_its_size_is_stopped(tmp_path: Path) -> None:
    """The list of contents states a byte for each of two members of a megabyte."""
    path = zip_of(tmp_path / "a.zip", **{"a.wav": bytes(1_000_000), "b.wav": bytes(1_000_000)})
    honest = struct.pack("<L", 1_000_000)
    path.write_bytes(path.read_bytes().replace(honest, struct.pack("<L", 1)))
    folder = tmp_path / "out"
    folder.mkdir()
    with open_archive(path, "a.zip", ArchiveLimits(harmless_bytes=1_500_000)) as archive:
        for member in archive.members:
            with pytest.raises(BatchError) as refused:
                archive.extract(member, folder)
            assert refused.value.details["reason"] in ("archive", "archive_too_large")
    assert list(folder.iterdir()) == []


def test_the_written_bytes_are_counted_over_all_members(tmp_path: Path) -> None:
    path = zip_of(tmp_path / "a.zip", **{"a.wav": bytes(600), "b.wav": bytes(600)})
    folder = tmp_path / "out"
    folder.mkdir()
    with open_archive(path, "a.zip", ArchiveLimits(harmless_bytes=1_200, ratio=0)) as archive:
        first, second = archive.members
        archive.extract(first, folder)
        archive.extract(second, folder)
        with pytest.raises(BatchError) as refused:
            archive.extract(first, folder)
    assert refused.value.details["reason"] == "archive_too_large"
    assert len(list(folder.iterdir())) == 2


def test_a_damaged_member_leaves_nothing(tmp_path: Path) -> None:
    path = zip_of(tmp_path / "a.zip", **{"a.wav": bytes(range(256)) * 40})
    content = bytearray(path.read_bytes())
    content[60] ^= 0xFF
    path.write_bytes(content)
    folder = tmp_path / "out"
    folder.mkdir()
    with open_archive(path, "a.zip") as archive, pytest.raises(BatchError) as refused:
        archive.extract(archive.members[0], folder)
    assert refused.value.details["reason"] == "archive"
    assert list(folder.iterdir()) == []


def test_a_member_gets_a_name_of_ours(tmp_path: Path) -> None:
    path = zip_of(tmp_path / "a.zip", **{"b/会议.WAV": b"1", "c.w v": b"2"})
    folder = tmp_path / "out"
    folder.mkdir()
    with open_archive(path, "a.zip") as archive:
        found = [archive.extract(member, folder) for member in archive.members]
    assert [file.parent for file in found] == [folder, folder]
    assert [file.suffix for file in found] == [".wav", ""]
    assert [file.read_bytes() for file in found] == [b"1", b"2"]


@hypothesis.given(
    st.lists(
        st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=30),
        min_size=1,
        max_size=4,
        unique=True,
    )
)
def test_no_name_is_ever_a_way_out(written: list[str]) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as bundle:
        for name in written:
            bundle.writestr(zipfile.ZipInfo(name), b"x")
    buffer.seek(0)
    # A refused archive shows nothing at all.
    found: list[str] = []
    with contextlib.suppress(BatchError), open_archive(buffer, "a.zip") as archive:
        found = [member.name for member in archive.members]
    for name in found:
        assert not name.startswith("/")
        assert ".." not in name.split("/")
        assert "\\" not in name


def test_archives_are_known_by_name_or_content(tmp_path: Path) -> None:
    real = zip_of(tmp_path / "upload", **{"a.wav": b"x"})
    plain = tmp_path / "plain"
    plain.write_bytes(b"RIFF")
    assert is_archive(real, "录音")
    assert is_archive(plain, "录音.ZIP")
    assert not is_archive(plain, "录音.wav")


def sent(office: Office, *uploads: Upload) -> Batch:
    return office.finish(office.start(uploads=uploads))


def test_files_that_were_sent_are_downloaded_as_one_archive(office: Office, tmp_path: Path) -> None:
    first = tmp_path / "upload-1"
    first.write_text("甲", encoding="utf-8")
    second = zip_of(
        tmp_path / "upload-2",
        **{
            "周一/a.wav": "乙".encode(),
            "a.wav": b"bad",
            "readme.txt": b"no recording",
            "__MACOSX/a.wav": b"",
            ".b.wav": b"",
            "inner.zip": b"PK",
        },
    )
    batch = sent(office, Upload(first, "会议.m4a"), Upload(second, "录音.zip"))
    assert (batch.name, batch.source, batch.output) == ("会议.m4a", None, None)
    assert office.states(batch) == {
        "会议.m4a": ItemState.DONE,
        "录音/周一/a.wav": ItemState.DONE,
        "录音/a.wav": ItemState.FAILED,
    }
    with zipfile.ZipFile(office.desk.archive(batch.id, ("txt",))) as bundle:
        assert sorted(bundle.namelist()) == ["summary.csv", "会议.txt", "录音/周一/a.txt"]
    # The sender's files are not needed, ours are kept as recordings, and nothing else is left.
    wait_until(lambda: not list((office.settings.home / "inbox").iterdir()))
    assert len(list(office.settings.recordings.iterdir())) == 3
    assert parts(office.settings.home) == []


def test_sent_files_are_ours_from_the_moment_they_arrive(tmp_path: Path) -> None:
    upload = tmp_path / "upload"
    upload.write_text("甲", encoding="utf-8")
    office = Office(tmp_path / "home")
    office.prepare()
    batch = office.start(uploads=(Upload(upload, "会议.wav"),))
    office.close()
    upload.unlink()
    with office:
        assert office.finish(batch).items == {ItemState.DONE: 1}


def test_an_archive_is_gone_on_with_after_a_restart(tmp_path: Path) -> None:
    upload = zip_of(
        tmp_path / "upload", **{f"{name}.wav": name.encode() for name in ("甲", "乙", "丙")}
    )
    office = Office(tmp_path / "home")
    office.prepare()
    batch = office.start(uploads=(Upload(upload, "a.zip"),))
    office.open(run=False)
    wait_until(lambda: len(office.items(batch)) == 3)
    office.store.remove_item(batch.id, 3)
    office.store.set_planned(batch.id, False)
    office.close()
    with office:
        assert office.finish(batch).items == {ItemState.DONE: 3}
        assert [item.path for item in office.items(batch)] == [
            *("a/丙.wav", "a/乙.wav", "a/甲.wav"),
        ]
        # The first job of 甲 may have ended before the file is taken again: then its text serves.
        assert sorted(set(office.read)) == sorted(["甲", "乙", "丙"])
        assert len(office.read) in (3, 4)


def test_a_bad_archive_is_refused_before_anything_is_kept(office: Office, tmp_path: Path) -> None:
    bad = named(tmp_path / "upload", b"../a.wav")
    with pytest.raises(BatchError) as refused:
        office.start(uploads=(Upload(bad, "a.zip"),))
    assert refused.value.details["reason"] == "archive_unsafe"
    with pytest.raises(BatchError) as refused:
        office.start(uploads=(Upload(tmp_path / "gone", "a.wav"),))
    assert refused.value.details["reason"] == "missing"
    assert office.desk.recent() == ()
    assert not (office.settings.home / "inbox").exists()


def test_a_damaged_member_costs_only_itself(office: Office, tmp_path: Path) -> None:
    path = zip_of(tmp_path / "a.zip", **{"a.wav": bytes(range(256)) * 40, "b.wav": b"\xe4\xb9\x99"})
    content = bytearray(path.read_bytes())
    content[60] ^= 0xFF
    path.write_bytes(content)
    batch = sent(office, Upload(path, "a.zip"))
    assert office.states(batch) == {"a/a.wav": ItemState.FAILED, "a/b.wav": ItemState.DONE}
    assert office.items(batch)[0].error_details["reason"] == "archive"


@pytest.mark.parametrize("name", ["../../etc/a.wav", "/etc/a.wav", "..\\a.wav", "a.wav"])
def test_the_name_of_a_sent_file_is_only_a_name(office: Office, tmp_path: Path, name: str) -> None:
    upload = tmp_path / "upload"
    upload.write_text("甲", encoding="utf-8")
    output = tmp_path / "out"
    batch = office.finish(office.start(uploads=(Upload(upload, name),), output=output))
    (item,) = office.items(batch)
    assert item.path in ("a.wav", "etc/a.wav")
    assert [path.name for path in output.rglob("*.txt")] == ["a.txt"]
