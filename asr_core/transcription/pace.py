"""How long the rest of a recording will take."""

from __future__ import annotations

import bisect


class Pace:
    """An estimate from the later half of what was done.

    The first groups of segments are small and slow, and a machine may become busy or idle: what
    was done lately says more about the rest than the average since the start. Times are seconds
    of any one clock, positions seconds of the recording.
    """

    def __init__(self) -> None:
        self._positions: list[float] = []
        self._times: list[float] = []

    def restart(self, position_s: float, now_s: float) -> None:
        """Only what is done from here on counts: what came before was known already."""
        self._positions = [position_s]
        self._times = [now_s]

    def add(self, position_s: float, now_s: float) -> None:
        """So much is done now; a position that is not further on is passed over."""
        if not self._positions or position_s > self._positions[-1]:
            self._positions.append(position_s)
            self._times.append(now_s)

    def remaining_s(self, total_s: float) -> float | None:
        """Time for the rest of a recording of that length; ``None`` while nothing is done."""
        if len(self._positions) < 2:
            return None
        done = self._positions[-1]
        half = self._positions[0] + (done - self._positions[0]) / 2
        index = min(bisect.bisect_right(self._positions, half), len(self._positions) - 1) - 1
        pace = (self._times[-1] - self._times[index]) / (done - self._positions[index])
        return pace * max(total_s - done, 0.0)
