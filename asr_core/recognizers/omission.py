"""Speech that an autoregressive recognizer passed over without a word, or wrote twice."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from asr_core.audio.segmenter import Segment
from asr_core.results import SAMPLE_RATE_HZ, Token

_MS_SAMPLES = SAMPLE_RATE_HZ // 1000
_SHORT_MS = 1000  # less speech than this may well hold no word: breaths, clicks
_SLOWEST_CHARS_PER_S = 1.5  # slow Mandarin has 2.5 syllables a second
_FASTEST_CHARS_PER_S = 9.0  # the fastest announcers reach eight syllables a second
_LONGEST_HOLE_MS = 2000  # the detector would have cut a pause of this length out


def is_doubtful(segment: Segment, tokens: Sequence[Token]) -> bool:
    """Whether the tokens of a segment cannot be all that was said in it.

    Doubtful are: no text at all, fewer characters than slow speech has, more than fast speech
    has, and a stretch of speech in which no token begins (an alignment draws a token over what
    was passed over).
    """
    start_ms = segment.speech_start // _MS_SAMPLES
    end_ms = segment.speech_end // _MS_SAMPLES
    speech_ms = end_ms - start_ms
    if speech_ms < _SHORT_MS:
        return False
    chars = sum(len(token.text) for token in tokens)
    if chars * 1000 < _SLOWEST_CHARS_PER_S * speech_ms or is_too_dense(segment, tokens):
        return True
    starts = [start_ms, *(token.start_ms for token in tokens), end_ms]
    return any(later - earlier > _LONGEST_HOLE_MS for earlier, later in itertools.pairwise(starts))


def is_too_dense(segment: Segment, tokens: Sequence[Token]) -> bool:
    """Whether nobody can have said so much in the padded length of the segment."""
    length_ms = (segment.end - segment.start) // _MS_SAMPLES
    chars = sum(len(token.text) for token in tokens)
    return chars * 1000 > _FASTEST_CHARS_PER_S * max(length_ms, _SHORT_MS)
