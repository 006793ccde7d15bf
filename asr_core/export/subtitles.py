"""SRT, WebVTT, LRC and ASS.

None of SRT, LRC and ASS can escape a character, so what a player would take for markup is written
with the full-width form of its first character.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from asr_core.export.clean import clock, one_line
from asr_core.export.cues import Cue, build_cues
from asr_core.export.options import Sheet

_ARROW = "-->"
_SRT_TAG = re.compile(r"<(?=[A-Za-z/!])|\{(?=\\|[A-Za-z]:)")
_FULL_WIDTH = str.maketrans("<{[]", "＜｛［］")
_ASS_FULL_WIDTH = str.maketrans("{}\\", "｛｝＼")
_LONG_ONE = 40  # characters of a name that the style of ASS leaves room for
_ASS_HEAD = """\
[Script Info]
Title: {title}
ScriptType: v4.00+
PlayResX: 1920
PlayResY: 1080
WrapStyle: 2
ScaledBorderAndShadow: yes

[V4+ Styles]
Format: Name, Fontname, Fontsize, PrimaryColour, SecondaryColour, OutlineColour, BackColour, \
Bold, Italic, Underline, StrikeOut, ScaleX, ScaleY, Spacing, Angle, BorderStyle, Outline, Shadow, \
Alignment, MarginL, MarginR, MarginV, Encoding
Style: Default,Microsoft YaHei,64,&H0000D7FF,&H00FFFFFF,&H00202020,&H80000000,\
0,0,0,0,100,100,0,0,1,3,0,2,40,40,60,1

[Events]
Format: Layer, Start, End, Style, Name, MarginL, MarginR, MarginV, Effect, Text
"""


def write_srt(sheet: Sheet) -> bytes:
    """SubRip: numbered cues, UTF-8; a change of speaker is told. The format holds no title."""
    blocks = []
    for number, cue in enumerate(_cues(sheet, names=True), start=1):
        # An arrow in the text would look like a timing line.
        lines = "\n".join(_untagged(line.replace(_ARROW, "→")) for line in cue.lines)
        times = f"{clock(cue.start_ms, ',')} {_ARROW} {clock(cue.end_ms, ',')}"
        blocks.append(f"{number}\n{times}\n{lines}\n")
    return "\n".join(blocks).encode()


def write_vtt(sheet: Sheet) -> bytes:
    """WebVTT with escaped text and voice tags for speakers. The format holds no title."""
    blocks = ["WEBVTT\n"]
    for cue in _cues(sheet):
        lines = "\n".join(_timed_lines(cue) if sheet.words else map(_escape, cue.lines))
        voice = f"<v {_escape(cue.speaker)}>" if cue.speaker else ""
        blocks.append(f"{clock(cue.start_ms)} {_ARROW} {clock(cue.end_ms)}\n{voice}{lines}\n")
    return "\n".join(blocks).encode()


def write_lrc(sheet: Sheet) -> bytes:
    """Lyrics: one time tag and one line for each cue, with changes of speaker.

    Minutes may pass 99.
    """
    lines = [f"[ti:{_lyric(one_line(sheet.title))}]"] if sheet.title else []
    for cue in _cues(sheet, names=True):
        minutes, rest = divmod(cue.start_ms // 10, 6000)
        tag = f"[{minutes:02d}:{rest // 100:02d}.{rest % 100:02d}]"
        lines.append(tag + _lyric(cue.text))
    return "".join(line + "\n" for line in lines).encode()


def write_ass(sheet: Sheet) -> bytes:
    """Advanced SubStation Alpha: each word lights up when it is said.

    With a byte order mark: players on Chinese Windows would take it for GBK otherwise.
    """
    lines = [_ASS_HEAD.format(title=_ass(one_line(sheet.title)))]
    for cue in _cues(sheet, names=True):
        name = _ass(cue.speaker).replace(",", "，")[:_LONG_ONE]
        start, end = (_ass_clock(ms) for ms in (cue.start_ms, cue.end_ms))
        text = "\\N".join(_karaoke(cue))
        lines.append(f"Dialogue: 0,{start},{end},Default,{name},0,0,0,,{text}\n")
    return "".join(lines).encode("utf-8-sig")


def _cues(sheet: Sheet, *, names: bool = False) -> list[Cue]:
    return build_cues(sheet.transcript, names=names, line_chars=sheet.line_chars)


def _timed_lines(cue: Cue) -> Iterator[str]:
    """A time in front of every word but the first; times rise and lie inside the cue."""
    last_ms = cue.start_ms
    for line in cue.words:
        pieces = []
        for word in line:
            if last_ms < word.start_ms < cue.end_ms:
                last_ms = word.start_ms
                pieces.append(f"<{clock(word.start_ms)}>")
            pieces.append(_escape(word.text))
        yield "".join(pieces)


def _karaoke(cue: Cue) -> Iterator[str]:
    """Lengths in hundredths of a second, counted from the cue's start so that none adds up."""
    position = _hundredths(cue.start_ms)
    limit = _hundredths(cue.end_ms)
    for line in cue.words:
        pieces = []
        for word in line:
            start = min(max(_hundredths(word.start_ms), position), limit)
            end = min(max(_hundredths(word.end_ms), start), limit)
            if start > position:
                pieces.append(f"{{\\k{start - position}}}")
            pieces.append(f"{{\\k{end - start}}}{_ass(word.text)}")
            position = end
        yield "".join(pieces)


def _hundredths(milliseconds: int) -> int:
    return (milliseconds + 5) // 10


def _ass_clock(milliseconds: int) -> str:
    minutes, rest = divmod(_hundredths(milliseconds), 6000)
    return f"{minutes // 60}:{minutes % 60:02d}:{rest // 100:02d}.{rest % 100:02d}"


def _escape(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _untagged(text: str) -> str:
    return _SRT_TAG.sub(lambda found: found[0].translate(_FULL_WIDTH), text)


def _lyric(text: str) -> str:
    """Square brackets start a tag, angle brackets the time of a word."""
    return re.sub(r"[\[\]]|<(?=\d)", lambda found: found[0].translate(_FULL_WIDTH), text)


def _ass(text: str) -> str:
    return text.translate(_ASS_FULL_WIDTH)
