"""A batch: many recordings with one set of choices, and what became of each.

Only types; plans are made in ``batch``, rows live in ``store/batches``.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from asr_core.transcription.options import TranscribeOptions

ON_EXISTING = ("skip", "overwrite", "rename")


class BatchState(str, enum.Enum):
    """``planning`` still finds and queues files, while those already queued run."""

    PLANNING = "planning"
    RUNNING = "running"
    PAUSED = "paused"
    DONE = "done"
    CANCELLED = "cancelled"

    @property
    def is_final(self) -> bool:
        return self in (BatchState.DONE, BatchState.CANCELLED)


class ItemState(str, enum.Enum):
    """The states of a job, and those of a file that has none.

    ``paused`` waits for the user, ``skipped`` has its results already, ``refused`` must not be
    read (a link that leads outside, a folder without permission).
    """

    QUEUED = "queued"
    PAUSED = "paused"
    RUNNING = "running"
    DONE = "done"
    PARTIAL = "partial"
    FAILED = "failed"
    CANCELLED = "cancelled"
    INTERRUPTED = "interrupted"
    SKIPPED = "skipped"
    REFUSED = "refused"

    @property
    def is_final(self) -> bool:
        return self not in (
            ItemState.QUEUED,
            ItemState.PAUSED,
            ItemState.RUNNING,
            ItemState.INTERRUPTED,
        )

    @property
    def is_good(self) -> bool:
        return self in (ItemState.DONE, ItemState.SKIPPED)


@dataclass(frozen=True, slots=True)
class Upload:
    """A file that was sent; ``name`` is what the sender calls it. A zip is opened."""

    path: Path
    name: str


@dataclass(frozen=True, slots=True)
class BatchRequest:
    """What a user asks for.

    Attributes:
        options: for every recording.
        source: folder to transcribe; ``None`` when files are sent instead.
        uploads: files that are sent.
        output: folder of the results; ``None`` takes ``transcripts`` in the source folder, and
            none at all for files that are sent: their results are downloaded.
        formats: names of export formats.
        on_existing: ``skip``, ``overwrite`` or ``rename``.
        recursive: go into folders of the source.
        patterns: shell patterns of file names or relative paths (``*.wav``, ``2024/*``); none
            takes every name with the extension of a recording.
        watch: take new files until the batch is cancelled.
    """

    options: TranscribeOptions
    source: Path | None = None
    uploads: tuple[Upload, ...] = ()
    output: Path | None = None
    formats: tuple[str, ...] = ("txt",)
    on_existing: str = "skip"
    recursive: bool = True
    patterns: tuple[str, ...] = ()
    watch: bool = False


@dataclass(frozen=True, slots=True)
class Batch:
    """A batch as it stands now.

    Attributes:
        id: 32 hexadecimal digits.
        name: of the source folder or of the first file that was sent.
        source: ``None`` for files that were sent.
        output: ``None`` when results are only downloaded.
        formats: names of export formats.
        on_existing: ``skip``, ``overwrite`` or ``rename``.
        options: for every recording.
        recursive: folders of the source are gone into.
        patterns: of file names; empty takes every recording.
        watch: new files are taken until it is cancelled.
        created_ms: Unix time in milliseconds.
        state: where it stands.
        items: how many files are in each state; states without a file are left out.
        duration_ms: length of all recordings as far as it is known.
        done_ms: of it, what is accounted for.
        remaining_ms: estimate of the wall time left; ``None`` while unknown.
        error_code: why the source could not be read to its end; empty otherwise.
        error_details: to format the user's sentence.
    """

    id: str
    name: str
    source: Path | None
    output: Path | None
    formats: tuple[str, ...]
    on_existing: str
    options: TranscribeOptions
    recursive: bool
    patterns: tuple[str, ...]
    watch: bool
    created_ms: int
    state: BatchState
    items: Mapping[ItemState, int] = field(default_factory=dict)
    duration_ms: int = 0
    done_ms: int = 0
    remaining_ms: int | None = None
    error_code: str = ""
    error_details: Mapping[str, str] = field(default_factory=dict)

    @property
    def total(self) -> int:
        """Number of files."""
        return sum(self.items.values())


@dataclass(frozen=True, slots=True)
class BatchItem:
    """One file of a batch.

    Attributes:
        number: from 1, in the order in which files were found.
        path: relative to the source, with ``/``; of a zip's member, below the zip's name.
        state: where it stands.
        job_id: its newest job; empty when it has none.
        recording_id: where its text is; empty when it has none.
        duration_ms: length of the recording, 0 while unknown.
        done_ms: position up to which everything is accounted for.
        speed: seconds of recording for each second of work; 0 while unknown.
        remaining_ms: estimate of the wall time left; ``None`` while unknown.
        outputs: its files in the output folder, relative, with ``/``.
        note: what is worth telling: ``renamed`` (the usual name belongs to another file),
            ``already_done`` (skipped), ``reused`` (the text was in the history), or empty.
        error_code: why it failed or was refused; empty otherwise.
        error_details: to format the user's sentence.
        revision: grows with every stored change of any item of the batch.
        processing_ms: wall time that its job took, 0 while unfinished.
    """

    number: int
    path: str
    state: ItemState
    job_id: str = ""
    recording_id: str = ""
    duration_ms: int = 0
    done_ms: int = 0
    speed: float = 0.0
    remaining_ms: int | None = None
    outputs: tuple[str, ...] = ()
    note: str = ""
    error_code: str = ""
    error_details: Mapping[str, str] = field(default_factory=dict)
    revision: int = 0
    processing_ms: int = 0


@dataclass(frozen=True, slots=True)
class Root:
    """A folder that the page may offer; ``path`` has no links in it."""

    path: Path
    name: str


@dataclass(frozen=True, slots=True)
class FolderView:
    """One folder inside a root.

    Attributes:
        path: without links.
        parent: ``None`` for a root.
        folders: folders in it that may be opened, by name.
        recordings: number of recordings in it and below.
        size_bytes: of these recordings.
        is_complete: false when there are so many files that counting stopped.
    """

    path: Path
    parent: Path | None
    folders: tuple[Path, ...]
    recordings: int
    size_bytes: int
    is_complete: bool = True
