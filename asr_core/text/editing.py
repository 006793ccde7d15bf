"""What a person may do to the sentences of a transcript, as pure functions.

One primitive carries every edit: a :class:`Splice` puts sentences in the place of others. Words
that an edit does not touch keep their tokens and times.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from asr_core.errors import EditError
from asr_core.results import Sentence, Token, WrittenSpan
from asr_core.text.layout import Part, layout
from asr_core.text.rewrite import differences, rewrite

_CLOSE = 8  # sentences around a place: beyond them none reaches it


@dataclass(frozen=True, slots=True)
class Splice:
    """``removed`` sentences from position ``first`` on give way to ``sentences``."""

    first: int
    removed: int
    sentences: tuple[Sentence, ...]


def retext(sentence: Sentence, written: str) -> Sentence | None:
    """Let a sentence say something else.

    Args:
        sentence: as it is.
        written: its whole written text, as it is to be.

    Returns:
        A sentence whose text is exactly ``written``; ``None`` where that is blank. Words that
        stay keep times, confidence and spoken form; typed ones have the time of what they
        replace or of the gap they stand in, and confidence 1.
    """
    return rewrite(sentence, differences(sentence.text, written))


def split(sentence: Sentence, token_index: int) -> tuple[Sentence, Sentence]:
    """Cut a sentence in front of a token.

    Raises:
        EditError: nothing stands on one side (``empty``), or the cut is inside what is written
            as one (``inside``).
    """
    if not 0 < token_index < len(sentence.tokens):
        raise EditError("nothing to cut off there", reason="empty")
    if any(span.first_token < token_index <= span.last_token for span in sentence.spans):
        raise EditError("the cut is inside a word", reason="inside")
    parts = layout(sentence)
    cut = next(part.start for part in parts if part.first_token >= token_index)
    left_text, right_text = sentence.text[:cut].rstrip(" "), sentence.text[cut:].lstrip(" ")
    if not left_text or not right_text:
        raise EditError("nothing to cut off there", reason="empty")
    halves = _part(sentence, 0, token_index), _part(sentence, token_index, len(sentence.tokens))
    # What is left out at the cut may have given its mark to the other half.
    left, right = retext(halves[0], left_text), retext(halves[1], right_text)
    if left is None or right is None:
        raise EditError("nothing to cut off there", reason="empty")
    return left, right


def split_at(sentence: Sentence, offset: int) -> tuple[Sentence, Sentence]:
    """Cut a sentence in front of a character of its written text, also inside a word.

    A word that is cut through shares its time between its parts. A mark belongs to the left part.

    Raises:
        EditError: no word stands on one side (``empty``).
    """
    for part in layout(sentence):
        if part.start < offset < part.end:
            divided, index = _divided(sentence, part, offset - part.start)
            return split(divided, index)
        if part.is_shown and offset <= part.start:
            return split(sentence, part.first_token)
    raise EditError("nothing to cut off there", reason="empty")


def merge(sentences: Sequence[Sentence]) -> Sentence:
    """Make one sentence of several that follow each other; the first speaker that is known stays.

    Args:
        sentences: at least one.

    Raises:
        EditError: they were said at the same time (``overlap``), by different channels.
    """
    tokens: list[Token] = []
    spans: list[WrittenSpan] = []
    for sentence in sentences:
        if tokens and sentence.start_ms < tokens[-1].end_ms:
            raise EditError("these sentences were said at the same time", reason="overlap")
        shift = len(tokens)
        tokens += _quiet_start(sentence)
        spans += _moved(sentence.spans, shift)
    speaker = next((sentence.speaker for sentence in sentences if sentence.speaker), "")
    return Sentence(tuple(tokens), tuple(spans), speaker, sentences[0].spaced)


def set_speaker(sentence: Sentence, speaker: str) -> Sentence:
    """Say who said it; empty for nobody known."""
    return replace(sentence, speaker=speaker)


def rename_speaker(sentences: Sequence[Sentence], old: str, new: str) -> tuple[Splice, ...]:
    """Give every sentence of a speaker another name; runs of them are one splice."""
    changed = [
        set_speaker(sentence, new) if sentence.speaker == old else sentence
        for sentence in sentences
    ]
    return difference(sentences, changed)


def confirm(sentence: Sentence, first: int, last: int) -> Sentence:
    """Settle doubtful words: tokens ``first`` to ``last``, inclusive, get confidence 1."""
    tokens = tuple(
        replace(token, confidence=1.0) if first <= index <= last else token
        for index, token in enumerate(sentence.tokens)
    )
    return replace(sentence, tokens=tokens)


def drop_span(sentence: Sentence, first_token: int) -> Sentence:
    """Let tokens stand as they were recognized.

    Raises:
        EditError: no span begins there (``no_span``).
    """
    spans = tuple(span for span in sentence.spans if span.first_token != first_token)
    if len(spans) == len(sentence.spans):
        raise EditError("no correction begins there", reason="no_span")
    return replace(sentence, spans=spans)


def respaced(sentence: Sentence, spaced: bool) -> Sentence:
    """The same written text under the spacing of another transcript."""
    if sentence.spaced == spaced:
        return sentence
    return retext(replace(sentence, spaced=spaced), sentence.text) or sentence


def replace_words(
    sentences: Sequence[Sentence], start_ms: int, end_ms: int, new: Sequence[Sentence]
) -> Splice:
    """Put new sentences in the place of the words of a stretch of time.

    A word belongs to the stretch that its middle lies in. Sentences that reach beyond it are cut
    there; a span that is cut through lets its tokens stand as they were recognized.

    Args:
        sentences: of the whole transcript, in order.
        start_ms: of the stretch, in the recording.
        end_ms: one past its end.
        new: what was said there, times in the recording. Without speakers they get the first
            one of those whose words they replace.
    """
    touched = [
        index
        for index, sentence in enumerate(sentences)
        if any(_is_inside(token, start_ms, end_ms) for token in sentence.tokens)
    ]
    if not touched:
        place = sum(sentence.start_ms < start_ms for sentence in sentences)
        around = _around(sentences, place, place)
        return Splice(place, 0, tuple(_fitted(one, *around) for one in new))
    first, last = touched[0], touched[-1]
    kept_before: list[Sentence] = []
    kept_behind: list[Sentence] = []
    for sentence in sentences[first : last + 1]:
        middle = [_is_inside(token, start_ms, end_ms) for token in sentence.tokens]
        if True not in middle:
            side = kept_before if sentence.start_ms < start_ms else kept_behind
            side.append(sentence)
            continue
        begin, end = middle.index(True), len(middle) - middle[::-1].index(True)
        if begin:
            kept_before.append(_part(sentence, 0, begin))
        if end < len(middle):
            kept_behind.append(_part(sentence, end, len(middle)))
    speaker = sentences[first].speaker
    named = [replace(one, speaker=one.speaker or speaker) for one in new]
    left, right = _around(sentences, first, last + 1)
    fitted = [_fitted(one, [*left, *kept_before], [*kept_behind, *right]) for one in named]
    return Splice(first, last + 1 - first, (*kept_before, *fitted, *kept_behind))


def difference(before: Sequence[Sentence], after: Sequence[Sentence]) -> tuple[Splice, ...]:
    """The splices that change single sentences, where neither number nor order changes."""
    splices: list[Splice] = []
    for index, (old, new) in enumerate(zip(before, after, strict=True)):
        if old is new or old == new:
            continue
        last = splices[-1] if splices else None
        if last is not None and last.first + last.removed == index:
            splices[-1] = Splice(last.first, last.removed + 1, (*last.sentences, new))
        else:
            splices.append(Splice(index, 1, (new,)))
    return tuple(splices)


def _part(sentence: Sentence, begin: int, end: int) -> Sentence:
    """Tokens ``begin`` to ``end`` with the spans that lie inside."""
    spans = [span for span in sentence.spans if begin <= span.first_token and span.last_token < end]
    return replace(sentence, tokens=sentence.tokens[begin:end], spans=tuple(_moved(spans, -begin)))


def _moved(spans: Sequence[WrittenSpan], shift: int) -> list[WrittenSpan]:
    return [
        replace(span, first_token=span.first_token + shift, last_token=span.last_token + shift)
        for span in spans
    ]


def _divided(sentence: Sentence, part: Part, length: int) -> tuple[Sentence, int]:
    """A word as two tokens, ``length`` characters in the first; and the index of the second."""
    first, last = sentence.tokens[part.first_token], sentence.tokens[part.last_token]
    text = sentence.text[part.start : part.end]
    middle_ms = first.start_ms + (last.end_ms - first.start_ms) * length // len(text)
    confidence = first.confidence if part.first_token == part.last_token else 1.0
    halves = (
        Token(text[:length], first.start_ms, middle_ms, confidence),
        Token(text[length:], middle_ms, last.end_ms, confidence, last.mark),
    )
    before, behind = sentence.tokens[: part.first_token], sentence.tokens[part.last_token + 1 :]
    shift = len(halves) - (part.last_token + 1 - part.first_token)
    spans = [
        *(span for span in sentence.spans if span.last_token < part.first_token),
        *_moved([s for s in sentence.spans if s.first_token > part.last_token], shift),
    ]
    divided = replace(sentence, tokens=(*before, *halves, *behind), spans=tuple(spans))
    return divided, part.first_token + 1


def _quiet_start(sentence: Sentence) -> tuple[Token, ...]:
    """Tokens whose marks do not reach what stands before the sentence.

    What is left out at its start would give its mark to the sentence before.
    """
    tokens = list(sentence.tokens)
    for part in layout(sentence):
        if part.is_shown:
            break
        tokens[part.last_token] = replace(tokens[part.last_token], mark="")
    return tuple(tokens)


def _is_inside(token: Token, start_ms: int, end_ms: int) -> bool:
    return start_ms <= (token.start_ms + token.end_ms) // 2 < end_ms


def _around(
    sentences: Sequence[Sentence], first: int, end: int
) -> tuple[Sequence[Sentence], Sequence[Sentence]]:
    """Sentences close before ``first`` and from ``end`` on, of any speaker."""
    return sentences[max(first - _CLOSE, 0) : first], sentences[end : end + _CLOSE]


def _fitted(sentence: Sentence, before: Sequence[Sentence], behind: Sequence[Sentence]) -> Sentence:
    """A new sentence with times between those of the same speaker around it."""
    low = max((s.end_ms for s in before if s.speaker == sentence.speaker), default=0)
    limits = [s.start_ms for s in behind if s.speaker == sentence.speaker]
    high = max(min(limits), low) if limits else None

    def clamped(time_ms: int) -> int:
        raised = max(time_ms, low)
        return raised if high is None else min(raised, high)

    tokens = tuple(
        replace(token, start_ms=clamped(token.start_ms), end_ms=clamped(token.end_ms))
        for token in sentence.tokens
    )
    return replace(sentence, tokens=tokens)
