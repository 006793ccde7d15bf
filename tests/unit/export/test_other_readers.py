"""Every format is read by a program that others wrote."""

from __future__ import annotations

import io
import json
import re
import zipfile
from datetime import datetime, timezone
from pathlib import Path

import av
import pysubs2
import pytest
import srt
import webvtt
from docx import Document
from hypothesis import given, settings
from hypothesis import strategies as st
from pypdf import PdfReader

from asr_core.export import FORMATS, export
from asr_core.export.clean import one_line
from asr_core.export.cues import build_cues
from asr_core.export.options import ExportOptions
from asr_core.results import Sentence, Token, Transcript
from tests.unit.export.readers import pdf_text
from tests.unit.export.samples import meeting, sentence, transcript, transcripts

CREATED = datetime(2025, 3, 15, 14, 5, 9, tzinfo=timezone.utc)
FULL_WIDTH = str.maketrans("{}\\", "｛｝＼")
plain_text = st.text("今天我们ab1，😀مر", min_size=1, max_size=6)
plain = transcripts(plain_text)


def squeezed(text: str) -> str:
    return "".join(text.split())


@settings(max_examples=30, deadline=None)
@given(transcripts())
def test_srt_is_read_by_srt(made: Transcript) -> None:
    cues = build_cues(made, names=True)
    read = list(srt.parse(export(made, "srt", title="").decode()))
    milliseconds = [
        (round(one.start.total_seconds() * 1000), round(one.end.total_seconds() * 1000))
        for one in read
    ]
    assert milliseconds == [(cue.start_ms, cue.end_ms) for cue in cues]
    assert [one.index for one in read] == list(range(1, len(cues) + 1))
    assert [one.content.count("\n") + 1 for one in read] == [len(cue.lines) for cue in cues]


@settings(max_examples=30, deadline=None)
@given(plain)
def test_srt_keeps_plain_text(made: Transcript) -> None:
    read = srt.parse(export(made, "srt", title="").decode())
    assert [one.content for one in read] == [
        "\n".join(cue.lines) for cue in build_cues(made, names=True)
    ]


@settings(max_examples=30, deadline=None)
@given(transcripts(), st.booleans())
def test_vtt_is_read_by_webvtt(made: Transcript, words: bool) -> None:
    content = export(made, "vtt", title="", options=ExportOptions(words=words))
    read = webvtt.from_buffer(io.StringIO(content.decode()))
    cues = build_cues(made)
    assert [(one.start_in_seconds, one.end_in_seconds) for one in read] == [
        (cue.start_ms // 1000, cue.end_ms // 1000) for cue in cues
    ]
    assert [one.voice or "" for one in read] == [cue.speaker for cue in cues]


def test_vtt_tells_when_each_word_begins() -> None:
    tokens = (
        Token("用", 1000, 1200, 0.9),
        Token("GPU", 1200, 1700, 0.9),
        Token("server", 1900, 2400, 0.9, "。"),
    )
    made = transcript(Sentence(tokens, speaker="甲"))
    options = ExportOptions(words=True)
    assert export(made, "vtt", title="", options=options).decode() == (
        "WEBVTT\n\n00:00:01.000 --> 00:00:02.400\n"
        "<v 甲>用<00:00:01.200>GPU<00:00:01.900> server。\n"
    )


@settings(max_examples=40, deadline=None)
@given(transcripts())
def test_times_of_words_rise_inside_their_cue(made: Transcript) -> None:
    content = export(made, "vtt", title="", options=ExportOptions(words=True)).decode()
    for block, cue in zip(content.split("\n\n")[1:], build_cues(made), strict=True):
        shown = block.split("\n", 1)[1]
        times = [_ms(*found) for found in re.findall(r"<(\d\d):(\d\d):(\d\d)\.(\d{3})>", shown)]
        assert times == sorted(set(times))
        assert all(cue.start_ms < time < cue.end_ms for time in times)
        without = re.sub(r"<\d\d:[\d:.]+>|^<v [^>]*>", "", shown).rstrip("\n")
        escaped = "\n".join(cue.lines).replace("&", "&amp;").replace("<", "&lt;")
        assert without == escaped.replace(">", "&gt;")


def _ms(hours: str, minutes: str, seconds: str, rest: str) -> int:
    return ((int(hours) * 60 + int(minutes)) * 60 + int(seconds)) * 1000 + int(rest)


@settings(max_examples=30, deadline=None)
@given(transcripts())
def test_ass_is_read_by_pysubs2(made: Transcript) -> None:
    content = export(made, "ass", title="例会").decode("utf-8-sig")
    read = pysubs2.SSAFile.from_string(content, format_="ass")
    cues = build_cues(made, names=True)
    assert read.info["Title"] == "例会"
    assert [(one.start, one.end) for one in read] == [
        ((cue.start_ms + 5) // 10 * 10, (cue.end_ms + 5) // 10 * 10) for cue in cues
    ]
    assert [one.name for one in read] == [cue.speaker for cue in cues]
    for one, cue in zip(read, cues, strict=True):
        parts = [int(length) for length in re.findall(r"\{\\k(\d+)\}", one.text)]
        assert sum(parts) * 10 <= one.end - one.start
        assert one.plaintext == "\n".join(cue.lines).translate(FULL_WIDTH)


def test_karaoke_waits_where_nobody_speaks() -> None:
    tokens = (Token("你", 1000, 1200, 0.9), Token("好", 1500, 1800, 0.9, "。"))
    content = export(transcript(Sentence(tokens)), "ass", title="").decode("utf-8-sig")
    line = content.splitlines()[-1]
    assert line == ("Dialogue: 0,0:00:01.00,0:00:02.00,Default,,0,0,0,,{\\k20}你{\\k30}{\\k30}好。")


@pytest.mark.parametrize("name", ["srt", "vtt", "lrc", "ass"])
def test_a_player_decodes_every_subtitle(name: str, tmp_path: Path) -> None:
    made = transcript(
        sentence("你好，我们开始。", 1000, speaker="甲"), sentence("好的。", 4000, speaker="乙")
    )
    path = tmp_path / f"a.{name}"
    path.write_bytes(export(made, name, title="例会"))
    with av.open(path) as container:
        stream = container.streams.subtitles[0]
        packets = [packet for packet in container.demux(stream) if packet.pts is not None]
        texts = [part.dialogue.decode() for one in packets for part in one.decode()]
        times = [round(float(one.pts * one.time_base) * 1000) for one in packets]
    assert times == [1000, 4000]
    spoken = [re.sub(r"\{[^}]*\}", "", text) for text in texts]
    names = ["", ""] if name == "vtt" else ["甲：", "乙："]
    assert spoken == [f"{names[0]}你好，我们开始。", f"{names[1]}好的。"]


@settings(max_examples=20, deadline=None)
@given(transcripts())
def test_json_lines_hold_one_sentence_each(made: Transcript) -> None:
    content = export(made, "jsonl", title="").decode()
    lines = content.splitlines()
    assert content == "".join(f"{line}\n" for line in lines)
    whole = json.loads(export(made, "json", title=""))["sentences"]
    assert [json.loads(line) for line in lines] == whole


def test_text_with_times_without_speakers_as_it_was_said() -> None:
    made = transcript(*meeting().sentences, sentence("好。", 61_000, speaker="甲"))
    options = ExportOptions(times=True, speakers=False, form="spoken")
    assert export(made, "txt", title="", options=options).decode() == (
        "[00:00:01] 用户有二十六位，很满意。\n[00:00:05] 用Tinglu吧！\n[00:01:01] 好。\n"
    )


def test_data_keeps_everything_whatever_is_chosen() -> None:
    made = transcript(*meeting().sentences, sentence("好。", 61_000, speaker="甲"))
    options = ExportOptions(times=False, speakers=False, form="spoken", line_chars=8)
    for name in ("json", "jsonl", "csv", "tsv"):
        assert FORMATS[name].options == ()
        assert export(made, name, title="", options=options) == export(made, name, title="")


@pytest.mark.parametrize("name", [name for name, one in FORMATS.items() if "form" in one.options])
def test_formats_for_reading_heed_form_and_speakers(name: str) -> None:
    made = transcript(*meeting().sentences, sentence("好。", 61_000, speaker="甲"))
    usual = text_of(name, export(made, name, title=""))
    assert ("有26位" in usual, "二十六" in usual, "甲" in usual) == (True, False, True)
    options = ExportOptions(form="spoken", speakers=False)
    other = text_of(name, export(made, name, title="", options=options))
    assert ("有26位" in other, "二十六" in other, "甲" in other) == (False, True, False)


def text_of(name: str, content: bytes) -> str:
    if name == "pdf":
        return pdf_text(content).replace("・", "·")
    if name == "docx":
        return "\n".join(one.text for one in Document(io.BytesIO(content)).paragraphs)
    return re.sub(r"\{\\k\d+\}", "", content.decode())


@pytest.mark.parametrize("name", ["txt", "md", "docx", "pdf"])
@pytest.mark.parametrize("times", [True, False])
def test_formats_for_reading_show_times_on_request(name: str, times: bool) -> None:
    made = transcript(sentence("好。", 61_000))
    options = ExportOptions(times=times)
    shown = text_of(name, export(made, name, title="", options=options))
    assert ("00:01:01" in shown) is times
    assert "好。" in shown


@pytest.mark.parametrize("line_chars", [8, 12, 40])
def test_lines_of_subtitles_are_as_wide_as_is_chosen(line_chars: int) -> None:
    made = transcript(sentence("我们把模型都迁移到了新的芯片上延迟降了一半", step_ms=100))
    content = export(made, "srt", title="", options=ExportOptions(line_chars=line_chars))
    lines = [line for one in srt.parse(content.decode()) for line in one.content.split("\n")]
    assert "".join(lines) == made.sentences[0].text
    assert max(map(len, lines)) <= line_chars
    assert (len(lines) == 1) is (line_chars == 40)


@pytest.mark.parametrize("name", ["md", "docx", "pdf"])
def test_documents_tell_title_date_length_model_and_speakers(name: str) -> None:
    made = transcript(sentence("好。", speaker="甲"), sentence("对。", 2000, speaker="乙"))
    options = ExportOptions(title="第一季度")
    content = export(made, name, title="a.wav", options=options, created=CREATED)
    shown = squeezed(text_of(name, content))
    assert "第一季度" in shown
    assert "a.wav" not in shown
    facts = "日期：2025-03-15 14:05 · 时长：00:01:00 · 模型：whisper-base（cpu） · 说话人：甲、乙"
    assert squeezed(facts) in shown


def test_word_has_fonts_language_and_numbers_of_pages() -> None:
    content = export(meeting(), "docx", title="周会", created=CREATED)
    document = Document(io.BytesIO(content))
    section = document.sections[0]
    assert (round(section.page_width.mm), round(section.page_height.mm)) == (210, 297)
    assert document.core_properties.created.replace(tzinfo=timezone.utc) == CREATED
    with zipfile.ZipFile(io.BytesIO(content)) as bundle:
        footer = bundle.read("word/footer1.xml").decode()
        styles = bundle.read("word/styles.xml").decode()
    assert re.findall(r'w:instr="(\w+)"', footer) == ["PAGE", "NUMPAGES"]
    assert 'w:eastAsia="zh-CN"' in styles
    for style in ("Normal", "Heading1", "Footer"):
        fonts = re.search(rf'w:styleId="{style}".*?<w:rFonts ([^/]*)/>', styles, re.DOTALL)
        assert fonts is not None
        assert 'w:eastAsia="Microsoft YaHei"' in fonts[1]
        assert "Theme" not in fonts[1]


def test_pdf_has_as_many_pages_as_it_needs_each_with_its_number() -> None:
    made = transcript(*(sentence("今天的项目例会现在开始。", 3000 * n) for n in range(120)))
    reader = PdfReader(io.BytesIO(export(made, "pdf", title="周会")))
    assert len(reader.pages) == 4
    for number, page in enumerate(reader.pages, start=1):
        assert f"第 {number} 页" in page.extract_text()
        assert [round(float(side)) for side in page.mediabox[2:]] == [595, 842]
    assert reader.metadata is not None
    assert reader.metadata.title == "周会"


@settings(max_examples=20, deadline=None)
@given(transcripts(st.text("今天我们ab1，。", min_size=1, max_size=30)))
def test_pdf_holds_every_word(made: Transcript) -> None:
    shown = squeezed(pdf_text(export(made, "pdf", title="")))
    for one in made.sentences:
        assert squeezed(one_line(one.text)) in re.sub(r"第\d+页", "", shown)


def test_equal_transcripts_give_equal_pdf_files() -> None:
    assert export(meeting(), "pdf", title="周会") == export(meeting(), "pdf", title="周会")
