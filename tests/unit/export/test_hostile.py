"""Names and texts that try to be something else, and texts that nobody expects."""

from __future__ import annotations

import csv
import io
import json
import re
import zipfile
from xml.etree import ElementTree

import pysubs2
import pytest
import srt
import webvtt
from docx import Document
from hypothesis import given, settings
from hypothesis import strategies as st

from asr_core.export import FORMATS, export
from asr_core.export.data import plain_cell
from asr_core.export.options import ExportOptions
from asr_core.results import Sentence, Token, Transcript
from tests.unit.export.readers import pdf_text
from tests.unit.export.samples import transcript

SCRIPT = "<script>alert(1)</script>"
IMAGE = "<img src=x onerror=alert(1)>"
LINK = "[点我](javascript:alert(1))"


def said(text: str, speaker: str = "") -> Transcript:
    return transcript(Sentence((Token(text, 1000, 2000, 0.9),), speaker=speaker))


def test_markdown_shows_markup_instead_of_obeying_it() -> None:
    made = said(f"{SCRIPT}{LINK}|`x`", f"{IMAGE}|")
    lines = export(made, "md", title=f"{SCRIPT}\n# 第二个").decode().splitlines()
    assert lines[0] == r"# \<script\>alert(1)\</script\> \# 第二个"
    (row,) = [line for line in lines if line.startswith("| 00:")]
    assert len(re.findall(r"(?<!\\)\|", row)) == 4
    for line in lines:
        assert not re.search(r"(?<!\\)[<\[`]", line)


@pytest.mark.parametrize("text", ["- 一", "+ 一", "=== 一", "1. 一", "12) 一", "# 一", "> 一"])
def test_a_paragraph_of_markdown_begins_nothing_else(text: str) -> None:
    options = ExportOptions(times=False, speakers=False)
    line = export(said(text), "md", title="", options=options).decode().splitlines()[4]
    assert re.match(r"\d*\\", line)
    assert line.replace("\\", "") == text


def test_vtt_shows_tags_as_text() -> None:
    made = said(f"{SCRIPT}&<c.red>--><00:00:01.500>", "<b>&甲>")
    for words in (False, True):
        content = export(made, "vtt", title="", options=ExportOptions(words=words)).decode()
        (cue,) = webvtt.from_buffer(io.StringIO(content))
        assert content.count("-->") == 1
        assert re.findall(r"<[^>]*>", content) == ["<v &lt;b&gt;&amp;甲&gt;>"]
        assert (cue.start_in_seconds, cue.end_in_seconds) == (1, 2)


def test_srt_shows_tags_as_text() -> None:
    made = said(f"{SCRIPT}{{\\an8}}{{y:i}}-->x", "<font color=red>")
    (cue,) = srt.parse(export(made, "srt", title="").decode())
    shown = cue.content
    assert not re.search(r"<[A-Za-z/]|\{\\|\{[a-z]:|-->", shown)
    plain = shown.replace("＜", "<").replace("｛", "{").replace("→", "-->")
    assert plain.replace("\n", "") == f"<font color=red>：{SCRIPT}{{\\an8}}{{y:i}}-->x"


def test_ass_has_no_override_but_our_own() -> None:
    made = said("{\\b1}粗{\\p1}m 0 0{\\p0}\\N\\h尾", "甲,{\\i1}\n乙")
    content = export(made, "ass", title="题\n[Events]\nDialogue: 0").decode("utf-8-sig")
    (event,) = pysubs2.SSAFile.from_string(content, format_="ass")
    assert re.findall(r"\{.*?\}", event.text) == [r"{\k100}"]
    assert event.plaintext == "甲,｛＼i1｝ 乙：｛＼b1｝粗｛＼p1｝m 0 0｛＼p0｝＼N＼h尾"
    assert event.name == "甲，｛＼i1｝ 乙"
    assert content.count("\n[Events]\n") == 1


def test_lrc_has_no_tag_but_our_own() -> None:
    made = said("[00:09.00]<00:01.00>[ar:x]")
    content = export(made, "lrc", title="[al:x]").decode()
    assert content == "[ti:［al:x］]\n[00:01.00]［00:09.00］＜00:01.00>［ar:x］\n"


def test_word_holds_markup_as_text() -> None:
    made = said(f"{SCRIPT}&amp;</w:t></w:r>", IMAGE)
    content = export(made, "docx", title=SCRIPT)
    document = Document(io.BytesIO(content))
    assert document.paragraphs[0].text == SCRIPT
    assert document.paragraphs[2].text == f"00:00:01\t{IMAGE}：{SCRIPT}&amp;</w:t></w:r>"
    with zipfile.ZipFile(io.BytesIO(content)) as bundle:
        names = bundle.namelist()
        xml = bundle.read("word/document.xml")
    assert not any("vba" in name.lower() or "ole" in name.lower() for name in names)
    tags = {element.tag.rsplit("}")[-1] for element in ElementTree.fromstring(xml).iter()}  # noqa: S314
    assert "hyperlink" not in tags
    assert "script" not in tags


def test_pdf_holds_markup_as_text_and_nothing_that_acts() -> None:
    content = export(said(f"{SCRIPT}(\\) Tj", IMAGE), "pdf", title=f"{SCRIPT})")
    assert f"{IMAGE}：{SCRIPT}(\\) Tj" in pdf_text(content)
    assert not re.search(rb"/(JavaScript|JS|OpenAction|AA|URI|Launch|EmbeddedFile)\b", content)


@pytest.mark.parametrize(
    "text",
    [
        "=1+1",
        "=HYPERLINK(A1)",
        "+1",
        "-5",
        "@SUM(A1)",
        "＝1",
        "－5",
        "13800138000",
        "010-88886666",
        "+86 138 0013 8000",
        "007",
        "3-5",
        "1/2",
        "2025年3月15日",
        "3月5日",
        "12:30",
        "5%",
        "￥100",
        "1E5",
        "(5)",
        "MAR1",
        "1 May",
        "true",
        "１２３",
    ],
)
def test_a_cell_stays_text(text: str) -> None:
    assert plain_cell(text) == f"'{text}"


@pytest.mark.parametrize("text", ["", "好", "3号楼", "5个", "a=1", "E5服务器", "上午", "e", "'好"])
def test_a_cell_that_is_text_already_is_left_alone(text: str) -> None:
    assert plain_cell(text) == text


def test_a_month_again_and_again_is_looked_at_once() -> None:
    """With two ways to read each of them a single cell would never be done."""
    months = "1 " + "june may sept " * 5_000
    assert plain_cell(months) == f"'{months.strip()}"
    assert plain_cell(months + "x") == months + "x"


@pytest.mark.parametrize(("name", "delimiter"), [("csv", ","), ("tsv", "\t")])
def test_tables_have_one_row_a_sentence_whatever_it_holds(name: str, delimiter: str) -> None:
    made = said('a"b,c\td\r\n=1\n', '=cmd|"/c calc"!A1')
    content = export(made, name, title="")
    assert content.startswith(b"\xef\xbb\xbfstart")
    assert content.count(b"\n") == content.count(b"\r\n") == 2
    text = content.decode("utf-8-sig")
    rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))
    assert [len(row) for row in rows] == [8, 8]
    assert rows[1][2:4] == ['\'=cmd|"/c calc"!A1', 'a"b,c d =1']


LONG = "长" * 500_000 + "x" * 500_000


@pytest.mark.parametrize("name", list(FORMATS))
def test_a_megabyte_without_a_space_is_kept_whole(name: str) -> None:
    content = export(said(LONG), name, title="长")
    if name == "pdf":
        shown = re.sub(r"\s|长?第 ?\d+ ?页", "", pdf_pages(content, 3))
        assert shown.count("长") > 2000
        return
    if name == "docx":
        shown = Document(io.BytesIO(content)).paragraphs[2].text
    else:
        shown = content.decode("utf-8-sig")
    assert LONG in shown


def pdf_pages(content: bytes, count: int) -> str:
    from pypdf import PdfReader

    pages = PdfReader(io.BytesIO(content)).pages
    assert len(pages) > 300
    return "".join(pages[number].extract_text() for number in range(count))


WORLD = "مرحبا שלום 👨‍👩‍👧 🇨🇳 한국어 é नमस्ते"


@pytest.mark.parametrize("name", [name for name in FORMATS if name != "pdf"])
def test_every_script_and_emoji_is_kept(name: str) -> None:
    content = export(said(WORLD), name, title=WORLD)
    if name == "docx":
        shown = "\n".join(one.text for one in Document(io.BytesIO(content)).paragraphs)
    else:
        shown = content.decode("utf-8-sig")
    assert WORLD in shown


@pytest.mark.parametrize("name", ["txt", "md", "srt", "vtt", "lrc", "ass", "csv", "docx"])
def test_nothing_turns_round_what_follows(name: str) -> None:
    content = export(said("\u202e逆\u2067转", "甲\u202e"), name, title="题\u202e")
    if name == "docx":
        shown = "\n".join(one.text for one in Document(io.BytesIO(content)).paragraphs)
    else:
        shown = content.decode("utf-8-sig")
    assert "逆转" in shown
    assert not re.search("[\u202a-\u202e\u2066-\u2069]", shown)


def test_pdf_marks_what_its_font_lacks() -> None:
    shown = pdf_text(export(said("甲👨‍👩‍👧乙é丙m"), "pdf", title=""))
    assert "甲〓〓〓乙é丙m" in shown


def test_pdf_draws_the_dot_of_foreign_names() -> None:
    """The table of its font knows the dot under another number, and draws a box for this one."""
    shown = pdf_text(export(said("史蒂夫·乔布斯"), "pdf", title="列夫·托尔斯泰"))
    assert "史蒂夫・乔布斯" in shown
    assert "列夫・托尔斯泰" in shown
    assert "·" not in shown


def test_pdf_shows_all_usual_characters_as_they_are() -> None:
    """GB 2312, which every font for Chinese has; and what looks like them is drawn like them."""
    usual = [bytes((high, low)) for high in range(0xB0, 0xF8) for low in range(0xA1, 0xFF)]
    text = "".join(char for pair in usual if (char := pair.decode("gb2312", "ignore")))
    assert len(text) == 6763
    shown = pdf_text(export(said(text), "pdf", title=""))
    assert {*text} <= {*shown}
    assert "〓" not in shown
    alike = pdf_text(export(said("\uf979\uf9e7\ufe43引\ufe44ɡɑ"), "pdf", title=""))
    assert "凉裏『引』ga" in alike


BROKEN = "甲\ud800乙\0丙\x0b丁\ufffe戊\x85己\u2028庚\x1b[31m辛"


@pytest.mark.parametrize("name", list(FORMATS))
def test_control_characters_and_lone_surrogates_do_not_break_a_file(name: str) -> None:
    content = export(said(BROKEN, BROKEN), name, title=BROKEN)
    if name == "pdf":
        assert "甲〓乙 丙 丁〓戊 己 庚" in pdf_text(content)
        return
    if name == "docx":
        shown = Document(io.BytesIO(content)).paragraphs[2].text
    elif name in ("json", "jsonl"):
        assert json.loads(content.splitlines()[0] if name == "jsonl" else content)
        return
    else:
        shown = content.decode("utf-8-sig")
    assert not re.search("[\ud800-\udfff\0\x0b\ufffe\x85\u2028\x1b]", shown)
    for char in "甲乙丙丁戊己庚辛":
        assert char in shown


@settings(max_examples=15, deadline=None)
@given(st.text(max_size=40), st.text(max_size=20))
def test_any_text_gives_every_format(text: str, speaker: str) -> None:
    made = said(text or "x", speaker)
    for name in FORMATS:
        assert isinstance(export(made, name, title=text), bytes)
