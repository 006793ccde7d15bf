"""FSMN-VAD: what each frame of a recording is, from that frame and the ones before it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import mindspore as ms
import numpy as np
from mindspore import Tensor, nn, ops

from asr_core.models.checkpoint import Layout, NameTable, Source
from asr_core.networks.layers import Dense, Part, layouts_of, zeros
from asr_core.runtime.funasr import ConfigError, Section, read_config, unusable


@dataclass(frozen=True, slots=True)
class FsmnShape:
    """Sizes of the network.

    Attributes:
        inputs: features of a frame.
        entry: width between the first two matrix products.
        width: of the frames between blocks.
        memory_width: of the frames that a block remembers.
        layers: number of blocks.
        taps: frames that a block sees: its own and those before it.
        exit: width between the last two matrix products.
        units: what is told of each frame.
    """

    inputs: int
    entry: int
    width: int
    memory_width: int
    layers: int
    taps: int
    exit: int
    units: int

    def cache_shape(self, batch: int) -> tuple[int, int, int, int]:
        """Of what one block remembers from one call to the next."""
        return batch, self.memory_width, self.taps - 1, 1


def read_fsmn_shape(path: Path) -> FsmnShape:
    """Read the sizes of an FSMN-VAD.

    Args:
        path: ``config.yaml``.

    Raises:
        ModelFileMissingError: there is no such file.
        ModelIntegrityError: it is no configuration of an FSMN-VAD, or of one that is not supported.
    """
    name = path.parent.name
    content = read_config(path, name)
    try:
        return _shape(content)
    except ConfigError as exc:
        raise unusable(path, name, f"describes no FSMN-VAD that can be used: {exc}") from exc


def _shape(content: Any) -> FsmnShape:
    if not isinstance(content, Mapping) or content.get("encoder") != "FSMN":
        raise ConfigError("its encoder is not FSMN")
    section = Section(content, "encoder_conf")
    # With frames after its own, a block would need other frames than those that have arrived.
    section.expect("rorder", 0)
    section.expect("lstride", 1)
    section.expect("use_softmax", True)
    return FsmnShape(
        inputs=section.count("input_dim", 400),
        entry=section.count("input_affine_dim", 140),
        width=section.count("linear_dim", 250),
        memory_width=section.count("proj_dim", 128),
        layers=section.count("fsmn_layers", 4),
        taps=section.count("lorder", 20, least=2),
        exit=section.count("output_affine_dim", 140),
        units=section.count("output_dim", 248),
    )


class FsmnVadNetwork(nn.Cell):  # type: ignore[misc]
    """Probabilities of the units of each frame.

    No frame sees a later one: what stands behind a recording has no effect, and pieces that follow
    each other give what the whole gives.

    Inputs:
        - **speech** (Tensor) - float32 (batch, 1, frames, inputs).
        - **caches** (Tensor, for each block) - float32 (batch, memory_width, taps - 1, 1): what the
          call before gave, or zeros at the beginning.

    Outputs:
        - float32 (batch, 1, frames, units), their sum for each frame is 1.
        - the caches for the next call.

    Args:
        shape: sizes.
    """

    def __init__(self, shape: FsmnShape) -> None:
        super().__init__()
        self.shape = shape
        self.in_linear1 = Dense(shape.inputs, shape.entry)
        self.in_linear2 = Dense(shape.entry, shape.width)
        self.fsmn = nn.CellList([_Block(shape) for _ in range(shape.layers)])
        self.out_linear1 = Dense(shape.width, shape.exit)
        self.out_linear2 = Dense(shape.exit, shape.units)
        self.relu = ops.ReLU()
        self.softmax = ops.Softmax(-1)
        self.set_train(False)

    def construct(self, speech: Tensor, *caches: Tensor) -> tuple[Tensor, ...]:
        hidden = self.relu(self.in_linear2(self.in_linear1(speech)))
        kept: tuple[Tensor, ...] = ()
        for index, block in enumerate(self.fsmn):
            hidden, cache = block(hidden, caches[index])
            kept = (*kept, cache)
        scores = self.softmax(self.out_linear2(self.out_linear1(hidden)))
        return (scores, *kept)

    def name_table(self) -> NameTable:
        """How FunASR's checkpoint fills this network."""
        sources = {}
        for name, layout in layouts_of(self):
            part, _, kind = name.rpartition(".")
            is_memory = part.endswith(".conv_left")
            tensor = part.replace(".conv_left", ".fsmn_block.conv_left") if is_memory else part
            ending = kind if is_memory else f"linear.{kind}"
            sources[name] = Source(f"encoder.{tensor}.{ending}", layout)
        return NameTable(sources)


class _Block(nn.Cell):  # type: ignore[misc]
    """A memory of the frames before each one, between two matrix products."""

    def __init__(self, shape: FsmnShape) -> None:
        super().__init__()
        self.linear = Dense(shape.width, shape.memory_width, biased=False)
        self.conv_left = _Past(shape.memory_width, shape.taps)
        self.affine = Dense(shape.memory_width, shape.width)
        self.relu = ops.ReLU()

    def construct(self, x: Tensor, cache: Tensor) -> tuple[Tensor, Tensor]:
        remembered, kept = self.conv_left(self.linear(x), cache)
        return self.relu(self.affine(remembered)), kept


class _Past(Part):
    """Each frame plus a weighted sum of it and the frames before it.

    Frames lie in a row while they are summed, which MindSpore does faster than in a column; caches
    are columns, as FunASR's are.
    """

    layouts: ClassVar[dict[str, Layout]] = {"weight": Layout.SAME}

    def __init__(self, width: int, taps: int) -> None:
        super().__init__()
        self.weight = zeros("weight", width, 1, taps, 1)
        self.past = taps - 1
        self.last = Tensor(np.arange(1 - taps, 0), ms.int32)
        self.kernel = (width, 1, 1, taps)
        self.gather = ops.Gather()
        self.join = ops.Concat(3)
        self.convolve = ops.Conv2D(width, (1, taps), pad_mode="valid", group=width)

    def construct(self, x: Tensor, cache: Tensor) -> tuple[Tensor, Tensor]:
        rows = ops.transpose(x, (0, 3, 1, 2))
        seen = self.join((ops.transpose(cache, (0, 1, 3, 2)), rows))
        summed = rows + self.convolve(seen, self.weight.reshape(self.kernel))
        # An exported slice would begin at the same frame whatever the length.
        past = self.gather(seen, self.last, 3) if self.exported else seen[:, :, :, -self.past :]
        return ops.transpose(summed, (0, 2, 3, 1)), ops.transpose(past, (0, 1, 3, 2))
