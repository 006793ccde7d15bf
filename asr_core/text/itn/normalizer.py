"""Spoken numbers to written numbers, as a newspaper prints them.

A number becomes digits where a rule expects one: from ten upwards almost everywhere, below ten in
dates, clock times, measurements, scores and numbering. Approximations (三五个, 几百), fixed words
(一起, 十分, 双十一) and the unit words themselves keep their characters; in doubt nothing changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from asr_core.errors import NormalizationError
from asr_core.results import Token, WrittenSpan
from asr_core.text.itn.engine import find_edits
from asr_core.text.itn.lexicon import load_lexicon
from asr_core.text.itn.line import Edit
from asr_core.text.itn.style import ItnStyle
from asr_core.text.itn.user_rules import RuleProblem, RuleSet, UserRules

_DEFAULT_STYLE = ItnStyle()


class InverseNormalizer(Protocol):
    """Finds what is written differently from how it is spoken."""

    @property
    def problems(self) -> tuple[RuleProblem, ...]:
        """Lines of the user's own rules that cannot be used, as the file is now."""
        ...

    def spans(
        self,
        tokens: Sequence[Token],
        *,
        style: ItnStyle = _DEFAULT_STYLE,
        protected: Sequence[tuple[int, int]] = (),
    ) -> tuple[WrittenSpan, ...]:
        """Written spans of one sentence: disjoint, sorted, indices into ``tokens``.

        Args:
            tokens: of one sentence, with their marks.
            style: how numbers are written.
            protected: inclusive token ranges that nothing may touch.

        Raises:
            NormalizationError: the normalizer failed; the spoken form stands.
        """
        ...


class RuleNormalizer:
    """The decision list over the project's word lists, after the user's own rules. Thread-safe.

    Args:
        user_rules: file of ``词 => 词`` lines, read again when it changes.
        allow_patterns: whether its ``re:`` lines are used.

    Raises:
        NormalizationError: a word list of the project is missing or cannot be read.
    """

    def __init__(self, user_rules: Path | None = None, *, allow_patterns: bool = False) -> None:
        try:
            self._lexicon = load_lexicon()
        except (OSError, ValueError) as exc:
            reason = str(exc)
            raise NormalizationError(f"word lists cannot be read: {exc}", reason=reason) from exc
        self._user_rules = (
            UserRules(user_rules, allow_patterns=allow_patterns) if user_rules else None
        )

    @property
    def problems(self) -> tuple[RuleProblem, ...]:
        """Lines of the user's own rules that cannot be used, as the file is now."""
        return self._current().problems

    def spans(
        self,
        tokens: Sequence[Token],
        *,
        style: ItnStyle = _DEFAULT_STYLE,
        protected: Sequence[tuple[int, int]] = (),
    ) -> tuple[WrittenSpan, ...]:
        """Written spans of one sentence: disjoint, sorted, indices into ``tokens``.

        A span begins and ends with a token and covers no token with a mark but its last one.

        Args:
            tokens: of one sentence, with their marks.
            style: how numbers are written.
            protected: inclusive token ranges that nothing may touch.
        """
        text, begins = _layout(tokens)
        ends = [begin + len(tokens[index].text) for index, begin in enumerate(begins)]
        blocked = [
            (begins[max(first, 0)], ends[min(last, len(tokens) - 1)])
            for first, last in protected
            if first <= last and last >= 0 and max(first, 0) < len(tokens)
        ]
        first_at = {begin: index for index, begin in enumerate(begins)}
        last_at = {end: index for index, end in enumerate(ends)}
        spans = []
        for edit in self._edits(text, style, blocked):
            first, last = first_at.get(edit.begin), last_at.get(edit.end)
            if first is None or last is None or not edit.written:
                continue
            if not any(token.mark for token in tokens[first:last]):
                spans.append(WrittenSpan(first, last, edit.written))
        return tuple(spans)

    def write(self, text: str, *, style: ItnStyle = _DEFAULT_STYLE) -> str:
        """The written form of plain text; everything but its numbers stays as it is."""
        parts: list[str] = []
        done = 0
        for edit in self._edits(text, style, ()):
            if edit.begin > done:
                parts.append(text[done : edit.begin])
            elif parts and _touch(parts[-1], edit.written):
                parts.append(" ")
            parts.append(edit.written)
            done = edit.end
        parts.append(text[done:])
        return "".join(parts)

    def _edits(self, text: str, style: ItnStyle, blocked: Sequence[tuple[int, int]]) -> list[Edit]:
        """Edits of the user and of the rules, in order; an edit never enters a blocked range."""
        own = [
            edit
            for edit in self._current().edits(text)
            if all(edit.end <= begin or end <= edit.begin for begin, end in blocked)
        ]
        taken = [*blocked, *((edit.begin, edit.end) for edit in own)]
        found = find_edits(text, self._lexicon, style, taken)
        if not own:
            return found
        changed = [edit for edit in own if edit.written != text[edit.begin : edit.end]]
        return sorted([*changed, *found], key=lambda edit: edit.begin)

    def _current(self) -> RuleSet:
        return self._user_rules.current() if self._user_rules else _NO_RULES


_NO_RULES = RuleSet()


def _touch(before: str, written: str) -> bool:
    """Whether two numbers side by side would run together."""
    return before[-1:].isascii() and before[-1:].isalnum() and written[:1].isdigit()


def _layout(tokens: Sequence[Token]) -> tuple[str, list[int]]:
    """The spoken line with marks, and where each token starts in it."""
    parts: list[str] = []
    begins: list[int] = []
    length = 0
    last = ""
    for token in tokens:
        if last and last.isascii() and token.text[:1].isascii():
            parts.append(" ")
            length += 1
        begins.append(length)
        parts.append(token.text + token.mark)
        length += len(token.text) + len(token.mark)
        last = (token.text + token.mark)[-1:]
    return "".join(parts), begins
