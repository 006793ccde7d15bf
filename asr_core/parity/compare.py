"""Two forms of a model on the same recordings."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields

from asr_core.parity.probe import EXACT, Inputs, Probe, Stages
from asr_core.parity.statistics import Difference, DifferenceSum
from asr_core.parity.tokens import Agreement, agreement, total
from asr_core.results import ModelInfo

GRAPHS = ("encode", "times", "embed", "decode", "filter", "bias", "run")
"""Parts of a model in the order in which values pass them."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What a form may differ by; ``None`` is no limit.

    Attributes:
        max_abs: largest difference of a value.
        mean_abs: mean difference of the values of a stage.
        relative: length of the difference by the length of the reference.
        cosine: smallest cosine.
        tokens: smallest share of equal tokens, of all recordings together.
    """

    max_abs: float | None = None
    mean_abs: float | None = None
    relative: float | None = None
    cosine: float | None = None
    tokens: float | None = None

    def allow(self, difference: Difference) -> bool:
        """Whether a stage stays within them; what is no number does not."""
        at_most = (
            (difference.max_abs, self.max_abs),
            (difference.mean_abs, self.mean_abs),
            (difference.relative, self.relative),
        )
        within = all(limit is None or value <= limit for value, limit in at_most)
        return within and (self.cosine is None or difference.cosine >= self.cosine)


EXACT_LIMITS = Limits(max_abs=1e-4, tokens=1.0)
"""Of two forms in single precision."""

ROUNDED_LIMITS = Limits(cosine=0.95, tokens=0.98)
"""Where a form has weights or values of fewer bits."""

DEVICE_LIMITS = Limits(cosine=0.99, tokens=0.98)
"""Of a device that computes in half precision."""

EXACT_DEVICE_LIMITS = Limits(cosine=0.9999, tokens=0.99)
"""Of a device that computes in single precision."""

LIMIT_NAMES = tuple(field.name for field in fields(Limits))


@dataclass(frozen=True, slots=True)
class Layer:
    """A stage.

    Attributes:
        name: see :class:`asr_core.parity.probe.Stages`.
        difference: of its values.
        passed: within the limits; where nothing could be compared, True.
    """

    name: str
    difference: Difference
    passed: bool


@dataclass(frozen=True, slots=True)
class Recording:
    """Tokens of a recording by both sides."""

    name: str
    reference: tuple[int, ...]
    other: tuple[int, ...]
    agreement: Agreement


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two forms of a model.

    Attributes:
        reference: what is right.
        other: what is compared with it.
        precisions: of both.
        limits: that were asked for.
        layers: stages in the order in which values pass them.
        recordings: tokens of each.
    """

    reference: ModelInfo
    other: ModelInfo
    precisions: tuple[str, str]
    limits: Limits
    layers: tuple[Layer, ...]
    recordings: tuple[Recording, ...]

    @property
    def agreement(self) -> Agreement:
        """Of all recordings together."""
        return total(recording.agreement for recording in self.recordings)

    @property
    def first_failed(self) -> Layer | None:
        """The first stage that leaves the limits."""
        return next((layer for layer in self.layers if not layer.passed), None)

    @property
    def compared(self) -> bool:
        """Whether any value could be compared."""
        return any(layer.difference.values for layer in self.layers)

    @property
    def passed(self) -> bool:
        least = self.limits.tokens
        within = least is None or self.agreement.share >= least
        return self.compared and within and self.first_failed is None


def is_exact(reference: Probe, other: Probe) -> bool:
    """Whether both have to give the same values."""
    return reference.precision == other.precision == EXACT


def default_limits(reference: Probe, other: Probe) -> Limits:
    """Those that fit the precisions of both."""
    return EXACT_LIMITS if is_exact(reference, other) else ROUNDED_LIMITS


def compare(
    reference: Probe,
    other: Probe,
    batches: Iterable[Inputs],
    limits: Limits,
    done: Callable[[int], None] | None = None,
) -> Comparison:
    """Run both forms on each batch in turn; only sums are kept.

    Args:
        reference: what is right.
        other: what is compared with it.
        batches: recordings.
        limits: what may differ.
        done: is told how many recordings are done.

    Raises:
        DeviceError: a graph failed.
    """
    sums: dict[str, DifferenceSum] = {}
    recordings: list[Recording] = []
    for inputs in batches:
        # What a batch gave is gone before the next one begins.
        recordings += _compare_batch(reference, other, inputs, sums)
        if done is not None:
            done(len(recordings))
    differences = {name: kept.result() for name, kept in sums.items()}
    return Comparison(
        reference=reference.info,
        other=other.info,
        precisions=(reference.precision, other.precision),
        limits=limits,
        layers=tuple(
            Layer(name, differences[name], limits.allow(differences[name]))
            for name in sorted(differences, key=_place)
        ),
        recordings=tuple(recordings),
    )


def _compare_batch(
    reference: Probe, other: Probe, inputs: Inputs, sums: dict[str, DifferenceSum]
) -> list[Recording]:
    right = reference.run(inputs)
    found = other.run(inputs, right.calls)
    _add(sums, right, found)
    return [
        Recording(name, expected, given, agreement(expected, given))
        for name, expected, given in zip(inputs.names, right.tokens, found.tokens, strict=True)
    ]


def _add(sums: dict[str, DifferenceSum], right: Stages, found: Stages) -> None:
    for name, arrays in right.arrays.items():
        kept = sums.setdefault(name, DifferenceSum())
        others = found.arrays.get(name, ())
        # Runs of a graph stand for the same recordings only where both have as many.
        if len(arrays) != len(others):
            kept.miss(len(arrays))
            continue
        for expected, given in zip(arrays, others, strict=True):
            kept.add(expected, given)


def _place(name: str) -> int:
    """Place of a stage's graph; stages of a graph keep the order in which they came."""
    graph = name.partition(".")[0]
    return GRAPHS.index(graph) if graph in GRAPHS else len(GRAPHS)
