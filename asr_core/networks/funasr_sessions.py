"""CT-Transformer and FSMN-VAD executed by MindSpore, straight from a checkpoint.

They take and give what FunASR's ONNX files do, so that nobody else sees a difference.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from asr_core.models.checkpoint import load_into, read_checkpoint
from asr_core.networks.graphs import position_encoding
from asr_core.runtime.mindspore import MINDSPORE, MindSporeSession
from asr_core.runtime.session import Array, Session, TensorSpec, check_inputs


def ct_transformer_session(
    config: Path, vocabulary: int, checkpoint: Path, *, threads: int
) -> CtTransformerSession:
    """Load a CT-Transformer, which is compiled when it runs for the first time.

    Args:
        config: ``config.yaml``.
        vocabulary: number of words.
        checkpoint: of FunASR, or of MindSpore.
        threads: CPU threads, at least 1.

    Raises:
        DeviceUnavailableError: MindSpore cannot be used.
        ModelFileMissingError: a file is missing.
        ModelIntegrityError: a file is damaged or does not fit the others.
    """
    MINDSPORE.start(threads)

    from asr_core.networks.ct_transformer import CtTransformerNetwork, read_ct_transformer_shape

    shape = read_ct_transformer_shape(config, vocabulary)
    cell = MINDSPORE.call(lambda: _filled(CtTransformerNetwork(shape), checkpoint))
    width = shape.encoder.inputs
    planes = (
        TensorSpec("words", (None, 1, None), "int32"),
        TensorSpec("positions", (1, 1, None, width), "float32"),
        TensorSpec("mask", (None, 1, None, 1), "float32"),
    )
    scores = TensorSpec("scores", (None, 1, None, shape.classes), "float32")
    session = MindSporeSession("CT-Transformer", cell, planes, (scores,))
    return CtTransformerSession(session, width, shape.classes)


def fsmn_vad_session(config: Path, checkpoint: Path, *, threads: int) -> FsmnVadSession:
    """Load an FSMN-VAD, which is compiled when it runs for the first time.

    Args:
        config: ``config.yaml``.
        checkpoint: of FunASR, or of MindSpore.
        threads: CPU threads, at least 1.

    Raises:
        As :func:`ct_transformer_session`.
    """
    MINDSPORE.start(threads)

    from asr_core.networks.fsmn_vad import FsmnVadNetwork, read_fsmn_shape

    shape = read_fsmn_shape(config)
    cell = MINDSPORE.call(lambda: _filled(FsmnVadNetwork(shape), checkpoint))
    frames = TensorSpec("speech", (None, 1, None, shape.inputs), "float32")
    scores = TensorSpec("logits", (None, 1, None, shape.units), "float32")
    cache = (None, *shape.cache_shape(1)[1:])
    given, kept = (
        tuple(TensorSpec(f"{way}_cache{layer}", cache, "float32") for layer in range(shape.layers))
        for way in ("in", "out")
    )
    return FsmnVadSession(
        MindSporeSession("FSMN-VAD", cell, (frames, *given), (scores, *kept)),
        (TensorSpec("speech", (None, None, shape.inputs), "float32"), *given),
        (TensorSpec("logits", (None, None, shape.units), "float32"), *kept),
    )


class CtTransformerSession:
    """Words to scores of marks; implements :class:`asr_core.runtime.session.Session`.

    Args:
        session: takes ``words``, ``positions`` and ``mask`` and gives ``scores``, all planes.
        width: of the positions.
        classes: number of marks.
    """

    def __init__(self, session: Session, width: int, classes: int) -> None:
        self._session = session
        self._width = width
        self.input_specs = (
            TensorSpec("inputs", (None, None), "int32"),
            TensorSpec("text_lengths", (None,), "int32"),
        )
        self.output_specs = (TensorSpec("logits", (None, None, classes), "float32"),)

    def run(self, inputs: Mapping[str, Array]) -> dict[str, Array]:
        """Execute the network once; see :meth:`asr_core.runtime.session.Session.run`."""
        check_inputs(self.input_specs, inputs)
        words, lengths = inputs["inputs"], inputs["text_lengths"]
        places = np.arange(words.shape[1])
        mask = (places < lengths[:, np.newaxis]).astype(np.float32)
        planes = {
            "words": words[:, np.newaxis],
            "positions": position_encoding(len(places), self._width),
            "mask": mask[:, np.newaxis, :, np.newaxis],
        }
        return {"logits": self._session.run(planes)["scores"][:, 0]}

    def close(self) -> None:
        """Release the network; a second call does nothing."""
        self._session.close()


class FsmnVadSession:
    """Frames to probabilities; implements :class:`asr_core.runtime.session.Session`.

    Args:
        session: the same with planes.
        inputs: what it takes.
        outputs: what it gives.
    """

    def __init__(
        self,
        session: Session,
        inputs: tuple[TensorSpec, ...],
        outputs: tuple[TensorSpec, ...],
    ) -> None:
        self._session = session
        self.input_specs = inputs
        self.output_specs = outputs

    def run(self, inputs: Mapping[str, Array]) -> dict[str, Array]:
        """Execute the network once; see :meth:`asr_core.runtime.session.Session.run`."""
        check_inputs(self.input_specs, inputs)
        found = self._session.run({**inputs, "speech": inputs["speech"][:, np.newaxis]})
        return {**found, "logits": found["logits"][:, 0]}

    def close(self) -> None:
        """Release the network; a second call does nothing."""
        self._session.close()


def _filled(cell: Any, checkpoint: Path) -> Any:
    load_into(cell, read_checkpoint(checkpoint), cell.name_table(), checkpoint)
    return cell
