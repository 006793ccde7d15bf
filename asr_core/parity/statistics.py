"""How far apart two series of arrays are, without keeping them."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from asr_core.runtime.session import Array


@dataclass(frozen=True, slots=True)
class Difference:
    """How far apart the values of a stage are.

    Attributes:
        values: how many were compared; 0 where nothing could be.
        cosine: of the angle between both, all values as one vector.
        max_abs: largest difference.
        mean_abs: mean of the differences.
        relative: length of the difference by the length of the reference.
        unpaired: arrays that only one side has, or that have another shape.
        worst: number of the array, from 0, with the largest difference; -1 without values.
    """

    values: int
    cosine: float
    max_abs: float
    mean_abs: float
    relative: float
    unpaired: int
    worst: int


@dataclass(slots=True)
class DifferenceSum:
    """Adds up the differences of a stage; sums are of double precision."""

    _values: int = 0
    _unpaired: int = 0
    _arrays: int = 0
    _worst: int = -1
    _max_abs: float = 0.0
    _sum_abs: float = 0.0
    # Of the products reference * reference, other * other, reference * other and the squared
    # differences.
    _sums: npt.NDArray[np.float64] = field(default_factory=lambda: np.zeros(4))

    def add(self, reference: Array, other: Array) -> None:
        """One more pair of arrays; of other shapes they are only counted."""
        number = self._arrays
        self._arrays += 1
        if reference.shape != other.shape:
            self._unpaired += 1
            return
        if not reference.size:
            return
        left, right = _flat(reference), _flat(other)
        # Infinities of both sides are no number apart: that must show.
        with np.errstate(invalid="ignore", over="ignore"):
            apart = np.abs(left - right)
            self._sums += [left @ left, right @ right, left @ right, apart @ apart]
            largest, total = float(apart.max()), float(apart.sum())
        # What is no number counts as the largest difference, and stays it.
        if self._worst < 0 or not (largest <= self._max_abs or math.isnan(self._max_abs)):
            self._worst, self._max_abs = number, largest
        self._sum_abs += total
        self._values += left.size

    def miss(self, arrays: int) -> None:
        """Arrays that the other side does not have."""
        self._arrays += arrays
        self._unpaired += arrays

    def result(self) -> Difference:
        """What was added so far."""
        left, right, both, apart = self._sums.tolist()
        return Difference(
            values=self._values,
            cosine=_cosine(left, right, both),
            max_abs=self._max_abs,
            mean_abs=self._sum_abs / max(self._values, 1),
            relative=_ratio(math.sqrt(apart), math.sqrt(left)),
            unpaired=self._unpaired,
            worst=self._worst,
        )


def _flat(array: Array) -> npt.NDArray[np.float64]:
    flat: npt.NDArray[Any] = np.ascontiguousarray(array).reshape(-1)
    return flat.astype(np.float64)


def _cosine(left: float, right: float, both: float) -> float:
    if not left and not right:
        return 1.0
    lengths = math.sqrt(left) * math.sqrt(right)
    # A sum of rounded products may pass the product of the lengths.
    return _limited(both / lengths) if lengths else 0.0


def _limited(value: float) -> float:
    return value if math.isnan(value) else min(max(value, -1.0), 1.0)


def _ratio(part: float, whole: float) -> float:
    if not part:
        return 0.0
    return part / whole if whole else math.inf
