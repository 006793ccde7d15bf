"""Word."""

from __future__ import annotations

import io
import re
from datetime import timezone
from typing import TYPE_CHECKING, Any

from asr_core.export.clean import one_line, whole_clock
from asr_core.export.options import Sheet
from asr_core.export.reading import facts, named, no_speech
from asr_core.messages import message
from asr_core.results import Sentence

if TYPE_CHECKING:
    from docx.document import Document

_LATIN, _HAN = "Calibri", "Microsoft YaHei"
_GREY = (0x6B, 0x72, 0x80)
_THEME = re.compile(r"Theme$|theme$")
_STYLES = ("Normal", "Heading 1", "Footer")
_TIME_MM = 24  # room of the time in front of a line
_A4_MM = (210, 297)
_MARGIN_MM = 25.4


def write_docx(sheet: Sheet) -> bytes:
    """Word: headline, line of facts, one paragraph for each sentence, numbers of pages.

    Times stand in a column of their own beside the text; speakers are bold.
    """
    import docx

    document: Document = docx.Document()
    title = one_line(sheet.title)
    _describe(document, sheet, title)
    _style(document)
    _lay_out(document.sections[0], title, sheet.locale)
    document.add_heading(title, level=1)
    _grey(document.add_paragraph().add_run(facts(sheet)))
    for sentence in sheet.transcript.sentences:
        _add(document, sheet, sentence)
    if not sheet.transcript.sentences:
        document.add_paragraph(no_speech(sheet))
    buffer = io.BytesIO()
    document.save(buffer)
    return buffer.getvalue()


def _describe(document: Document, sheet: Sheet, title: str) -> None:
    properties = document.core_properties
    properties.title = title[:255]
    properties.author = "听录"
    properties.comments = ""
    properties.language = "zh-CN"
    if sheet.created:
        # Word's properties are in UTC.
        created = sheet.created.astimezone(timezone.utc).replace(tzinfo=None)
        properties.created = properties.modified = created


def _style(document: Document) -> None:
    """Fonts for Chinese and Latin; those of a theme would win over them, so they go."""
    from docx.oxml.ns import qn
    from docx.shared import Pt, RGBColor

    for name in _STYLES:
        style: Any = document.styles[name]
        style.font.name = _LATIN
        fonts = style.element.get_or_add_rPr().get_or_add_rFonts()
        for key in [key for key in fonts.attrib if _THEME.search(key)]:
            del fonts.attrib[key]
        for kind in ("w:ascii", "w:hAnsi", "w:cs"):
            fonts.set(qn(kind), _LATIN)
        fonts.set(qn("w:eastAsia"), _HAN)
    normal: Any = document.styles["Normal"]
    normal.font.size = Pt(11)
    normal.paragraph_format.space_after = Pt(6)
    footer: Any = document.styles["Footer"]
    footer.paragraph_format.tab_stops.clear_all()
    document.styles["Heading 1"].font.color.rgb = RGBColor(0, 0, 0)
    language = document.styles.element.find(f".//{qn('w:rPrDefault')}//{qn('w:lang')}")
    if language is not None:
        language.set(qn("w:eastAsia"), "zh-CN")


def _lay_out(section: Any, title: str, locale: str) -> None:
    """A4 with the title and the number of the page at the foot of each."""
    from docx.enum.text import WD_TAB_ALIGNMENT
    from docx.shared import Mm

    section.page_width, section.page_height = (Mm(side) for side in _A4_MM)
    for side in ("left_margin", "right_margin", "top_margin", "bottom_margin"):
        setattr(section, side, Mm(_MARGIN_MM))
    foot = section.footer.paragraphs[0]
    width = Mm(_A4_MM[0] - 2 * _MARGIN_MM)
    foot.paragraph_format.tab_stops.add_tab_stop(width, WD_TAB_ALIGNMENT.RIGHT)
    _grey(foot.add_run(f"{title[:40]}\t"))
    for piece in message("document.pages", locale, page="\0PAGE\0", pages="\0NUMPAGES\0").split(
        "\0"
    ):
        if piece in ("PAGE", "NUMPAGES"):
            _add_field(foot, piece)
        elif piece:
            _grey(foot.add_run(piece))


def _add_field(paragraph: Any, name: str) -> None:
    """A field that Word fills in when it shows the page."""
    from docx.oxml import OxmlElement
    from docx.oxml.ns import qn

    field = OxmlElement("w:fldSimple")
    field.set(qn("w:instr"), name)
    run = paragraph.add_run("1")
    _grey(run)
    field.append(run._element)
    paragraph._element.append(field)


def _add(document: Document, sheet: Sheet, sentence: Sentence) -> None:
    from docx.shared import Mm

    paragraph: Any = document.add_paragraph()
    if sheet.times:
        room = Mm(_TIME_MM)
        paragraph.paragraph_format.left_indent = room
        paragraph.paragraph_format.first_line_indent = -room
        paragraph.paragraph_format.tab_stops.add_tab_stop(room)
        _grey(paragraph.add_run(f"{whole_clock(sentence.start_ms)}\t"))
    speaker = named(sentence)
    if speaker:
        paragraph.add_run(speaker).bold = True
    paragraph.add_run(one_line(sentence.text))


def _grey(run: Any) -> None:
    from docx.shared import RGBColor

    run.font.color.rgb = RGBColor(*_GREY)
