"""SRT, WebVTT and LRC."""

from __future__ import annotations

from asr_core.export.clean import clock, one_line
from asr_core.export.cues import build_cues
from asr_core.results import Transcript

_ARROW = "-->"


def write_srt(transcript: Transcript, title: str) -> bytes:
    """SubRip: numbered cues, UTF-8; a change of speaker is told. The format holds no title."""
    del title
    blocks = []
    for number, cue in enumerate(build_cues(transcript, names=True), start=1):
        # An arrow in the text would look like a timing line.
        lines = "\n".join(line.replace(_ARROW, "→") for line in cue.lines)
        times = f"{clock(cue.start_ms, ',')} {_ARROW} {clock(cue.end_ms, ',')}"
        blocks.append(f"{number}\n{times}\n{lines}\n")
    return "\n".join(blocks).encode()


def write_vtt(transcript: Transcript, title: str) -> bytes:
    """WebVTT with escaped text and voice tags for speakers. The format holds no title."""
    del title
    blocks = ["WEBVTT\n"]
    for cue in build_cues(transcript):
        lines = "\n".join(_escape(line) for line in cue.lines)
        voice = f"<v {_escape(cue.speaker)}>" if cue.speaker else ""
        blocks.append(f"{clock(cue.start_ms)} {_ARROW} {clock(cue.end_ms)}\n{voice}{lines}\n")
    return "\n".join(blocks).encode()


def write_lrc(transcript: Transcript, title: str) -> bytes:
    """Lyrics: one time tag and one line for each cue, with changes of speaker.

    Minutes may pass 99.
    """
    lines = [f"[ti:{_untagged(one_line(title))}]"] if title else []
    for cue in build_cues(transcript, names=True):
        minutes, rest = divmod(cue.start_ms // 10, 6000)
        tag = f"[{minutes:02d}:{rest // 100:02d}.{rest % 100:02d}]"
        lines.append(tag + _untagged(cue.text))
    return "".join(line + "\n" for line in lines).encode()


def _escape(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _untagged(text: str) -> str:
    """Square brackets start a tag in LRC, so text carries their full-width forms."""
    return text.replace("[", "［").replace("]", "］")
