"""The seam between the comparison and the forms of a model that it compares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from asr_core.recognizers.paraformer_backend import Int32
from asr_core.results import ModelInfo
from asr_core.runtime.session import Array, Float32

EXACT = "fp32"
"""Precision of a form that has to give the same values."""


@dataclass(frozen=True, slots=True, eq=False)
class Inputs:
    """A batch of recordings.

    Attributes:
        names: of the recordings.
        features: float32, (batch, frames, feature_dim), zero behind each length.
        lengths: frames of each recording, int32, (batch,).
        words: token numbers of hotwords; empty without hotwords.
    """

    names: tuple[str, ...]
    features: Float32
    lengths: Int32
    words: tuple[tuple[int, ...], ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Call:
    """One run of a graph: what it was given and what it gave, by name."""

    graph: str
    inputs: Mapping[str, Array]
    outputs: Mapping[str, Array]


@dataclass(frozen=True, slots=True, eq=False)
class Stages:
    """What a form of a model says about a batch.

    Attributes:
        arrays: for each stage an array for each recording, or for each run of its graph, without
            anything that only fills the batch. Names are ``graph.layer`` with the names that the
            layers have in FunASR's checkpoint, and ``run.value`` for what stands between graphs.
        tokens: numbers of the tokens of each recording.
        calls: the graphs that were run; empty where the form is not made of our graphs.
    """

    arrays: Mapping[str, Sequence[Array]]
    tokens: tuple[tuple[int, ...], ...]
    calls: tuple[Call, ...] = field(default=())


class Probe(Protocol):
    """One form of a model, which shows what happens inside; used by one thread at a time."""

    @property
    def info(self) -> ModelInfo: ...

    @property
    def precision(self) -> str:
        """``fp32``, ``int8`` or ``fp16``."""
        ...

    def run(self, inputs: Inputs, given: Sequence[Call] = ()) -> Stages:
        """Recognize a batch.

        Args:
            inputs: the batch.
            given: runs of the same graphs by another form. A form that is made of graphs gives
                them the same inputs, so that each stage shows only what its own graph does; tokens
                and what stands between graphs are of its own run always.

        Raises:
            DeviceError: a graph failed.
        """
        ...

    def close(self) -> None:
        """Release the networks; a second call does nothing."""
        ...
