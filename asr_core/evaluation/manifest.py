"""Lists of recordings with their references, and of texts that were recognized elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from asr_core.errors import ManifestError

_SAMPLE_COLUMNS = ("audio", "reference", "spoken", "speaker", "tag")
_TEXT_COLUMNS = ("audio", "text", "spoken")


@dataclass(frozen=True, slots=True)
class Sample:
    """One recording and what was said in it.

    Attributes:
        audio: the recording as the list names it.
        path: the recording; relative names belong to the folder of the list.
        reference: what the transcript should say, with or without punctuation.
        spoken: the same as it was said, numbers in words; empty when it is not given.
        speaker: whose voice it is, empty when it is not given.
        tag: a group of the user's own, empty when it is not given.
    """

    audio: str
    path: Path
    reference: str
    spoken: str = ""
    speaker: str = ""
    tag: str = ""


@dataclass(frozen=True, slots=True)
class GivenText:
    """A recognized text: the written form and, where it is given, the spoken form."""

    text: str
    spoken: str


def read_manifest(path: Path) -> tuple[Sample, ...]:
    """Read ``audio, reference[, spoken][, speaker][, tag]``, separated by tabs, in any order.

    Raises:
        ManifestError: naming the file and the line.
    """
    samples: dict[str, Sample] = {}
    last = 1
    for last, row in _rows(path, _SAMPLE_COLUMNS, needed=2):
        audio = _audio(path, last, row, samples)
        rest = {name: row.get(name, "") for name in _SAMPLE_COLUMNS[1:]}
        samples[audio] = Sample(audio, path.parent / audio, **rest)
    if not samples:
        raise _error(path, last, "empty", "there is no row")
    return tuple(samples.values())


def read_texts(path: Path, samples: Sequence[Sample]) -> dict[str, GivenText]:
    """Read ``audio, text[, spoken]``; recordings are named as in the manifest.

    Raises:
        ManifestError: naming the file and the line.
    """
    known = {sample.audio for sample in samples}
    texts: dict[str, GivenText] = {}
    for line, row in _rows(path, _TEXT_COLUMNS, needed=2):
        audio = _audio(path, line, row, texts)
        if audio not in known:
            raise _error(path, line, "unlisted", f"{audio} is not evaluated", audio=audio)
        texts[audio] = GivenText(row["text"], row.get("spoken", ""))
    return texts


def _rows(
    path: Path, columns: Sequence[str], *, needed: int
) -> Iterator[tuple[int, dict[str, str]]]:
    """Line number and cells by column name; the first ``needed`` columns must be there."""
    names: list[str] = []
    for number, line in _lines(path):
        cells = [cell.strip() for cell in line.split("\t")]
        if not names:
            names = [cell.lower() for cell in cells]
            missing = [name for name in columns[:needed] if name not in names]
            strange = [name for name in names if name not in columns or names.count(name) > 1]
            if missing or strange:
                wrong = ", ".join(dict.fromkeys(missing + strange))
                reason = f"columns missing, unknown or repeated: {wrong}"
                allowed = ", ".join(columns)
                raise _error(path, number, "columns", reason, columns=wrong, allowed=allowed)
        elif any(cells):
            if len(cells) > len(names):
                raise _error(path, number, "cells", "there are more cells than columns")
            row = dict.fromkeys(names, "")
            row.update(zip(names, cells, strict=False))
            yield number, row
    if not names:
        raise _error(path, 1, "empty", "there is no header")


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    try:
        content = path.read_bytes()
    except OSError as exc:
        cause = exc.strerror or str(exc)
        raise _error(path, 0, "unreadable", f"it cannot be read: {cause}", cause=cause) from exc
    for number, line in enumerate(content.removeprefix(b"\xef\xbb\xbf").split(b"\n"), start=1):
        try:
            text = line.decode("utf-8").rstrip("\r")
        except UnicodeDecodeError as exc:
            raise _error(path, number, "encoding", "it is not UTF-8") from exc
        if number > 1 or text.strip():
            yield number, text


def _audio(path: Path, line: int, row: dict[str, str], seen: Mapping[str, object]) -> str:
    audio = row["audio"]
    if not audio:
        raise _error(path, line, "no_audio", "no recording is named")
    if audio in seen:
        raise _error(path, line, "twice", f"{audio} is listed again", audio=audio)
    return audio


def _error(path: Path, line: int, reason: str, words: str, **details: str) -> ManifestError:
    message = f"{path}, line {line}: {words}"
    return ManifestError(message, path=str(path), line=line, reason=reason, **details)
