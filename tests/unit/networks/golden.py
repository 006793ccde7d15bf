"""Golden models of FunASR, and what their parts give for three recordings."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt

from asr_core.models.checkpoint import read_checkpoint
from asr_core.networks.config import ParaformerConfig, read_paraformer_config

RECORDINGS = (0, 1, 2)
TOLERANCE = 1e-4

Float32 = npt.NDArray[np.float32]


class Golden:
    """One golden model."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        with np.load(self.folder / "stages.npz") as stages:
            self._stages = dict(stages)

    @cached_property
    def config(self) -> ParaformerConfig:
        tokens = json.loads((self.folder / "tokens.json").read_text(encoding="utf-8"))
        return read_paraformer_config(self.folder / "config.yaml", len(tokens))

    @cached_property
    def tensors(self) -> dict[str, npt.NDArray[np.float32]]:
        return read_checkpoint(self.folder / "model.pt")

    def stage(self, name: str) -> npt.NDArray[np.generic]:
        return self._stages[name]

    def each(self, name: str, which: Sequence[int] = RECORDINGS) -> list[Float32]:
        """A stage of these recordings, each by itself."""
        return [self._stages[f"{number}.{name}"] for number in which]

    def planes(self, name: str, which: Sequence[int] = RECORDINGS, fill: float = 0.0) -> Float32:
        """A stage of these recordings as one batch (batch, 1, time, width)."""
        arrays = self.each(name, which)
        shape = (len(arrays), 1, max(map(len, arrays)), arrays[0].shape[1])
        batch = np.full(shape, fill, np.float32)
        for row, array in zip(batch, arrays, strict=True):
            row[0, : len(array)] = array
        return batch

    def mask(self, name: str, which: Sequence[int] = RECORDINGS) -> Float32:
        """(batch, 1, time, 1): 1 where a stage of these recordings has values."""
        lengths = [len(array) for array in self.each(name, which)]
        inside = np.arange(max(lengths)) < np.array(lengths)[:, np.newaxis]
        return inside.astype(np.float32)[:, np.newaxis, :, np.newaxis]


def differences(batch: Float32, expected: Sequence[Float32]) -> Mapping[int, float]:
    """Largest difference in each recording of a batch (batch, [1,] time, ...)."""
    return {
        number: float(np.abs(row.reshape(-1, *array.shape[1:])[: len(array)] - array).max())
        for number, (row, array) in enumerate(zip(batch, expected, strict=True))
    }
