"""What a user may choose of an exported file, and what its writer gets."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from datetime import datetime
from typing import Any

from asr_core.errors import ExportError
from asr_core.messages import LOCALES
from asr_core.results import Transcript

FORMS = ("written", "spoken")
LEAST_LINE_CHARS, MOST_LINE_CHARS = 8, 60
_MOST_CHARS = 500
_FLAGS = frozenset({"times", "speakers", "words"})


@dataclass(frozen=True, slots=True)
class ExportOptions:
    """Choices of one export; each format heeds those that :data:`registry.FORMATS` names for it.

    Attributes:
        times: show when each sentence begins; ``None``: as is usual for the format (a text file
            without, documents with).
        speakers: show who speaks, where that is known.
        form: ``written``, or ``spoken`` for the words as they were said.
        words: WebVTT: a time in front of every word, for players that light words up.
        line_chars: width of a subtitle's line in Chinese characters, 8 to 60.
        title: headline of a document; empty takes the name of the recording.
        name: template of the file's name, see :mod:`asr_core.export.naming`; empty takes the
            setting of the installation.

    Raises:
        ExportError: ``option``: a value is not allowed; names it.
    """

    times: bool | None = None
    speakers: bool = True
    form: str = "written"
    words: bool = False
    line_chars: int = 21
    title: str = ""
    name: str = ""

    def __post_init__(self) -> None:
        if self.form not in FORMS:
            raise _refused("form", self.form, " | ".join(FORMS))
        if not LEAST_LINE_CHARS <= self.line_chars <= MOST_LINE_CHARS:
            allowed = f"{LEAST_LINE_CHARS} – {MOST_LINE_CHARS}"
            raise _refused("line_chars", self.line_chars, allowed)
        for field in ("title", "name"):
            if len(getattr(self, field)) > _MOST_CHARS:
                raise _refused(field, getattr(self, field)[:20] + "…", f"≤ {_MOST_CHARS}")

    @classmethod
    def from_fields(cls, values: Mapping[str, Any]) -> ExportOptions:
        """Choices as a page sends them; those left out keep their usual values.

        Raises:
            ExportError: ``option``: a choice is unknown or of the wrong type.
        """
        known = {field.name for field in fields(cls)}
        checked: dict[str, Any] = {}
        for name, value in values.items():
            if name not in known:
                raise _refused(name, value, ", ".join(sorted(known)))
            checked[name] = _checked(name, value)
        return cls(**checked)


@dataclass(frozen=True, slots=True)
class Sheet:
    """What a writer writes.

    Attributes:
        transcript: with the form and the speakers that were chosen.
        title: headline.
        created: when the recording was taken in, in local time; ``None`` where nobody knows.
        times: show when each sentence begins.
        words: a time in front of every word.
        line_chars: width of a subtitle's line.
        locale: of what stands around the text in documents.
    """

    transcript: Transcript
    title: str
    created: datetime | None = None
    times: bool = True
    words: bool = False
    line_chars: int = 21
    locale: str = LOCALES[0]


def shown(transcript: Transcript, options: ExportOptions) -> Transcript:
    """The transcript in the chosen form, without speakers where they are not wanted."""
    sentences = transcript.sentences
    if options.form == "spoken":
        sentences = tuple(replace(one, spans=(), spaced=False) for one in sentences)
    if not options.speakers:
        sentences = tuple(replace(one, speaker="") for one in sentences)
    if sentences is transcript.sentences:
        return transcript
    return replace(transcript, sentences=sentences)


def _checked(name: str, value: Any) -> Any:
    if name in _FLAGS:
        if not isinstance(value, bool) and not (name == "times" and value is None):
            raise _refused(name, value, "true | false")
        return value
    if name == "line_chars":
        if isinstance(value, bool) or not re.fullmatch(r"\d{1,4}", str(value)):
            raise _refused(name, value, f"{LEAST_LINE_CHARS} – {MOST_LINE_CHARS}")
        return int(value)
    if not isinstance(value, str):
        raise _refused(name, value, "text")
    return value


def _refused(name: str, value: object, allowed: str) -> ExportError:
    return ExportError(
        f"export option {name}={str(value)!r} is not usable; allowed: {allowed}",
        reason="option",
        name=name,
        value=str(value)[:_MOST_CHARS],
        allowed=allowed,
    )
