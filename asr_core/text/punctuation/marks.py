"""From the scores of a punctuation model to marks: the policy that every model passes through.

Owns which mark a token gets and its width. Knows nothing of what computes the scores.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from asr_core.errors import UsageError
from asr_core.results import Token
from asr_core.runtime.session import Float32
from asr_core.text.punctuation.base import MARKS, PunctuationModel
from asr_core.text.punctuation.lines import insert_marks, parse_line, strip_marks
from asr_core.text.punctuation.places import allowed_places, possible_lists
from asr_core.text.tokens import MAX_PAUSE_MS, is_wide

_NONE = MARKS.index("")
_LISTING = MARKS.index("、")
_END_MARKS = ("。", "？", "！")
_ENDS = tuple(MARKS.index(mark) for mark in _END_MARKS)
_HALF_WIDTH = {"，": ",", "。": ".", "？": "?", "！": "!", "；": ";", "：": ":"}
_IMPOSSIBLE = -1e4


def place_marks(
    tokens: Sequence[Token],
    scores: Float32,
    *,
    protected: Sequence[tuple[int, int]] = (),
    closed: bool,
) -> tuple[str, ...]:
    """Choose the mark behind each token.

    The best score decides, except that a mark never stands inside a number, a spelled acronym, a
    common word or a protected range, nor before a particle that cannot begin a clause (吗 的 了).
    Such a mark moves to the next place where one may stand, if its chances at both places are on
    average better than no mark there; else it falls away. The digits of a number are a list where
    、 scores best at every place inside (三、五、七). Between Latin words a mark is half-width.

    Args:
        tokens: spoken tokens; their own marks play no part.
        scores: float32 (tokens, len(MARKS)), as a :class:`PunctuationModel` gives them.
        protected: inclusive ranges of tokens that no mark divides: hotwords, corrections.
        closed: the text ends here: the last token gets 。？ or ！. Else it goes on.

    Returns:
        One mark for each token, "" for none.

    Raises:
        UsageError: ``scores`` has another shape.
    """
    if scores.shape != (len(tokens), len(MARKS)):
        raise UsageError(f"Scores of shape {scores.shape} for {len(tokens)} tokens")
    if not tokens:
        return ()
    scores = np.nan_to_num(scores, nan=_IMPOSSIBLE, neginf=_IMPOSSIBLE, posinf=-_IMPOSSIBLE)
    choice = scores.argmax(axis=1)
    allowed = allowed_places(tokens, protected)
    for first, last in _lists(tokens, choice, protected):
        allowed[first:last] = [True] * (last - first)
    chosen = _move_forbidden(choice, scores, allowed)
    if closed:
        chosen[-1] = max(_ENDS, key=lambda mark: scores[-1, mark])
    return tuple(_fit_width(tokens, [MARKS[mark] for mark in chosen]))


def punctuate_text(model: PunctuationModel, text: str) -> str:
    """Punctuate one plain line of any length anew.

    Marks that the line has are taken out where they are punctuation (see
    :func:`~asr_core.text.punctuation.lines.strip_marks`); everything else stays in place, but for
    spaces beside a new full-width mark. The line is closed with a sentence end unless it ends with
    an ellipsis or a dash.

    Raises:
        NormalizationError: from the model.
    """
    line = parse_line(strip_marks(text))
    if not line.tokens:
        return line.text
    scores = model.score([token.text for token in line.tokens], None)
    return insert_marks(line, place_marks(line.tokens, scores, protected=line.kept, closed=True))


@dataclass(frozen=True, slots=True)
class Punctuator:
    """Marks for transcripts; usable from any thread, for those of several jobs share a model.

    Attributes:
        model: scores the places, for one thread after the other.
    """

    model: PunctuationModel
    _turn: threading.Lock = field(default_factory=threading.Lock, repr=False, compare=False)

    def marks(
        self,
        tokens: Sequence[Token],
        *,
        protected: Sequence[tuple[int, int]] = (),
        context: Sequence[Token] = (),
        closed: bool,
        known_pauses: bool = True,
    ) -> tuple[str, ...]:
        """Choose the mark behind each token of a part of a transcript.

        Args:
            tokens: in time order; their own marks play no part.
            protected: inclusive ranges of ``tokens`` that no mark divides.
            context: what was said just before; it gets no marks and is only read.
            closed: the text ends here.
            known_pauses: the times of the tokens are measured, so the silence between them counts.

        Returns:
            One mark for each of ``tokens``, "" for none.

        Raises:
            NormalizationError: from the model.
        """
        if not tokens:
            return ()
        heard = [*context, *tokens]
        pauses_ms = _pauses_ms(heard, closed=closed) if known_pauses else None
        with self._turn:
            scores = self.model.score([token.text for token in heard], pauses_ms)
        before = len(context)
        scores = np.array(scores, dtype=np.float32)
        scores[:before] = _IMPOSSIBLE
        scores[:before, _NONE] = 0.0
        shifted = [(first + before, last + before) for first, last in protected]
        return place_marks(heard, scores, protected=shifted, closed=closed)[before:]


def _pauses_ms(tokens: Sequence[Token], *, closed: bool) -> list[int]:
    """Silence behind each token; at the end of a text there is a long one."""
    inside = [max(after.start_ms - before.end_ms, 0) for before, after in pairwise(tokens)]
    return [*inside, MAX_PAUSE_MS if closed else 0]


def _lists(
    tokens: Sequence[Token], choice: npt.NDArray[np.intp], protected: Sequence[tuple[int, int]]
) -> Iterator[tuple[int, int]]:
    """Ranges of digits or letters that the scores call a list throughout."""
    for first, last in possible_lists(tokens):
        apart = all(last <= begin or end <= first for begin, end in protected)
        if apart and (choice[first:last] == _LISTING).all():
            yield first, last


def _move_forbidden(
    choice: npt.NDArray[np.intp], scores: Float32, allowed: Sequence[bool]
) -> list[int]:
    chosen = [_NONE] * len(allowed)
    waiting = -1  # index of a mark that could not stand where the scores wanted it
    for index, may_stand in enumerate(allowed):
        mark = int(choice[index])
        if not may_stand:
            if mark not in (_NONE, _LISTING):
                waiting = index
        elif mark == _NONE and waiting >= 0:
            chosen[index] = _moved(scores[waiting], scores[index])
            waiting = -1
        else:
            chosen[index] = mark
            waiting = -1
    return chosen


def _moved(wanted: Float32, here: Float32) -> int:
    """The mark of another place, if its average chance is better than no mark here."""
    chances = np.exp(wanted - wanted.max())
    others = np.exp(here - here.max())
    together = (chances / chances.sum() + others / others.sum()) / 2
    nothing = others[_NONE] / others.sum()
    together[[_NONE, _LISTING]] = -1.0
    mark = int(together.argmax())
    return mark if together[mark] > nothing else _NONE


def _fit_width(tokens: Sequence[Token], marks: Sequence[str]) -> Iterator[str]:
    """Half-width marks between Latin words and at the end of a sentence without Chinese."""
    any_chinese = any(is_wide(token.text[-1]) for token in tokens)
    half_width = _HALF_WIDTH if any_chinese else {**_HALF_WIDTH, "、": ","}
    chinese = False  # in this sentence
    for index, (token, mark) in enumerate(zip(tokens, marks, strict=True)):
        wide = is_wide(token.text[-1])
        chinese = chinese or wide
        following = tokens[index + 1] if index + 1 < len(tokens) else None
        full = wide or (is_wide(following.text[0]) if following else chinese)
        yield mark if full else half_width.get(mark, mark)
        if mark in _END_MARKS:
            chinese = False
