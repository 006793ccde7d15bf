"""Where a moment of several segments laid end to end lies in the recording, and back."""

from __future__ import annotations

import itertools
from bisect import bisect_right
from collections.abc import Iterable

from asr_core.errors import UsageError


class Timeline:
    """The map between the joined waveform of some segments and their recording.

    Positions are samples. It is strictly monotone both ways, and :meth:`to_joined` inverts
    :meth:`to_file`.

    Args:
        spans: ``(start, end)`` of the segments in the recording, half-open, none empty, sorted and
            disjoint; at least one.

    Raises:
        UsageError: they are not.
    """

    def __init__(self, spans: Iterable[tuple[int, int]]) -> None:
        self._spans = tuple(spans)
        bounds = [0, *itertools.chain.from_iterable(self._spans)]
        if not self._spans or any(start >= end for start, end in self._spans):
            raise UsageError("A timeline takes one segment or more, none empty")
        if any(later < earlier for earlier, later in itertools.pairwise(bounds)):
            raise UsageError("The segments of a timeline must be sorted and disjoint")
        lengths = [end - start for start, end in self._spans]
        self._offsets = [0, *itertools.accumulate(lengths)]  # of each segment, then the end

    @property
    def samples(self) -> int:
        """Length of the joined waveform."""
        return self._offsets[-1]

    def index_at(self, position: int) -> int:
        """Which segment holds a position of the joined waveform.

        Raises:
            UsageError: it is outside ``[0, samples)``.
        """
        if not 0 <= position < self.samples:
            raise UsageError(f"{position} is not within [0, {self.samples})")
        return bisect_right(self._offsets, position) - 1

    def to_file(self, position: int) -> int:
        """Position in the recording of a position of the joined waveform.

        Raises:
            UsageError: it is outside ``[0, samples)``.
        """
        return position + self._shift(self.index_at(position))

    def to_joined(self, position: int) -> int:
        """Position in the joined waveform of a position of the recording.

        Raises:
            UsageError: no segment holds it.
        """
        index = bisect_right(self._spans, position, key=lambda span: span[0]) - 1
        if index < 0 or position >= self._spans[index][1]:
            raise UsageError(f"No segment holds {position}")
        return position - self._shift(index)

    def within(self, index: int, start: int, end: int) -> tuple[int, int]:
        """Interval of the recording for an interval of the joined waveform.

        Args:
            index: the segment that takes it; its bounds clip what lies outside, even all of it.
            start: first sample, of any position.
            end: one past the last, at least ``start``.
        """
        first, last = self._spans[index]
        shift = self._shift(index)
        return min(max(start + shift, first), last), min(max(end + shift, first), last)

    def _shift(self, index: int) -> int:
        """What lies between a position in the recording and in the joined waveform."""
        return self._spans[index][0] - self._offsets[index]
