"""The seam between recognizers and the libraries that execute networks.

Everything above sees only :class:`Session`; each runtime (ONNX Runtime, MindSpore, Ascend)
implements it once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from asr_core.errors import UsageError

Array = npt.NDArray[Any]
Float32 = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class TensorSpec:
    """Name, shape and dtype of one input or output; ``None`` marks a dynamic axis."""

    name: str
    shape: tuple[int | None, ...]
    dtype: str


class Session(Protocol):
    """One loaded network on one device.

    A session is used by one thread at a time. Every call after :meth:`close` raises
    ``SessionClosedError``.
    """

    @property
    def input_specs(self) -> tuple[TensorSpec, ...]: ...

    @property
    def output_specs(self) -> tuple[TensorSpec, ...]: ...

    def run(self, inputs: Mapping[str, Array]) -> dict[str, Array]:
        """Execute the network once.

        Args:
            inputs: one array per input spec, shape and dtype as stated there.

        Returns:
            One array per output spec, by name.

        Raises:
            UsageError: an input is missing, unknown or of the wrong shape or dtype.
            DeviceError: the runtime failed.
            SessionClosedError: the session is closed.
        """
        ...

    def close(self) -> None:
        """Release the network; a second call does nothing."""
        ...


def check_inputs(specs: Sequence[TensorSpec], inputs: Mapping[str, Array]) -> None:
    """Compare inputs with what a network takes.

    Raises:
        UsageError: one is missing, unknown or of another shape or dtype.
    """
    names = {spec.name for spec in specs}
    if names != set(inputs):
        raise UsageError(f"The network takes {sorted(names)}, not {sorted(inputs)}")
    for spec in specs:
        array = inputs[spec.name]
        if array.dtype.name != spec.dtype:
            raise UsageError(f"Input {spec.name} is {spec.dtype}, not {array.dtype.name}")
        fits = len(array.shape) == len(spec.shape) and all(
            wanted is None or wanted == given
            for wanted, given in zip(spec.shape, array.shape, strict=True)
        )
        if not fits:
            raise UsageError(f"Input {spec.name} has shape {spec.shape}, not {array.shape}")
