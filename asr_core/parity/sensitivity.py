"""What eight-bit weights in each part of a model change, and which parts should not have them."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from asr_core.errors import ConvertError
from asr_core.models.funasr_folder import FunasrFolder
from asr_core.models.onnx_file import write_onnx
from asr_core.models.quantize import (
    DEFAULT_KEPT,
    Method,
    Operator,
    operators_of,
    quantize,
    weight_error,
)
from asr_core.networks.config import ParaformerConfig
from asr_core.networks.graphs import paraformer_graphs
from asr_core.parity.graphs import tokens_of
from asr_core.parity.probe import Inputs
from asr_core.parity.tokens import agreement, total
from asr_core.recognizers.paraformer_graphs import Batching, GraphParaformer
from asr_core.results import ModelInfo
from asr_core.runtime.onnx import OnnxSession
from asr_core.runtime.session import Array, Float32, Session, TensorSpec

_REMEMBERED = 64  # runs of a graph
_ALONE = Batching(rows=1)

StepSink = Callable[[str, int, int], None]
"""Called with the name of a part, its number and the number of parts."""


@dataclass(frozen=True, slots=True)
class Effect:
    """What eight-bit weights change in the model's results.

    Attributes:
        max_abs: largest difference of a log-probability.
        mean_abs: mean difference.
        agreement: share of equal tokens.
    """

    max_abs: float
    mean_abs: float
    agreement: float


@dataclass(frozen=True, slots=True)
class PartEffect:
    """A part of the model that alone has eight-bit weights.

    Attributes:
        name: what its operators have in common.
        operators: with how far their weights are from the true ones, relative.
        effect: on the results.
    """

    name: str
    operators: tuple[tuple[Operator, float], ...]
    effect: Effect


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """The parts of a model, and what was decided.

    Attributes:
        model: FunASR's name of the kind of network.
        method: how weights get eight bits.
        recordings: what was recognized.
        tokens: that it has.
        parts: in the order of the graphs.
        kept: operators and parts that stay in single precision.
        chosen: the effect of all others together.
    """

    model: str
    method: Method
    recordings: tuple[str, ...]
    tokens: int
    parts: tuple[PartEffect, ...]
    kept: tuple[str, ...]
    chosen: Effect


def part_of(operator: str) -> str:
    """The part that an operator is measured with: its neighbours in the same block."""
    parent = operator.rpartition(".")[0]
    return parent if "." in parent else operator


class SensitivityMeter:
    """Quantizes parts of a model and listens.

    Args:
        graphs: folder with the graphs of the model in single precision, ``NAME.onnx``.
        work: an empty folder for as many bytes again.
        folder: small files of the model.
        config: of the model.
        recordings: what is recognized.
        method: how weights get eight bits.
        threads: CPU threads, at least 1.

    Raises:
        ConvertError: ``recordings``: the model finds no token in them.
        DeviceError: a graph cannot be run.
    """

    def __init__(
        self,
        graphs: Path,
        work: Path,
        *,
        folder: FunasrFolder,
        config: ParaformerConfig,
        recordings: Sequence[Inputs],
        method: Method = Method.PAIRS,
        threads: int = 1,
    ) -> None:
        import onnx

        self._work = work
        self._folder = folder
        self._config = config
        self._recordings = recordings
        self._method = method
        self._threads = threads
        self._operators: dict[str, tuple[Operator, ...]] = {}
        self._sessions: dict[str, _Memory] = {}
        for name in paraformer_graphs(config):
            model = onnx.load(graphs / f"{name}.onnx")
            self._operators[name] = operators_of(model)
            write_onnx(model, self._file(name), apart=True)
            del model
            self._sessions[name] = _Memory(OnnxSession(self._file(name), threads=threads))
        self._scores, self._tokens = self._recognize({})
        if not any(self._tokens):
            raise ConvertError(
                "the model finds no token in the recordings; name others with --audio",
                reason="recordings",
                path=str(folder.path),
                cause="0 tokens",
            )

    def measure(self, on_step: StepSink) -> tuple[PartEffect, ...]:
        """The effect of each part alone."""
        parts: dict[str, dict[str, Operator]] = {}
        for operators in self._operators.values():
            for operator in operators:
                parts.setdefault(part_of(operator.name), {})[operator.name] = operator
        measured = []
        for number, (part, inside) in enumerate(parts.items(), start=1):
            on_step(part, number, len(parts))
            effect = self._effect(lambda name, inside=inside: name in inside)  # type: ignore[misc]
            errors = self._weight_errors(inside)
            pairs = tuple((each, errors[name]) for name, each in inside.items())
            measured.append(PartEffect(part, pairs, effect))
        return tuple(measured)

    def effect_without(self, kept: Collection[str]) -> Effect:
        """The effect of eight-bit weights everywhere but in these operators and parts."""
        parts = set(kept)
        return self._effect(lambda name: not _is_inside(name, parts))

    def choose(self, parts: Sequence[PartEffect], limit: float) -> tuple[tuple[str, ...], Effect]:
        """The fewest parts, worst first, that have to be kept for an agreement of tokens.

        Args:
            parts: of :meth:`measure`.
            limit: smallest share of equal tokens.

        Returns:
            What to keep, and the effect of the rest; all of it may be kept and more cannot.
        """
        worst = sorted(parts, key=lambda part: (part.effect.agreement, -part.effect.mean_abs))
        names = [part.name for part in worst if not _is_inside(part.name, set(DEFAULT_KEPT))]
        low, high = 0, len(names)
        effects = {0: self.effect_without(DEFAULT_KEPT)}
        if effects[0].agreement >= limit:
            return DEFAULT_KEPT, effects[0]
        while low + 1 < high:
            middle = (low + high) // 2
            effects[middle] = self.effect_without([*DEFAULT_KEPT, *names[:middle]])
            low, high = (low, middle) if effects[middle].agreement >= limit else (middle, high)
        kept = (*DEFAULT_KEPT, *names[:high])
        return kept, effects.get(high) or self.effect_without(kept)

    def report(
        self, parts: Sequence[PartEffect], kept: Sequence[str], chosen: Effect
    ) -> Sensitivity:
        """What was measured and decided."""
        names = tuple(name for inputs in self._recordings for name in inputs.names)
        tokens = sum(map(len, self._tokens))
        return Sensitivity(
            self._folder.model, self._method, names, tokens, tuple(parts), tuple(kept), chosen
        )

    def close(self) -> None:
        """Release the graphs."""
        for session in self._sessions.values():
            session.close()

    def _file(self, graph: str) -> Path:
        return self._work / f"{graph}.onnx"

    def _effect(self, is_chosen: Callable[[str], bool]) -> Effect:
        """The effect of eight-bit weights in the chosen operators."""
        with self._variants(is_chosen) as sessions:
            scores, tokens = self._recognize(sessions)
        # With another number of tokens there is nothing to compare behind the shorter run.
        pairs = [
            (ours[: len(true)], true[: len(ours)])
            for ours, true in zip(scores, self._scores, strict=True)
        ]
        apart = np.concatenate([np.abs(ours - true).reshape(-1) for ours, true in pairs])
        agreed = total(
            agreement(true, ours) for true, ours in zip(self._tokens, tokens, strict=True)
        )
        largest = float(apart.max(initial=0.0))
        return Effect(largest, float(apart.mean()) if len(apart) else 0.0, agreed.share)

    @contextmanager
    def _variants(self, is_chosen: Callable[[str], bool]) -> Iterator[dict[str, Session]]:
        """Sessions of the graphs that change."""
        sessions: dict[str, Session] = {}
        written = []
        try:
            for graph, operators in self._operators.items():
                chosen = {each.name for each in operators if is_chosen(each.name)}
                if not chosen:
                    continue
                path = self._work / f"{graph}.variant.onnx"
                written.append(path)
                kept = [each.name for each in operators if each.name not in chosen]
                model = self._structure(graph, chosen)
                quantize(model, kept, self._method)
                path.write_bytes(model.SerializeToString())
                sessions[graph] = OnnxSession(path, threads=self._threads)
            yield sessions
        finally:
            for session in sessions.values():
                session.close()
            for path in written:
                path.unlink(missing_ok=True)

    def _structure(self, graph: str, loaded: Collection[str]) -> Any:
        """A graph whose weights lie elsewhere, but for those of some operators."""
        import onnx

        model = onnx.load(self._file(graph), load_external_data=False)
        for tensor in model.graph.initializer:
            is_external = tensor.data_location == onnx.TensorProto.EXTERNAL
            if is_external and tensor.name.removesuffix(".weight") in loaded:
                onnx.external_data_helper.load_external_data_for_tensor(tensor, str(self._work))
                tensor.data_location = onnx.TensorProto.DEFAULT
                del tensor.external_data[:]
        return model

    def _weight_errors(self, wanted: Collection[str]) -> dict[str, float]:
        from onnx import numpy_helper

        found: dict[str, float] = {}
        for graph, operators in self._operators.items():
            names = {each.name for each in operators} & set(wanted) - found.keys()
            if not names:
                continue
            for tensor in self._structure(graph, names).graph.initializer:
                name = tensor.name.removesuffix(".weight")
                if name in names:
                    found[name] = weight_error(numpy_helper.to_array(tensor), self._method)
        return found

    def _recognize(
        self, changed: Mapping[str, Session]
    ) -> tuple[list[Float32], list[tuple[int, ...]]]:
        """Scores and tokens of each recording."""
        sessions = {name: changed.get(name, session) for name, session in self._sessions.items()}
        tokens_list = self._folder.tokens
        backend = GraphParaformer(
            self._config,
            {name: _Borrowed(session) for name, session in sessions.items()},
            info=ModelInfo(name=self._folder.model, backend="onnxruntime", device="cpu"),
            no_bias=tokens_list.index("<s>") if "<s>" in tokens_list else 1,
            batching=_ALONE,
        )
        scores: list[Float32] = []
        tokens: list[tuple[int, ...]] = []
        try:
            for inputs in self._recordings:
                words = backend.embed_hotwords(inputs.words) if inputs.words else None
                output = backend.run(inputs.features, inputs.lengths, words)
                tokens += tokens_of(output)
                counts = output.token_counts.tolist()
                scores += [row[:count] for row, count in zip(output.scores, counts, strict=True)]
        finally:
            backend.close()
        return scores, tokens


def _is_inside(name: str, parts: Collection[str]) -> bool:
    pieces = name.split(".")
    return any(".".join(pieces[:count]) in parts for count in range(1, len(pieces) + 1))


class _Borrowed:
    """A session that somebody else closes; implements ``Session``."""

    def __init__(self, session: Session) -> None:
        self._session = session

    @property
    def input_specs(self) -> tuple[TensorSpec, ...]:
        return self._session.input_specs

    @property
    def output_specs(self) -> tuple[TensorSpec, ...]:
        return self._session.output_specs

    def run(self, inputs: Mapping[str, Array]) -> dict[str, Array]:
        """See the protocol."""
        return {name: array.copy() for name, array in self._session.run(inputs).items()}

    def close(self) -> None:
        """The owner does."""


class _Memory:
    """A session that knows what it gave; implements ``Session``."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._known: OrderedDict[bytes, dict[str, Array]] = OrderedDict()

    @property
    def input_specs(self) -> tuple[TensorSpec, ...]:
        return self._session.input_specs

    @property
    def output_specs(self) -> tuple[TensorSpec, ...]:
        return self._session.output_specs

    def run(self, inputs: Mapping[str, Array]) -> dict[str, Array]:
        """See the protocol."""
        digest = hashlib.sha256()
        for name in sorted(inputs):
            array = np.ascontiguousarray(inputs[name])
            digest.update(f"{name} {array.dtype} {array.shape} ".encode())
            digest.update(array.data)
        key = digest.digest()
        if key not in self._known:
            self._known[key] = self._session.run(inputs)
        self._known.move_to_end(key)
        if len(self._known) > _REMEMBERED:
            self._known.popitem(last=False)
        return self._known[key]

    def close(self) -> None:
        self._known.clear()
        self._session.close()
