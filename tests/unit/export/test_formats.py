"""Every format is read back by an independent reader and holds what was said."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path

import pytest
from docx import Document
from hypothesis import given, settings
from hypothesis import strategies as st

from asr_core.errors import ExportError
from asr_core.export import FORMATS, export, file_name
from asr_core.export.clean import one_line
from asr_core.export.cues import build_cues
from asr_core.export.registry import put_file
from asr_core.results import Transcript
from tests.unit.export.readers import pdf_text, read_lrc, read_srt, read_vtt
from tests.unit.export.samples import meeting, odd_text, sentence, transcript, transcripts


def test_twelve_formats() -> None:
    names = "txt srt vtt json jsonl lrc ass csv tsv md docx pdf"
    assert list(FORMATS) == names.split()
    assert all(writer.extension == name for name, writer in FORMATS.items())


def test_txt_is_one_sentence_a_line() -> None:
    assert export(meeting(), "txt", title="会议") == "用户有26位，很满意。\n用Tinglu吧！\n".encode()


def test_srt() -> None:
    assert export(meeting(), "srt", title="会议").decode() == (
        "1\n00:00:01,000 --> 00:00:03,000\n用户有26位，很满意。\n\n"
        "2\n00:00:05,000 --> 00:00:06,000\n用Tinglu吧！\n"
    )


def test_vtt_after_an_hour_with_escaped_text() -> None:
    late = transcript(sentence("甲<乙&", 3_661_001), duration_ms=4_000_000)
    assert export(late, "vtt", title="").decode() == (
        "WEBVTT\n\n01:01:01.001 --> 01:01:02.001\n甲&lt;乙&amp;\n"
    )


def test_lrc_counts_minutes_past_an_hour() -> None:
    late = transcript(sentence("好。", 6_000_120), duration_ms=7_000_000)
    assert export(late, "lrc", title="会[议]").decode() == "[ti:会［议］]\n[100:00.12]好。\n"


def test_json_is_the_published_schema() -> None:
    made = json.loads(export(meeting(), "json", title="会议"))
    sentences = made.pop("sentences")
    assert made == {
        "schema": 1,
        "text": "用户有26位，很满意。用Tinglu吧！",
        "spoken_text": "用户有二十六位，很满意。用Tinglu吧！",
        "duration_ms": 125000,
        "language": "zh",
        "model": {"name": "whisper-base", "backend": "ctranslate2 int8", "device": "cpu"},
        "processing_ms": 12345,
        "rtf": 0.0988,
        "coverage": {"speech_ms": 100000, "transcribed_ms": 98000, "gaps": [[7000, 9000]]},
        "warnings": [
            {"code": "gap", "message": "2 s of speech gave no text"},
            {"code": "truncated", "message": "damaged", "ranges": [[7000, 8000]]},
        ],
    }
    assert sentences[1] == {
        "text": "用Tinglu吧！",
        "spoken_text": "用Tinglu吧！",
        "start_ms": 5000,
        "end_ms": 6000,
        "confidence": 0.75,
        "tokens": [
            {"text": "用", "start_ms": 5000, "end_ms": 5200, "confidence": 0.5},
            {"text": "Tinglu", "start_ms": 5200, "end_ms": 5900, "confidence": 0.75},
            {"text": "吧", "start_ms": 5900, "end_ms": 6000, "confidence": 1.0},
        ],
    }


def read_table(content: bytes, delimiter: str) -> list[dict[str, str]]:
    assert content.startswith(b"\xef\xbb\xbf")
    text = content.decode("utf-8-sig")
    return list(csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter))


@pytest.mark.parametrize(("name", "delimiter"), [("csv", ","), ("tsv", "\t")])
def test_tables(name: str, delimiter: str) -> None:
    rows = read_table(export(meeting(), name, title="会议"), delimiter)
    assert rows[0] == {
        "start": "00:00:01",
        "end": "00:00:03",
        "speaker": "",
        "text": "用户有26位，很满意。",
        "spoken_text": "用户有二十六位，很满意。",
        "confidence": "0.9000",
        "start_ms": "1000",
        "end_ms": "3000",
    }
    assert len(rows) == 2


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "＝"])
def test_a_spreadsheet_never_sees_a_formula(start: str) -> None:
    made = transcript(sentence(f"{start}公式", speaker="@me"))
    (row,) = read_table(export(made, "csv", title=""), ",")
    assert row["text"] == f"'{start}公式"
    assert row["spoken_text"] == f"'{start}公式"
    assert row["speaker"] == "'@me"


def test_markdown_with_speakers() -> None:
    made = transcript(sentence("你|好。", 61_000, speaker="甲"))
    assert export(made, "md", title="会*议").decode() == (
        "# 会\\*议\n\n时长：00:01:00 · 模型：whisper-base（cpu） · 说话人：甲\n\n"
        "| 时间 | 说话人 | 内容 |\n| --- | --- | --- |\n| 00:01:01 | 甲 | 你\\|好。 |\n"
    )


def call() -> Transcript:
    """Two channels of a telephone call, three sentences."""
    return transcript(
        sentence("你好。", 0, speaker="声道1"),
        sentence("请讲。", 2000, speaker="声道2"),
        sentence("我想问一下。", 4000, speaker="声道2"),
    )


def test_text_tells_who_speaks_on_every_line() -> None:
    lines = ["声道1：你好。", "声道2：请讲。", "声道2：我想问一下。"]
    assert export(call(), "txt", title="").decode().splitlines() == lines
    times = ["00:00:00\t", "00:00:02\t", "00:00:04\t"]
    written = paragraphs(export(call(), "docx", title="通话"))[2:]
    assert written == [time + line for time, line in zip(times, lines, strict=True)]


def test_subtitles_tell_who_speaks_where_the_speaker_changes() -> None:
    shown = ["声道1：你好。", "声道2：请讲。", "我想问一下。"]
    srt = read_srt(export(call(), "srt", title=""))
    assert [cue.lines for cue in srt] == [(line,) for line in shown]
    assert [line for _, line in read_lrc(export(call(), "lrc", title=""))] == shown


def test_vtt_names_the_voice_of_every_cue() -> None:
    made = transcript(sentence("你好。", speaker="甲 <b> & 乙"))
    assert "\n<v 甲 &lt;b&gt; &amp; 乙>你好。\n" in export(made, "vtt", title="").decode()
    read = read_vtt(export(call(), "vtt", title=""))
    assert [(cue.speaker, cue.lines) for cue in read] == [
        ("声道1", ("你好。",)),
        ("声道2", ("请讲。",)),
        ("声道2", ("我想问一下。",)),
    ]


def test_tables_and_json_tell_who_speaks() -> None:
    speakers = ["声道1", "声道2", "声道2"]
    for name, delimiter in (("csv", ","), ("tsv", "\t")):
        rows = read_table(export(call(), name, title=""), delimiter)
        assert [row["speaker"] for row in rows] == speakers
    made = json.loads(export(call(), "json", title=""))
    assert [line["speaker"] for line in made["sentences"]] == speakers
    assert all(
        "speaker" not in line
        for line in json.loads(export(meeting(), "json", title=""))["sentences"]
    )


def paragraphs(content: bytes) -> list[str]:
    return [paragraph.text for paragraph in Document(io.BytesIO(content)).paragraphs]


def test_word() -> None:
    content = export(meeting(), "docx", title="周会")
    assert paragraphs(content) == [
        "周会",
        "时长：00:02:05 · 模型：whisper-base（cpu）",
        "00:00:01\t用户有26位，很满意。",
        "00:00:05\t用Tinglu吧！",
    ]
    assert Document(io.BytesIO(content)).core_properties.title == "周会"


def test_what_stands_around_the_text_is_in_the_language_of_the_reader() -> None:
    made = transcript(sentence("你好。", 0, speaker="甲"), sentence("好。", 900, speaker="乙"))
    facts = "Length: 00:01:00 · Model: whisper-base (cpu) · Speakers: 甲, 乙"
    lines = export(made, "md", title="A", locale="en").decode().splitlines()
    assert (lines[2], lines[4]) == (facts, "| Time | Speaker | Text |")
    word = export(made, "docx", title="A", locale="en")
    assert paragraphs(word)[1] == facts
    foot = Document(io.BytesIO(word)).sections[0].footer.paragraphs[0]._element
    assert foot.xpath("string(.)") == "APage 1 of 1"
    page = pdf_text(export(made, "pdf", title="A", locale="en"))
    assert facts.replace("·", "・") in page
    assert "Page 1" in page
    empty = export(transcript(), "docx", title="A", locale="en")
    assert paragraphs(empty)[-1] == "No speech was recognized."


@pytest.mark.parametrize("name", list(FORMATS))
def test_no_speech_is_a_valid_file(name: str) -> None:
    content = export(transcript(), name, title="静音")
    if name in ("txt", "srt", "jsonl"):
        assert content == b""
    elif name == "pdf":
        assert "没有识别到语音。" in pdf_text(content)
    elif name == "docx":
        assert paragraphs(content)[-1] == "没有识别到语音。"
    elif name == "json":
        assert json.loads(content)["sentences"] == []
    else:
        assert content.decode("utf-8-sig").strip()


@settings(max_examples=30, deadline=None)
@given(transcripts())
def test_subtitles_read_back(made: Transcript) -> None:
    cues = build_cues(made, names=True)
    expected = [(c.start_ms, c.end_ms, c.lines, c.speaker) for c in build_cues(made)]
    vtt = read_vtt(export(made, "vtt", title=""))
    assert [
        (c.start_ms, c.end_ms, tuple(shown_by_players(line) for line in c.lines)) for c in cues
    ] == [(c.start_ms, c.end_ms, c.lines) for c in read_srt(export(made, "srt", title=""))]
    assert [(c.start_ms, c.end_ms, c.lines, c.speaker) for c in vtt] == expected
    lrc = read_lrc(export(made, "lrc", title="题"))
    assert [start for start, _ in lrc] == [cue.start_ms // 10 * 10 for cue in cues]
    assert [text for _, text in lrc] == [
        re.sub(r"<(?=\d)", "＜", cue.text).replace("[", "［").replace("]", "］") for cue in cues
    ]


def shown_by_players(line: str) -> str:
    """What SubRip cannot hold stands in its full-width form."""
    line = re.sub(r"<(?=[A-Za-z/!])", "＜", line.replace("-->", "→"))
    return re.sub(r"\{(?=\\|[A-Za-z]:)", "｛", line)


@settings(max_examples=30, deadline=None)
@given(transcripts())
def test_documents_read_back(made: Transcript) -> None:
    spoken = [one_line(s.spoken_text) for s in made.sentences]
    for name, delimiter in (("csv", ","), ("tsv", "\t")):
        rows = read_table(export(made, name, title=""), delimiter)
        assert [row["spoken_text"].removeprefix("'") for row in rows] == [
            text.removeprefix("'") for text in spoken
        ]
        assert all(row["text"][:1] not in ("=", "+", "-", "@") for row in rows)
    written = [one_line(s.text) for s in made.sentences]
    lines = export(made, "txt", title="").decode().split("\n")
    assert [line.removeprefix("甲：") for line in lines[:-1]] == [
        text.removeprefix("甲：") for text in written
    ]
    markdown = export(made, "md", title="").decode()
    assert markdown.count("\n| 0") == len(made.sentences)
    tokens = [
        t["text"]
        for s in json.loads(export(made, "json", title=""))["sentences"]
        for t in s["tokens"]
    ]
    assert tokens == [_valid(t.text) for s in made.sentences for t in s.tokens]


def _valid(text: str) -> str:
    return text.encode("utf-8", errors="replace").decode()


@settings(max_examples=15, deadline=None)
@given(transcripts(), odd_text)
def test_word_reads_back(made: Transcript, title: str) -> None:
    read = paragraphs(export(made, "docx", title=title))
    assert read[0] == one_line(title)
    expected = [one_line(sentence.text) for sentence in made.sentences]
    shown = [re.sub(r"^\d\d:\d\d:\d\d\t(甲：)?", "", line) for line in read[2:]]
    assert shown == (expected or ["没有识别到语音。"])


@pytest.mark.parametrize(
    ("original", "expected"),
    [
        ("会议.m4a", "会议.srt"),
        ("C:\\录音\\周会.WAV", "周会.srt"),
        ("../../etc/passwd", "passwd.srt"),
        ("2025.12.15 例会", "2025.12.15 例会.srt"),
        ("a.tar.gz", "a.tar.srt"),
        ("", "transcript.srt"),
        ("...", "transcript.srt"),
        (".mp3", "transcript.srt"),
        ("a\0b\nc\u202ed.mp3", "abcd.srt"),
        ('<问>:"*?.wav', "问.srt"),
        ("CON.wav", "_CON.srt"),
        ("语" * 200 + ".wav", "语" * 83 + ".srt"),
    ],
)
def test_file_name(original: str, expected: str) -> None:
    assert file_name(original, "srt") == expected


@settings(deadline=None)
@given(st.one_of(st.text(), st.text("语/\\.\0 a:", max_size=300)), st.sampled_from(list(FORMATS)))
def test_any_name_gives_a_usable_one(original: str, name: str) -> None:
    made = file_name(original, name)
    assert made.endswith(f".{name}")
    assert len(made) > len(name) + 1
    assert len(made.encode()) <= 255
    assert not re.search(r'[/\\\x00-\x1f\x7f<>:"|?*]', made)
    assert not made.startswith((".", " "))


def test_an_unknown_format_is_named() -> None:
    with pytest.raises(ExportError, match="xlsx"):
        export(meeting(), "xlsx", title="")
    with pytest.raises(ExportError, match="xlsx"):
        file_name("a.wav", "xlsx")


def test_a_file_replaces_the_old_one_and_leaves_nothing_else(tmp_path: Path) -> None:
    target = tmp_path / "会议.txt"
    target.write_text("old", encoding="utf-8")
    assert put_file(b"new", target, replace=True)
    assert target.read_bytes() == b"new"
    assert not put_file(b"newer", target, replace=False)
    assert target.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [target]


def test_a_file_that_cannot_be_written_is_a_typed_error(tmp_path: Path) -> None:
    with pytest.raises(ExportError) as missing:
        put_file(b"", tmp_path / "none" / "a.txt", replace=True)
    assert missing.value.details["path"] == "a.txt"
    assert isinstance(missing.value.__cause__, OSError)
    folder = tmp_path / "b.txt"
    folder.mkdir()
    with pytest.raises(ExportError):
        put_file(b"", folder, replace=True)
    assert list(tmp_path.iterdir()) == [folder]
