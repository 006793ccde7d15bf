"""Where the tokens of a sentence stand in its written text, character by character."""

from __future__ import annotations

from dataclasses import dataclass

from asr_core.results import Sentence, needs_space


@dataclass(frozen=True, slots=True)
class Part:
    """What one span, or one token without a span, gives to the written text.

    Attributes:
        first_token: index of the first token.
        last_token: index of the last token, inclusive.
        start: offset of its first character in the text.
        end: offset behind its last character; ``start`` where the text leaves the tokens out.
        mark_end: offset behind the punctuation that follows it.
    """

    first_token: int
    last_token: int
    start: int
    end: int
    mark_end: int

    @property
    def is_shown(self) -> bool:
        return self.end > self.start


def layout(sentence: Sentence) -> list[Part]:
    """The parts of a sentence in order, offsets in :attr:`Sentence.text`."""
    spans = {span.first_token: span for span in sentence.spans}
    parts: list[Part] = []
    index = offset = 0
    tail = ""  # the end of the last shown text with its mark
    for text, mark in sentence.written_parts():
        span = spans.get(index)
        first, last = index, span.last_token if span else index
        index = last + 1
        if not text:
            parts.append(Part(first, last, offset, offset, offset))
            continue
        own = span.written if span else sentence.tokens[first].text
        # A space before it belongs to nobody: the joining rule or the spacing of scripts adds it.
        spaces = len(text) - len(own) + int(bool(tail) and needs_space(tail, text))
        start = offset + spaces
        end = start + len(own)
        offset = end + len(mark)
        parts.append(Part(first, last, start, end, offset))
        tail = (text + mark)[-1]
    return parts
