"""What an editor of transcripts is told."""

from __future__ import annotations

from dataclasses import dataclass

from asr_core.results import Sentence
from asr_core.text.editing import Splice


@dataclass(frozen=True, slots=True)
class EditResult:
    """Where a transcript stands after an edit.

    Attributes:
        stamp: of the newest revision, for the next edit.
        revision: 0 as it was recognized.
        kind: what was done or undone.
        total: sentences now.
        changes: what to do to the sentences of before, one after the other.
        can_undo: whether there is something to undo.
        can_redo: whether there is something to do again.
    """

    stamp: str
    revision: int
    kind: str
    total: int
    changes: tuple[Splice, ...]
    can_undo: bool
    can_redo: bool


@dataclass(frozen=True, slots=True)
class EditableLines:
    """A stretch of a transcript to edit.

    Attributes:
        stamp: that an edit of it is made on.
        revision: 0 as it was recognized.
        total: sentences of the whole transcript.
        first: position of the first one here.
        sentences: from there on.
        speakers: every label of the transcript, those that come first first.
        can_undo: whether there is something to undo.
        can_redo: whether there is something to do again.
    """

    stamp: str
    revision: int
    total: int
    first: int
    sentences: tuple[Sentence, ...]
    speakers: tuple[str, ...]
    can_undo: bool
    can_redo: bool


@dataclass(frozen=True, slots=True)
class Version:
    """A revision that has a name; revision 0, as it was recognized, has none and is one too.

    Attributes:
        kind: of the edit that led to it; empty for revision 0.
        created_ms: when it got its name, Unix time.
        current: whether the transcript stands there now.
    """

    revision: int
    name: str
    kind: str
    who: str
    created_ms: int
    current: bool
