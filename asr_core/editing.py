"""What the engine offers for editing transcripts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from asr_core.errors import AsrError, EditError
from asr_core.jobs.control import JobControl
from asr_core.jobs.model import Job, JobState
from asr_core.results import Sentence
from asr_core.shelf import ModelShelf
from asr_core.store.edit_model import EditableLines, EditResult, Version
from asr_core.store.edits import Edits
from asr_core.store.history import History
from asr_core.store.proposals import Proposals, Stretch, moved
from asr_core.store.rows import encodable
from asr_core.text import editing
from asr_core.text.compare import Difference
from asr_core.text.editing import Splice
from asr_core.text.finding import Preview

__all__ = [
    "Difference",
    "EditDoor",
    "EditResult",
    "EditableLines",
    "Preview",
    "Proposal",
    "ReplaceOutcome",
    "ReplacePreview",
    "Splice",
    "Stretch",
    "Version",
]


@dataclass(frozen=True, slots=True)
class ReplacePreview:
    """What replacing would do to one recording.

    Attributes:
        stamp: to replace what is shown and nothing newer.
        hits: in all sentences.
    """

    recording_id: str
    name: str
    stamp: str
    hits: int
    previews: tuple[Preview, ...]


@dataclass(frozen=True, slots=True)
class ReplaceOutcome:
    """What replacing did to one recording.

    Attributes:
        hits: that were replaced.
        result: ``None`` where it was refused.
        error_code: why, empty otherwise.
        error_details: to format the user's sentence.
    """

    recording_id: str
    hits: int
    result: EditResult | None
    error_code: str = ""
    error_details: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Proposal:
    """A stretch of a recording that is recognized once more.

    Attributes:
        job: how far it is.
        stretch: which one.
        sentences: so far; times in the whole recording.
    """

    job: Job
    stretch: Stretch
    sentences: tuple[Sentence, ...]

    @property
    def is_ready(self) -> bool:
        """Whether it can be accepted."""
        return self.job.state in (JobState.DONE, JobState.PARTIAL)


class EditDoor:
    """The engine's methods for editing; usable from any thread.

    A stamp says on which revision of which transcript an edit is made; every answer brings the
    newest. Every change raises EditConflictError when the transcript does not stand there any
    more, and EditError where it cannot be made (see its reasons). Positions count from 0.
    """

    _edits: Edits
    _history: History
    _proposals: Proposals
    _control: JobControl
    _shelf: ModelShelf

    def editable(self, recording_id: str, first: int = 0, count: int = 200) -> EditableLines:
        """Sentences of the newest transcript from a position on."""
        return self._edits.lines(recording_id, first, count)

    def edit_text(
        self, recording_id: str, stamp: str, position: int, written: str, *, who: str = ""
    ) -> EditResult:
        """Let a sentence say something else; a blank text removes it.

        Words that stay keep their times. Line breaks and other controls become spaces.
        """

        def retext(old: tuple[Sentence, ...]) -> Sequence[Sentence]:
            new = editing.retext(old[0], typed(written))
            return () if new is None else (new,)

        return self._edits.change(recording_id, stamp, position, 1, retext, kind="text", who=who)

    def split_sentence(
        self, recording_id: str, stamp: str, position: int, offset: int, *, who: str = ""
    ) -> EditResult:
        """Cut a sentence in front of a character of its written text."""

        def split(old: tuple[Sentence, ...]) -> Sequence[Sentence]:
            return editing.split_at(old[0], offset)

        return self._edits.change(recording_id, stamp, position, 1, split, kind="split", who=who)

    def merge_sentences(
        self, recording_id: str, stamp: str, first: int, count: int, *, who: str = ""
    ) -> EditResult:
        """Make one sentence of several that follow each other."""

        def merge(old: tuple[Sentence, ...]) -> Sequence[Sentence]:
            return (editing.merge(old),)

        return self._edits.change(recording_id, stamp, first, count, merge, kind="merge", who=who)

    def remove_sentences(
        self, recording_id: str, stamp: str, first: int, count: int, *, who: str = ""
    ) -> EditResult:
        """Take sentences out."""

        def remove(_old: tuple[Sentence, ...]) -> Sequence[Sentence]:
            return ()

        return self._edits.change(recording_id, stamp, first, count, remove, kind="remove", who=who)

    def set_speaker(
        self,
        recording_id: str,
        stamp: str,
        first: int,
        count: int,
        speaker: str,
        *,
        who: str = "",
    ) -> EditResult:
        """Say who said some sentences; empty for nobody known."""
        name = typed(speaker).strip()

        def label(old: tuple[Sentence, ...]) -> Sequence[Sentence]:
            return tuple(editing.set_speaker(sentence, name) for sentence in old)

        return self._edits.change(recording_id, stamp, first, count, label, kind="speaker", who=who)

    def rename_speaker(
        self, recording_id: str, stamp: str, old: str, new: str, *, who: str = ""
    ) -> EditResult:
        """Give a speaker another name in the whole transcript."""
        name = typed(new).strip()

        def rename(sentences: tuple[Sentence, ...]) -> Sequence[Splice]:
            return editing.rename_speaker(sentences, old, name)

        return self._edits.change_all(recording_id, stamp, rename, kind="speaker", who=who)

    def confirm_words(
        self,
        recording_id: str,
        stamp: str,
        position: int,
        first_token: int,
        last_token: int,
        *,
        who: str = "",
    ) -> EditResult:
        """Settle doubtful words of a sentence: they are right."""

        def confirm(old: tuple[Sentence, ...]) -> Sequence[Sentence]:
            if not 0 <= first_token <= last_token < len(old[0].tokens):
                raise EditError("there is no such word", reason="no_token")
            return (editing.confirm(old[0], first_token, last_token),)

        return self._edits.change(
            recording_id, stamp, position, 1, confirm, kind="confirm", who=who
        )

    def drop_correction(
        self, recording_id: str, stamp: str, position: int, first_token: int, *, who: str = ""
    ) -> EditResult:
        """Let what was corrected stand as it was recognized."""
        return self._edits.drop_span(recording_id, stamp, position, first_token, who=who)

    def undo_edit(self, recording_id: str, stamp: str) -> EditResult:
        """Put back exactly what was there before the last edit."""
        return self._edits.undo(recording_id, stamp)

    def redo_edit(self, recording_id: str, stamp: str) -> EditResult:
        """Do again what was undone last."""
        return self._edits.redo(recording_id, stamp)

    def preview_replace(
        self, recording_ids: Sequence[str], query: str, replacement: str, *, case: bool = False
    ) -> tuple[ReplacePreview, ...]:
        """What replacing would do to each of some recordings that has a hit.

        Recordings without a transcript are passed over.

        Raises:
            RecordNotFoundError: no recording has one of the ids.
        """
        previews = []
        for recording_id in recording_ids:
            name = self._history.name(recording_id)
            try:
                stamp, found = self._edits.preview(
                    recording_id, query, typed(replacement), case=case
                )
            except EditError:
                continue
            hits = sum(len(one.hits) for one in found)
            if hits:
                previews.append(ReplacePreview(recording_id, name, stamp, hits, found))
        return tuple(previews)

    def replace_text(
        self,
        stamps: Mapping[str, str],
        query: str,
        replacement: str,
        *,
        case: bool = False,
        who: str = "",
    ) -> tuple[ReplaceOutcome, ...]:
        """Replace every hit in the written texts of some recordings, one edit each.

        One that was changed since its preview is refused; the others are done.

        Args:
            stamps: of the previews, by recording.
        """
        outcomes = []
        for recording_id, stamp in stamps.items():
            try:
                hits, result = self._edits.replace(
                    recording_id, stamp, query, typed(replacement), case=case, who=who
                )
            except AsrError as exc:
                outcomes.append(ReplaceOutcome(recording_id, 0, None, exc.code, exc.details))
            else:
                outcomes.append(ReplaceOutcome(recording_id, hits, result))
        return tuple(outcomes)

    def versions(self, recording_id: str) -> tuple[Version, ...]:
        """Named revisions, newest first, and revision 0, as it was recognized, at the end."""
        return self._edits.versions(recording_id)

    def name_version(self, recording_id: str, stamp: str, name: str, *, who: str = "") -> Version:
        """Give the transcript as it stands a name."""
        return self._edits.name_version(recording_id, stamp, typed(name), who=who)

    def compare_versions(
        self, recording_id: str, before: int, after: int
    ) -> tuple[Difference, ...]:
        """What changed between two revisions, sentence by sentence."""
        return self._edits.compare(recording_id, before, after)

    def restore_version(
        self, recording_id: str, stamp: str, revision: int, *, who: str = ""
    ) -> EditResult:
        """Let the transcript be what it was at a revision, as one more edit."""
        return self._edits.restore(recording_id, stamp, revision, who=who)

    def retranscribe(
        self,
        recording_id: str,
        start_ms: int,
        end_ms: int,
        *,
        hotwords: Sequence[str] = (),
        model: str = "",
    ) -> Job:
        """Recognize a stretch of a recording once more, with other hotwords or another model.

        Everything else is as it was for the whole recording. The text is a proposal: follow the
        job with :meth:`proposal`, then accept or dismiss it.

        Args:
            hotwords: as in :class:`TranscribeOptions`.
            model: a recognizer's name; empty takes the default.

        Raises:
            RecordNotFoundError: no recording has that id.
            EditError: it is not kept (``no_recording``), has no text (``no_text``) or no such
                stretch (``range``).
        """
        record = self._history.record(recording_id)
        if record.path is None:
            raise EditError("the recording is not kept", reason="no_recording")
        options = replace(
            record.job.options,
            hotwords=tuple(hotwords),
            model=model or self._shelf.default(),
        )
        stretch = Stretch(recording_id, start_ms, end_ms)
        job = self._proposals.add(stretch, record.path, options)
        self._control.runner_of(job).submit(job)
        return job

    def proposal(self, job_id: str) -> Proposal:
        """What the job of a stretch has recognized so far.

        Raises:
            JobNotFoundError: no job has that id.
            EditError: it is not about a stretch (``no_proposal``).
        """
        job = self._history.job(job_id)
        stretch = self._stretch(job)
        if job.state.is_final:
            transcript = self._history.record(job.recording_id).transcript
            sentences = transcript.sentences if transcript else ()
        else:
            _progress, sentences = self._control.runner_of(job).live(job_id)
        return Proposal(job, stretch, moved(sentences, stretch.start_ms))

    def accept_proposal(self, job_id: str, stamp: str, *, who: str = "") -> EditResult:
        """Put the text of a stretch in the place of the words there.

        Raises:
            EditError: it is not ready (``not_ready``), or gone (``no_proposal``).
        """
        proposal = self.proposal(job_id)
        if not proposal.is_ready:
            raise EditError("the text is not ready", reason="not_ready")
        stretch = proposal.stretch

        def splice(sentences: tuple[Sentence, ...]) -> Sequence[Splice]:
            return [
                editing.replace_words(
                    sentences, stretch.start_ms, stretch.end_ms, proposal.sentences
                )
            ]

        result = self._edits.change_all(
            stretch.recording_id, stamp, splice, kind="retranscribe", who=who
        )
        self._proposals.remove(proposal.job.recording_id)
        return result

    def dismiss_proposal(self, job_id: str) -> None:
        """Forget a stretch; its job ends if it runs.

        Raises:
            JobNotFoundError: no job has that id.
            EditError: it is not about a stretch (``no_proposal``).
        """
        job = self._history.job(job_id)
        self._stretch(job)
        if not job.state.is_final:
            job = self._control.cancel(job_id)
        if job.state.is_final:
            self._proposals.remove(job.recording_id)

    def _stretch(self, job: Job) -> Stretch:
        stretch = self._proposals.stretch(job.recording_id)
        if stretch is None:
            raise EditError(f"job {job.id} is about no stretch", reason="no_proposal")
        return stretch


def typed(text: str) -> str:
    """What a person typed, as it can be stored: line breaks and other controls become spaces."""
    return "".join(
        " " if char < " " or char in "\x7f\x85\u2028\u2029" else char for char in encodable(text)
    )
