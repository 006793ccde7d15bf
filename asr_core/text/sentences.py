"""From recognized tokens to sentences: hotwords, marks, sentence ends, numbers.

Owns the order of the text stages and what happens when one of them fails: the text stands as it
was before that stage. Knows nothing of audio or recognizers.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from asr_core.errors import NormalizationError
from asr_core.results import HotwordUse, Sentence, Token, WrittenSpan
from asr_core.text.hotwords import HotwordCorrector
from asr_core.text.itn.normalizer import InverseNormalizer
from asr_core.text.itn.style import ItnStyle
from asr_core.text.polish import PolishOptions, polish_spans
from asr_core.text.punctuation.marks import Punctuator
from asr_core.text.tokens import (
    MAX_PAUSE_MS,
    SENTENCE_ENDS,
    close_sentence,
    comma_at_pauses,
    split_sentences,
)

logger = logging.getLogger(__name__)

_LOOKAHEAD = 24  # tokens after a restored sentence end before it counts
_CONTEXT = 64  # tokens of finished sentences that the punctuation model still sees
_KEPT_MARK = "·"  # inside a name: no punctuation that could be restored

Range = tuple[int, int]


@dataclass(frozen=True, slots=True)
class TextStages:
    """What turns tokens into sentences.

    Attributes:
        normalizer: writes numbers; ``None`` leaves them as they are spoken.
        style: how it writes them.
        punctuator: restores punctuation; ``None`` keeps the recognizer's own.
        corrector: replaces what only sounds like a hotword; ``None`` replaces nothing.
        polish: what is made nicer to read.
        marks: whether the sentences show punctuation at all.
    """

    normalizer: InverseNormalizer | None = None
    style: ItnStyle = field(default_factory=ItnStyle)
    punctuator: Punctuator | None = None
    corrector: HotwordCorrector | None = None
    polish: PolishOptions = field(default_factory=PolishOptions)
    marks: bool = True


class SentenceBuilder:
    """Sentences of one speaker, as soon as nothing that follows can change them.

    Args:
        stages: what to work with.
        speaker: label of every sentence.

    Attributes:
        failed: stages that failed somewhere, as words of :class:`TranscriptWarning` codes.
    """

    def __init__(self, stages: TextStages, speaker: str = "") -> None:
        self._stages = stages
        self._speaker = speaker
        self._pending: list[Token] = []  # of sentences that may still change
        self._context: list[Token] = []  # of finished sentences
        self._recognized: Counter[str] = Counter()
        self._corrected: Counter[str] = Counter()
        self.failed: set[str] = set()

    @property
    def pending_start_ms(self) -> int | None:
        """No later sentence starts before this; ``None`` while nothing is pending."""
        return self._pending[0].start_ms if self._pending else None

    @property
    def hotwords(self) -> tuple[HotwordUse, ...]:
        """How often each hotword stands in the finished sentences, in the user's order."""
        words = self._stages.corrector.words if self._stages.corrector else ()
        return tuple(
            HotwordUse(word, self._recognized[word], self._corrected[word]) for word in words
        )

    def accept(self, tokens: Sequence[Token]) -> list[Sentence]:
        """Feed the next tokens, in time order. Returns sentences that are finished."""
        self._pending.extend(tokens)
        return self._build(closed=False)

    def finish(self) -> list[Sentence]:
        """Nothing follows: the sentences that were pending."""
        return self._build(closed=True)

    def _build(self, *, closed: bool) -> list[Sentence]:
        if not self._pending:
            return []
        fixes, spoken = self._find_hotwords()
        ranges = sorted([*_ranges(fixes), *((first, last) for first, last, _word in spoken)])
        meant = _as_meant(self._pending, fixes)
        marked = self._marked(meant, ranges, closed=closed)
        bound = {index for first, last in ranges for index in range(first, last)}
        groups = split_sentences(marked, bound=bound)
        count = len(groups) if closed else self._finished(groups)
        sentences: list[Sentence] = []
        first = 0
        for index, group in enumerate(groups[:count]):
            following = groups[index + 1][0] if index + 1 < len(groups) else None
            sentences.append(self._sentence(group, following, first, fixes, ranges))
            first += len(group)
        self._count(fixes, spoken, first)
        self._context = [*self._context, *meant[:first]][-_CONTEXT:]
        self._pending = self._pending[first:]
        return sentences

    def _count(
        self, fixes: Sequence[WrittenSpan], spoken: Sequence[tuple[int, int, str]], end: int
    ) -> None:
        """Note the hotwords among the pending tokens before ``end``."""
        covered = {index for first, last in _ranges(fixes) for index in range(first, last + 1)}
        self._corrected.update(fix.written for fix in fixes if fix.first_token < end)
        self._recognized.update(
            word for first, _last, word in spoken if first < end and first not in covered
        )

    def _finished(self, groups: Sequence[Sequence[Token]]) -> int:
        """How many sentences stand, whatever follows."""
        if self._stages.punctuator is None:
            ends = bool(groups) and groups[-1][-1].mark[-1:] in SENTENCE_ENDS
            return len(groups) if ends else len(groups) - 1
        behind = 0
        for index in range(len(groups) - 1, 0, -1):
            behind += len(groups[index])
            pause_ms = groups[index][0].start_ms - groups[index - 1][-1].end_ms
            if behind >= _LOOKAHEAD or pause_ms > MAX_PAUSE_MS:
                return index
        return 0

    def _find_hotwords(self) -> tuple[Sequence[WrittenSpan], Sequence[tuple[int, int, str]]]:
        """Corrections, and where hotwords were recognized as they are written."""
        corrector = self._stages.corrector
        if corrector is None:
            return (), ()
        try:
            return corrector.spans(self._pending), corrector.spoken(self._pending)
        except NormalizationError:
            self._note("hotwords")
            return (), ()

    def _marked(
        self, meant: Sequence[Token], ranges: Sequence[Range], *, closed: bool
    ) -> list[Token]:
        """The pending tokens with marks, chosen by the words that are ``meant``."""
        tokens = self._pending
        punctuator = self._stages.punctuator
        if not self._stages.marks or punctuator is None:
            return tokens if any(token.mark for token in tokens) else comma_at_pauses(tokens)
        try:
            marks = punctuator.marks(meant, protected=ranges, context=self._context, closed=closed)
        except NormalizationError:
            self._note("punctuation")
            return tokens if any(token.mark for token in tokens) else comma_at_pauses(tokens)
        return [
            replace(token, mark=mark or (token.mark if token.mark == _KEPT_MARK else ""))
            for token, mark in zip(tokens, marks, strict=True)
        ]

    def _sentence(
        self,
        group: tuple[Token, ...],
        following: Token | None,
        first: int,
        fixes: Sequence[WrittenSpan],
        ranges: Sequence[Range],
    ) -> Sentence:
        """One sentence of the pending tokens, from index ``first`` on."""
        end = first + len(group)
        closed = close_sentence(group, following) if self._stages.marks else group
        own = [
            replace(fix, first_token=fix.first_token - first, last_token=fix.last_token - first)
            for fix in fixes
            if first <= fix.first_token < end
        ]
        kept = [(begin - first, last - first) for begin, last in ranges if first <= begin < end]
        spans = _sorted([*own, *self._numbers(closed, kept)])
        words = self._stages.corrector.words if self._stages.corrector else ()
        spans = _sorted([*spans, *polish_spans(closed, spans, self._stages.polish, keep=words)])
        if not self._stages.marks:
            closed = tuple(replace(token, mark="") for token in group)
        return Sentence(closed, spans, self._speaker, self._stages.polish.spacing)

    def _numbers(self, tokens: Sequence[Token], kept: Sequence[Range]) -> Sequence[WrittenSpan]:
        normalizer = self._stages.normalizer
        if normalizer is None:
            return ()
        try:
            return normalizer.spans(tokens, style=self._stages.style, protected=kept)
        except NormalizationError:
            self._note("normalization")
            return ()

    def _note(self, stage: str) -> None:
        logger.warning("%s failed", stage, exc_info=True)
        self.failed.add(stage)


def sum_uses(reports: Iterable[Sequence[HotwordUse]]) -> tuple[HotwordUse, ...]:
    """The sums of several reports on the same words."""
    sums: dict[str, HotwordUse] = {}
    for use in (use for report in reports for use in report):
        before = sums.get(use.word, HotwordUse(use.word, 0, 0))
        recognized = before.recognized + use.recognized
        sums[use.word] = HotwordUse(use.word, recognized, before.corrected + use.corrected)
    return tuple(sums.values())


def _as_meant(tokens: Sequence[Token], fixes: Sequence[WrittenSpan]) -> list[Token]:
    """The tokens with the characters of corrections that have as many as were heard."""
    meant = list(tokens)
    for fix in fixes:
        heard = tokens[fix.first_token : fix.last_token + 1]
        if len(fix.written) == len(heard) and all(len(token.text) == 1 for token in heard):
            for place, text in enumerate(fix.written, fix.first_token):
                meant[place] = replace(tokens[place], text=text)
    return meant


def _ranges(spans: Iterable[WrittenSpan]) -> list[Range]:
    return [(span.first_token, span.last_token) for span in spans]


def _sorted(spans: Iterable[WrittenSpan]) -> tuple[WrittenSpan, ...]:
    return tuple(sorted(spans, key=lambda span: span.first_token))
