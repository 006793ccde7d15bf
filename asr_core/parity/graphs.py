"""A Paraformer that is made of our graphs, on any runtime."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from asr_core.networks.graphs import BIAS, DECODE, ENCODE, FILTER, TIMES
from asr_core.parity.probe import Call, Inputs, Stages
from asr_core.recognizers.paraformer_backend import ParaformerBackend, ParaformerOutput
from asr_core.results import ModelInfo
from asr_core.runtime.session import Array, Session, TensorSpec

_MASKS = {ENCODE: "mask", DECODE: "token_mask", FILTER: "token_mask", BIAS: "token_mask"}
"""Which input says where the planes of a graph hold something."""


@dataclass(frozen=True, slots=True, eq=False)
class Tap:
    """A graph that shows what happens inside.

    Attributes:
        session: runs it; that of the backend, where it has all outputs itself.
        layers: names of layers by the names of outputs, in the order in which values pass them.
    """

    session: Session
    layers: Mapping[str, str]


class Recorder:
    """A session that keeps what passes through it; implements ``Session``.

    Args:
        graph: its name.
        session: does the work; it may give more than the graph has.
        outputs: what the graph has, by name.
        calls: where every run is entered.
    """

    def __init__(
        self, graph: str, session: Session, outputs: Sequence[str], calls: list[Call]
    ) -> None:
        self._graph = graph
        self._session = session
        self._outputs = frozenset(outputs)
        self._calls = calls

    @property
    def input_specs(self) -> tuple[TensorSpec, ...]:
        return self._session.input_specs

    @property
    def output_specs(self) -> tuple[TensorSpec, ...]:
        return tuple(spec for spec in self._session.output_specs if spec.name in self._outputs)

    def run(self, inputs: Mapping[str, Array]) -> dict[str, Array]:
        """See the protocol."""
        outputs = self._session.run(inputs)
        self._calls.append(Call(self._graph, dict(inputs), outputs))
        # Whoever asked may write into what he gets.
        return {name: array.copy() for name, array in outputs.items() if name in self._outputs}

    def close(self) -> None:
        self._session.close()


class GraphProbe:
    """Implements :class:`asr_core.parity.probe.Probe`.

    Args:
        backend: recognizes with recorders of ``calls``.
        calls: where those enter their runs.
        taps: what is to be seen of each graph, blocks first.
        precision: of the graphs.
        no_bias: number of the token that means none of the hotwords.
    """

    def __init__(
        self,
        backend: ParaformerBackend,
        calls: list[Call],
        taps: Mapping[str, Sequence[Tap]],
        *,
        precision: str,
        no_bias: int,
    ) -> None:
        self._backend = backend
        self._calls = calls
        self._taps = taps
        self._precision = precision
        self._no_bias = no_bias

    @property
    def info(self) -> ModelInfo:
        return self._backend.info

    @property
    def precision(self) -> str:
        return self._precision

    def run(self, inputs: Inputs, given: Sequence[Call] = ()) -> Stages:
        """See the protocol."""
        self._calls.clear()
        listed = [*inputs.words, (self._no_bias,)]
        words = self._backend.embed_hotwords(listed) if inputs.words else None
        output = self._backend.run(inputs.features, inputs.lengths, words)
        own = tuple(self._calls)
        self._calls.clear()
        arrays: dict[str, list[Array]] = {}
        for call in given or own:
            for name, array in self._layers(call, own).items():
                rows = arrays.setdefault(f"{call.graph}.{name}", [])
                rows += rows_of(call, name, array)
        arrays |= between(own, output, inputs)
        return Stages(arrays, tokens_of(output), own)

    def close(self) -> None:
        self._backend.close()
        for tap in itertools.chain(*self._taps.values()):
            tap.session.close()

    def _layers(self, call: Call, own: Sequence[Call]) -> Mapping[str, Array]:
        """Blocks first, in their order, then what the graph gives."""
        found: dict[str, Array] = {}
        for tap in self._taps.get(call.graph, ()):
            if fits(tap.session, call.inputs):
                # A run of our own may have given all of it already.
                is_own = (
                    any(call is one for one in own) and tap.layers.keys() <= call.outputs.keys()
                )
                outputs = call.outputs if is_own else run_fitted(tap.session, call.inputs)
                found |= {layer: outputs[name] for name, layer in tap.layers.items()}
        return found


def fits(session: Session, inputs: Mapping[str, Array]) -> bool:
    """Whether a graph takes inputs, the rest of its sizes filled; batches are cut."""
    return all(
        size is None or size >= given
        for spec in session.input_specs
        for size, given in zip(spec.shape[1:], inputs[spec.name].shape[1:], strict=True)
    )


def run_fitted(session: Session, inputs: Mapping[str, Array]) -> dict[str, Array]:
    """Run a graph that may have fixed sizes: zeros fill what is left of them.

    Args:
        session: whose sizes count.
        inputs: of any batch and any time.

    Returns:
        Its outputs for the whole batch; they may be longer in time.

    Raises:
        DeviceError: the runtime failed.
    """
    batch = max(len(array) for array in inputs.values())
    specs = session.input_specs
    sizes = [spec.shape[0] for spec in specs if len(inputs[spec.name]) == batch]
    step = next((size for size in sizes if size is not None), batch)
    parts = []
    for first in range(0, batch, step):
        some = {
            spec.name: _padded(inputs[spec.name][first : first + step], spec)
            if len(inputs[spec.name]) == batch
            else _padded(inputs[spec.name], spec)
            for spec in specs
        }
        parts.append(session.run(some))
    return {name: np.concatenate([part[name] for part in parts])[:batch] for name in parts[0]}


def _padded(array: Array, spec: TensorSpec) -> Array:
    wanted = [
        size if size is not None and size > given else given
        for size, given in zip(spec.shape, array.shape, strict=True)
    ]
    missing = [(0, size - given) for size, given in zip(wanted, array.shape, strict=True)]
    return np.pad(array, missing).astype(spec.dtype, copy=False)


def rows_of(call: Call, name: str, array: Array) -> Iterator[Array]:
    """What an output says about each recording, without what only fills the batch."""
    inputs = call.inputs
    if call.graph == TIMES:
        counts: list[int] = inputs["part_counts"].tolist()
        yield from (row[:count] for row, count in zip(array, counts, strict=False) if count)
        return
    if call.graph == FILTER and name == "attention":
        for row, seen, mask in zip(array, inputs["token_mask"], inputs["word_mask"], strict=False):
            if seen.any():
                places = mask.reshape(-1) > 0
                yield row.reshape(-1)[: len(places)][places]
        return
    if call.graph not in _MASKS:
        yield array
        return
    for row, mask in zip(array, inputs[_MASKS[call.graph]], strict=False):
        places = mask.reshape(-1) > 0
        if places.any():
            yield row.reshape(-1, row.shape[-1])[: len(places)][places]


def between(
    calls: Sequence[Call], output: ParaformerOutput, inputs: Inputs
) -> dict[str, list[Array]]:
    """What stands between graphs in a run: embeddings of tokens and the final scores and weights.

    Args:
        calls: of the run.
        output: of the run.
        inputs: of the run.
    """
    arrays: dict[str, list[Array]] = {}
    for call in calls:
        if call.graph == DECODE:
            arrays.setdefault("run.embeds", []).extend(
                rows_of(call, "embeds", call.inputs["embeds"])
            )
    return arrays | results_of(output, inputs)


def results_of(output: ParaformerOutput, inputs: Inputs) -> dict[str, list[Array]]:
    """The scores of all tokens and the weights of the parts of frames of each recording."""
    counts = output.token_counts.tolist()
    arrays: dict[str, list[Array]] = {
        "run.scores": [row[:count] for row, count in zip(output.scores, counts, strict=True)]
    }
    if output.us_alphas is not None:
        frames = max(int(inputs.lengths.max(initial=1)), 1)
        parts = output.us_alphas.shape[1] // frames
        arrays["run.us_alphas"] = [
            row[: parts * length]
            for row, length in zip(output.us_alphas, inputs.lengths.tolist(), strict=True)
        ]
    return arrays


def tokens_of(output: ParaformerOutput) -> tuple[tuple[int, ...], ...]:
    """The most likely token at each place of each recording."""
    best: list[npt.NDArray[Any]] = [
        row[: max(count, 0)].argmax(axis=-1)
        for row, count in zip(output.scores, output.token_counts.tolist(), strict=True)
    ]
    return tuple(tuple(numbers.tolist()) for numbers in best)
