"""Subtitle cues: what stands on the screen from when to when.

A cue has at most two lines, usually of 21 Chinese characters, and lasts at most seven seconds. It
breaks at punctuation, then at pauses, never inside a Latin word or a written number. People who
talk at once have cues at once.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from asr_core.export.clean import one_line
from asr_core.results import Sentence, Transcript, join_text
from asr_core.text.tokens import text_width

MAX_LINE_CHARS = 21
MAX_CUE_MS = 7000
MIN_CUE_MS = 1000
_LEAST_MS = 40  # one frame at 25 frames a second: a cue without own time still shows
_LONG_PAUSE_MS = 200
_TRAILING = frozenset("的了吗呢吧着过们地得啊呀嘛")


@dataclass(frozen=True, slots=True)
class CueWord:
    """What is never broken, as it stands in its line: with the space before it and its mark."""

    text: str
    start_ms: int
    end_ms: int


@dataclass(frozen=True, slots=True)
class Cue:
    """One subtitle.

    Attributes:
        lines: ``text`` broken for the screen.
        text: the whole line.
        speaker: who says it, empty when unknown.
        words: of each line; their times may lie outside the cue's, which are mended.
    """

    start_ms: int
    end_ms: int
    lines: tuple[str, ...]
    text: str
    speaker: str = ""
    words: tuple[tuple[CueWord, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class _Atom:
    """What is never broken: a character, a Latin word or a written span, with its mark.

    Attributes:
        shown: text and mark as they stand behind the atom before, with a space where one belongs.
        width: of ``shown``.
        size: width of text and mark, wherever they stand.
    """

    text: str
    mark: str
    start_ms: int
    end_ms: int
    shown: str = ""
    width: float = 0.0
    size: float = 0.0


def build_cues(
    transcript: Transcript, *, names: bool = False, line_chars: int = MAX_LINE_CHARS
) -> list[Cue]:
    """Cut a transcript into subtitles.

    Args:
        transcript: of any recording.
        names: put the speaker's name before the text wherever the speaker changes.
        line_chars: width of a line in Chinese characters.

    Returns:
        Cues by start; those of one speaker do not overlap. Every written character stands in
        exactly one cue. A word wider than a line gets a line of its own; a word longer than seven
        seconds is shown for seven.
    """
    cues: list[Cue] = []
    last = ""
    for sentence in transcript.sentences:
        speaker = one_line(sentence.speaker)
        atoms = _atoms(sentence)
        if not atoms:
            continue
        if names and speaker != last:
            atoms[0] = _named(atoms[0], speaker)
        last = speaker
        groups = _split(_joined(atoms), line_chars)
        cues.extend(_cue(group, speaker, line_chars) for group in groups)
    return _timed(cues, transcript.duration_ms)


def _named(atom: _Atom, speaker: str) -> _Atom:
    """A name is never broken from the words that follow it."""
    return replace(atom, text=f"{speaker}：{atom.text}") if speaker else atom


def _atoms(sentence: Sentence) -> list[_Atom]:
    tokens = sentence.tokens
    lasts = {span.first_token: span.last_token for span in sentence.spans}
    atoms: list[_Atom] = []
    index = 0
    for text, mark in sentence.written_parts():
        last = lasts.get(index, index)
        shown = one_line(text)
        if shown and text[0] == " " and atoms:
            shown = " " + shown
        atom = _Atom(shown, one_line(mark), tokens[index].start_ms, tokens[last].end_ms)
        if atom.text or atom.mark:
            atoms.append(atom)
        index = last + 1
    return atoms


def _joined(atoms: Sequence[_Atom]) -> list[_Atom]:
    """The atoms with what they add to their line."""
    joined = []
    last = ""
    for atom in atoms:
        shown = join_text(((last, ""), (atom.text, atom.mark)))[len(last) :]
        last = shown[-1:] or last
        joined.append(
            _Atom(
                *(atom.text, atom.mark, atom.start_ms, atom.end_ms, shown, text_width(shown)),
                text_width(atom.text + atom.mark),
            )
        )
    return joined


def _split(atoms: Sequence[_Atom], line_chars: int) -> Iterator[Sequence[_Atom]]:
    """Halve at the best break until every part fits."""
    waiting = [atoms]
    while waiting:
        part = waiting.pop()
        if len(part) == 1 or _fits(part, line_chars):
            yield part
        else:
            cut = _best_break(part, range(1, len(part)))
            waiting += [part[cut:], part[:cut]]


def _fits(atoms: Sequence[_Atom], line_chars: int) -> bool:
    if atoms[-1].end_ms - atoms[0].start_ms > MAX_CUE_MS:
        return False
    return _line_fits(atoms, line_chars) or bool(_line_breaks(atoms, line_chars))


def _line_fits(atoms: Sequence[_Atom], line_chars: int) -> bool:
    return len(atoms) == 1 or _width(atoms) <= line_chars


def _line_breaks(atoms: Sequence[_Atom], line_chars: int) -> list[int]:
    """Where two lines fit; a word that is alone on its line may be wider."""
    total = _width(atoms)
    if total > 2 * line_chars + 1 and len(atoms) > 2:
        return []
    cuts = []
    left = -_space(atoms[0])
    for cut in range(1, len(atoms)):
        left += atoms[cut - 1].width
        left_fits = cut == 1 or left <= line_chars
        right = total - left - _space(atoms[cut])
        right_fits = cut == len(atoms) - 1 or right <= line_chars
        if left_fits and right_fits:
            cuts.append(cut)
    return cuts


def _best_break(atoms: Sequence[_Atom], cuts: Sequence[int]) -> int:
    """The cut with the strongest mark, then the longer pause, then nearest to the middle.

    Cuts that leave less than a quarter on one side are taken only when there is no other.
    """
    lefts = [*itertools.accumulate((atom.size for atom in atoms), initial=0.0)]
    total = lefts[-1] or 1.0
    shares = [left / total for left in lefts]
    middle = [cut for cut in cuts if 0.25 <= shares[cut] <= 0.75]

    def quality(cut: int) -> tuple[int, int, float]:
        before, after = atoms[cut - 1], atoms[cut]
        pause = after.start_ms - before.end_ms >= _LONG_PAUSE_MS
        return _mark_rank(before.mark, after.text), int(pause), -abs(shares[cut] - 0.5)

    return max(middle or cuts, key=quality)


def _mark_rank(mark: str, following: str) -> int:
    if mark and mark not in "、·":
        return 3
    if mark == "、":
        return 2
    return 0 if mark or following[:1] in _TRAILING else 1


def _cue(atoms: Sequence[_Atom], speaker: str, line_chars: int) -> Cue:
    parts = [atoms]
    if not _line_fits(atoms, line_chars):
        cut = _best_break(atoms, _line_breaks(atoms, line_chars))
        parts = [atoms[:cut], atoms[cut:]]
    words = tuple(_words(part) for part in parts)
    lines = tuple("".join(word.text for word in line) for line in words)
    return Cue(atoms[0].start_ms, atoms[-1].end_ms, lines, _join(atoms), speaker, words)


def _words(atoms: Sequence[_Atom]) -> tuple[CueWord, ...]:
    """What stands in a line; it does not begin with a space."""
    words = [CueWord(atom.shown, atom.start_ms, atom.end_ms) for atom in atoms]
    words[0] = replace(words[0], text=words[0].text.lstrip())
    return tuple(words)


def _join(atoms: Sequence[_Atom]) -> str:
    return "".join(atom.shown for atom in atoms).lstrip()


def _width(atoms: Sequence[_Atom]) -> float:
    """Of a line that begins with the first atom."""
    return sum(atom.width for atom in atoms) - _space(atoms[0])


def _space(atom: _Atom) -> float:
    return text_width(" ") if atom.shown[:1] == " " else 0.0


def _timed(cues: Sequence[Cue], duration_ms: int) -> list[Cue]:
    """Order the times of each speaker, and let a short cue stand into the gap that follows it."""
    ordered = sorted(cues, key=lambda cue: cue.start_ms)
    following = [cue.start_ms for cue in ordered[1:]] + [duration_ms]
    timed: list[Cue] = []
    latest: dict[str, int] = {}  # speaker to the index of the last cue
    for cue, next_ms in zip(ordered, following, strict=False):
        start = cue.start_ms
        if cue.speaker in latest:
            before = timed[latest[cue.speaker]]
            end = max(min(before.end_ms, start), before.start_ms + _LEAST_MS)
            timed[latest[cue.speaker]] = replace(before, end_ms=end)
            start = max(start, end)
        end = max(cue.end_ms, start + _LEAST_MS, min(start + MIN_CUE_MS, next_ms))
        latest[cue.speaker] = len(timed)
        timed.append(replace(cue, start_ms=start, end_ms=min(end, start + MAX_CUE_MS)))
    return sorted(timed, key=lambda cue: cue.start_ms)
