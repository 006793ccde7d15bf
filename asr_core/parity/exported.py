"""A Paraformer as FunASR exports it: one graph, of which only parts can be seen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from asr_core.errors import DeviceError, UsageError
from asr_core.models.funasr_folder import FunasrFolder
from asr_core.models.graph_taps import tap_funasr_graph
from asr_core.parity.graphs import results_of, tokens_of
from asr_core.parity.onnx import tapped_session
from asr_core.parity.probe import EXACT, Call, Inputs, Stages
from asr_core.recognizers.paraformer_onnx import OnnxParaformer
from asr_core.results import ModelInfo
from asr_core.runtime.session import Array, Float32

_SPEECH, _LENGTHS, _BIAS = "speech", "speech_lengths", "bias_embed"
_NOTHING = np.zeros((0, 0), np.float32)


class ExportedProbe:
    """Implements :class:`asr_core.parity.probe.Probe`; each recording is run by itself.

    Args:
        folder: with its graphs.
        name: of the model.
        threads: CPU threads, at least 1.

    Raises:
        ModelIntegrityError: a graph cannot be loaded or is of another kind.
        DeviceUnavailableError: ONNX Runtime is not installed.
    """

    def __init__(self, folder: FunasrFolder, *, name: str, threads: int) -> None:
        if folder.network is None:
            raise UsageError("The folder was opened without its graphs")
        self._backend = OnnxParaformer(folder, name=name, threads=threads)
        self._quantized = "quant" in folder.network.stem
        self._no_words = (folder.tokens.index("<s>") if "<s>" in folder.tokens else 1,)
        self._session, self._stages = tapped_session(
            folder.network, tap_funasr_graph, name=name, threads=threads
        )

    @property
    def info(self) -> ModelInfo:
        return self._backend.info

    @property
    def precision(self) -> str:
        return "int8" if self._quantized else EXACT

    @property
    def max_hotword_tokens(self) -> int:
        """Tokens of the longest hotword; 0: the network knows no hotwords."""
        return self._backend.max_hotword_tokens

    def run(self, inputs: Inputs, given: Sequence[Call] = ()) -> Stages:  # noqa: ARG002
        """See the protocol; graphs that others ran are not those of this form."""
        listens = self._backend.max_hotword_tokens > 0
        words = inputs.words if listens and inputs.words else ()
        bias = self._backend.embed_hotwords([*words, self._no_words]) if listens else None
        output = self._backend.run(inputs.features, inputs.lengths, bias)
        arrays: dict[str, list[Array]] = {name: [] for name in self._stages.values()}
        for features, length in zip(inputs.features, inputs.lengths.tolist(), strict=True):
            shown = self._shown(features[:length], bias)
            for tensor, name in self._stages.items():
                arrays[name].append(_plane(name, shown.get(tensor, _NOTHING)))
        return Stages(arrays | results_of(output, inputs), tokens_of(output))

    def close(self) -> None:
        self._backend.close()
        self._session.close()

    def _shown(self, features: Float32, bias: Float32 | None) -> Mapping[str, Array]:
        dtypes = {spec.name: spec.dtype for spec in self._session.input_specs}
        given: dict[str, Array] = {
            _SPEECH: np.ascontiguousarray(features[None]),
            _LENGTHS: np.array([len(features)], dtypes[_LENGTHS]),
        }
        if bias is not None:
            given[_BIAS] = bias[None]
        try:
            return self._session.run(given)
        except DeviceError:
            # The graph cannot handle a recording in which it finds no token; the backend, which
            # ran before, has told every other fault.
            return {}


def _plane(name: str, array: Array) -> Array:
    """Without the batch, which is one recording; weights as a column."""
    plane = array[0] if array.ndim == 3 else array
    return plane.reshape(-1, 1) if name == "encode.alphas" else plane
