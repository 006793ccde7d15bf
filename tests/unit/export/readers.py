"""Small strict readers, written from the format descriptions and not from the writers."""

from __future__ import annotations

import io
import re
from dataclasses import dataclass

from pypdf import PdfReader


@dataclass(frozen=True)
class ReadCue:
    start_ms: int
    end_ms: int
    lines: tuple[str, ...]
    speaker: str = ""


def read_srt(content: bytes) -> list[ReadCue]:
    cues = []
    blocks = content.decode("utf-8").split("\n\n") if content else []
    for expected, block in enumerate(blocks, start=1):
        number, times, *lines = block.removesuffix("\n").split("\n")
        assert number == str(expected)
        assert not any("-->" in line for line in lines)
        cues.append(_cue(times, ",", lines))
    return cues


def read_vtt(content: bytes) -> list[ReadCue]:
    header, *blocks = content.decode("utf-8").split("\n\n")
    assert header.removesuffix("\n") == "WEBVTT"
    cues = []
    for block in blocks:
        times, *lines = block.removesuffix("\n").split("\n")
        voice = re.match(r"<v ([^<>]+)>", lines[0])
        if voice:
            lines[0] = lines[0][voice.end() :]
        assert all("<" not in line and ">" not in line for line in lines)
        speaker = _unescaped(voice[1]) if voice else ""
        cues.append(_cue(times, ".", [_unescaped(line) for line in lines], speaker))
    return cues


def _unescaped(text: str) -> str:
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


def read_lrc(content: bytes) -> list[tuple[int, str]]:
    lines = []
    for line in content.decode("utf-8").removesuffix("\n").split("\n"):
        match = re.fullmatch(r"\[(\d{2,}):([0-5]\d)\.(\d\d)\]([^\[\]]+)", line)
        if match:
            minutes, seconds, hundredths = (int(match[group]) for group in (1, 2, 3))
            lines.append((minutes * 60_000 + seconds * 1000 + hundredths * 10, match[4]))
        else:
            assert line == "" or re.fullmatch(r"\[ti:[^\[\]]*\]", line), line
    return lines


def pdf_text(content: bytes) -> str:
    """The text of all pages, without line ends."""
    pages = PdfReader(io.BytesIO(content)).pages
    return "".join(page.extract_text() for page in pages).replace("\n", "")


def _cue(times: str, separator: str, lines: list[str], speaker: str = "") -> ReadCue:
    stamp = rf"(\d{{2,}}):([0-5]\d):([0-5]\d){re.escape(separator)}(\d{{3}})"
    match = re.fullmatch(f"{stamp} --> {stamp}", times)
    assert match, times
    values = [int(value) for value in match.groups()]
    start, end = (
        ((hours * 60 + minutes) * 60 + seconds) * 1000 + rest
        for hours, minutes, seconds, rest in (values[:4], values[4:])
    )
    assert lines
    assert all(line.strip() for line in lines)
    return ReadCue(start, end, tuple(lines), speaker)
