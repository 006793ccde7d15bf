"""All figures of one evaluation."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from asr_core.evaluation.comparison import Comparison, compare_texts
from asr_core.evaluation.confusion import Confusion, Suggestion, confusions, suggest_hotwords
from asr_core.evaluation.manifest import Sample
from asr_core.evaluation.marks import MarkScores, score_marks
from asr_core.evaluation.normalize import DEFAULT_NORMALIZATIONS
from asr_core.evaluation.written import NumberScore, score_numbers
from asr_core.text.scoring import NO_ERRORS, ErrorRate


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one recording.

    Attributes:
        text: the written form, what the reader sees.
        spoken: the spoken form, empty when it is not known.
        duration_ms: length of the recording, 0 when nothing was recognized here.
        processing_ms: time that recognition took.
        error: why there is no text, a sentence; empty when it worked.
    """

    text: str
    spoken: str = ""
    duration_ms: int = 0
    processing_ms: int = 0
    error: str = ""


@dataclass(frozen=True, slots=True)
class Utterance:
    """One recording of the evaluation."""

    sample: Sample
    outcome: Outcome
    comparison: Comparison


@dataclass(frozen=True, slots=True)
class Group:
    """The utterances of one speaker or tag, and their errors."""

    name: str
    utterances: int
    counts: ErrorRate


@dataclass(frozen=True, slots=True)
class HotwordScore:
    """One hotword: how often it was said, recognized where it was said, and invented."""

    word: str
    expected: int
    hits: int
    false_alarms: int


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Attributes:
    counts: errors of all utterances, against what the reader sees.
    spoken_counts: the same for the spoken forms, where the references have them.
    empty: recordings that gave no text; their characters count as deletions.
    failed: recordings that could not be recognized; they count as empty.
    marks: ``None`` when the references have no punctuation.
    numbers: ``None`` when no spoken references are given.
    hotwords: empty when no list is given.
    """

    utterances: tuple[Utterance, ...]
    normalizations: tuple[str, ...]
    counts: ErrorRate
    spoken_counts: ErrorRate | None
    empty: tuple[str, ...]
    failed: tuple[str, ...]
    speakers: tuple[Group, ...]
    tags: tuple[Group, ...]
    marks: MarkScores | None
    numbers: NumberScore | None
    hotwords: tuple[HotwordScore, ...]
    confusions: tuple[Confusion, ...]
    suggestions: tuple[Suggestion, ...]
    duration_ms: int
    processing_ms: int

    @property
    def rtf(self) -> float:
        """Processing seconds per audio second; 0 when nothing was recognized here."""
        return self.processing_ms / self.duration_ms if self.duration_ms else 0.0


def evaluate(
    results: Iterable[tuple[Sample, Outcome]],
    *,
    normalizations: Sequence[str] = DEFAULT_NORMALIZATIONS,
    hotwords: Sequence[str] = (),
) -> Evaluation:
    """Measure everything that the samples allow.

    Raises:
        UsageError: a normalization is not known.
    """
    utterances = tuple(
        Utterance(sample, outcome, compare_texts(sample.reference, outcome.text, normalizations))
        for sample, outcome in results
    )
    comparisons = [utterance.comparison for utterance in utterances]
    spoken = [one for one in utterances if one.sample.spoken and one.outcome.spoken]
    with_spoken = [one for one in utterances if one.sample.spoken]
    return Evaluation(
        utterances=utterances,
        normalizations=tuple(normalizations),
        counts=_sum(comparison.counts for comparison in comparisons),
        spoken_counts=_spoken_counts(with_spoken, normalizations) if spoken else None,
        empty=tuple(one.sample.audio for one in utterances if not one.outcome.text.strip()),
        failed=tuple(one.sample.audio for one in utterances if one.outcome.error),
        speakers=_groups(utterances, lambda sample: sample.speaker),
        tags=_groups(utterances, lambda sample: sample.tag),
        marks=score_marks(comparisons),
        numbers=_numbers(with_spoken) if spoken else None,
        hotwords=tuple(_hotword(word, utterances) for word in dict.fromkeys(hotwords)),
        confusions=confusions(comparisons),
        suggestions=suggest_hotwords(comparisons, hotwords),
        duration_ms=sum(one.outcome.duration_ms for one in utterances),
        processing_ms=sum(one.outcome.processing_ms for one in utterances),
    )


def _sum(counts: Iterable[ErrorRate]) -> ErrorRate:
    return sum(counts, start=NO_ERRORS)


def _spoken_counts(utterances: Sequence[Utterance], names: Sequence[str]) -> ErrorRate:
    return _sum(
        compare_texts(one.sample.spoken, one.outcome.spoken, names).counts for one in utterances
    )


def _groups(utterances: Sequence[Utterance], name_of: Callable[[Sample], str]) -> tuple[Group, ...]:
    """By name, in the order of their first utterances; none when no utterance has a name."""
    members: dict[str, list[Utterance]] = {}
    for utterance in utterances:
        members.setdefault(name_of(utterance.sample), []).append(utterance)
    if set(members) <= {""}:
        return ()
    return tuple(
        Group(name, len(ones), _sum(one.comparison.counts for one in ones))
        for name, ones in members.items()
    )


def _numbers(utterances: Sequence[Utterance]) -> NumberScore:
    return sum(
        (
            score_numbers(
                one.sample.reference, one.sample.spoken, one.outcome.text, one.outcome.spoken
            )
            for one in utterances
        ),
        start=NumberScore(),
    )


def _hotword(word: str, utterances: Sequence[Utterance]) -> HotwordScore:
    """Counted in each utterance: what was said too seldom is missed, too often an alarm."""
    pattern = _pattern(word)
    expected = hits = alarms = 0
    for one in utterances:
        said = len(pattern.findall(_folded(one.sample.reference)))
        heard = len(pattern.findall(_folded(one.outcome.text)))
        expected += said
        hits += min(said, heard)
        alarms += max(heard - said, 0)
    return HotwordScore(word, expected, hits, alarms)


def _pattern(word: str) -> re.Pattern[str]:
    """The word as a whole: Latin letters and digits beside it would make another word of it."""
    folded = _folded(word)
    spaced = r"\s*".join(re.escape(part) for part in folded.split())
    before = "(?<![A-Z0-9])" if folded[:1].isascii() else ""
    after = "(?![A-Z0-9])" if folded[-1:].isascii() else ""
    return re.compile(f"{before}{spaced}{after}")


def _folded(text: str) -> str:
    return unicodedata.normalize("NFKC", text).strip().upper()
