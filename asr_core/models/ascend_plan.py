"""How a Paraformer becomes OM files: chips and what they can do, sizes, and ``atc``'s arguments.

All names in the arguments are those of files in one folder, without their path: ``atc`` takes no
blanks in some of them, so it is run inside the folder.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from asr_core.errors import ConvertError
from asr_core.models.convert_files import FILTERED_WORDS, LISTENED_WORDS
from asr_core.networks.graph_axes import BATCH, FRAMES, TOKENS, WORD_TOKENS, WORDS, GraphAxes
from asr_core.networks.graphs import EMBED, FILTER, LAYERED, TIMES
from asr_core.runtime.ascend_manifest import DYNAMIC, GEARS, MODES, STATIC, Sizes

FP16, FP32, MIXED = "fp16", "fp32", "mixed"
PRECISIONS = (FP16, FP32, MIXED)
HOST_CPUS = ("aarch64", "x86_64", "none")
ON_CPU = (TIMES, EMBED)
"""Graphs with an LSTM, which stay ONNX files unless asked otherwise."""

DEFAULT_FRAMES = (64, 128, 256, 512)
MIX_LIST = "mix.json"
MAKING = "making"
"""Where files are while they are made."""

_PRECISION_FLAGS = {FP16: "fp16", FP32: "origin", MIXED: "mixed_float16"}
_WORD_TOKENS = 10
_LEAST_FRAMES = 8  # the test of a device takes as many
_LEAST_GEARS, _MOST_GEARS = 2, 100
_SOC = re.compile(r"Ascend[0-9][A-Za-z0-9_]*")
_DYNAMIC_SOCS = re.compile(r"Ascend(310P|910|950)")


@dataclass(frozen=True, slots=True)
class OmOptions:
    """What is asked of a conversion.

    Attributes:
        soc: chip, as ``acl.get_soc_name`` names it.
        shapes: ``static``, ``gears`` or ``dynamic``.
        frames: sizes, of 60 ms each.
        batch: segments that run together; empty: 1 for ``static``, else 1 and 4.
        precision: one of :data:`PRECISIONS`.
        on_cpu: graphs that stay ONNX files.
        host_cpu: of the machine that the files are for; ``none`` leaves it to ``atc``.
        layers: whether there is, for each graph of blocks, another file that gives what each
            block computes; see :func:`layered`.
    """

    soc: str
    shapes: str = GEARS
    frames: tuple[int, ...] = DEFAULT_FRAMES
    batch: tuple[int, ...] = ()
    precision: str = FP16
    on_cpu: tuple[str, ...] = ON_CPU
    host_cpu: str = "aarch64"
    layers: bool = False


@dataclass(frozen=True, slots=True)
class OmJob:
    """One call of ``atc``.

    Attributes:
        graph: its name.
        name: of the OM, without its ending.
        sizes: of the free axes: one entry, or one a gear.
        arguments: of ``atc``.
        shows_layers: whether it gives what each block computes.
    """

    graph: str
    name: str
    sizes: tuple[Sizes, ...]
    arguments: tuple[str, ...]
    shows_layers: bool = False

    @property
    def file(self) -> str:
        """The OM's name."""
        return f"{self.name}.om"


def check_options(options: OmOptions, graphs: Sequence[str]) -> None:
    """Whether a chip can do what is asked.

    Args:
        options: what is asked.
        graphs: of the model.

    Raises:
        ConvertError: ``soc_name`` (no chip), ``shapes`` (the chip has no such mode), ``frames``
            (the largest size is too small), or ``graphs`` (unknown ones stay on the CPU).
    """
    if not _SOC.fullmatch(options.soc):
        raise ConvertError(f"{options.soc} is no chip", reason="soc_name", soc=options.soc)
    modes = shape_modes(options.soc)
    if options.shapes not in modes:
        raise ConvertError(
            f"{options.soc} takes no {options.shapes} shapes, only {', '.join(modes)}",
            reason="shapes",
            soc=options.soc,
            shapes=options.shapes,
            allowed=", ".join(modes),
        )
    if max(options.frames) < _LEAST_FRAMES:
        raise ConvertError(
            f"the largest size has to be {_LEAST_FRAMES} frames at least",
            reason="frames",
            least=_LEAST_FRAMES,
        )
    unknown = sorted(set(options.on_cpu) - {*graphs, *ON_CPU})
    if unknown or not set(graphs) - set(options.on_cpu):
        raise ConvertError(
            f"{', '.join(unknown) or 'all graphs'} cannot stay on the CPU",
            reason="graphs",
            names=", ".join(unknown or graphs),
            known=", ".join(graphs),
        )


def shape_modes(soc: str) -> tuple[str, ...]:
    """Modes of shapes that a chip takes.

    ``set_dataset_tensor_desc`` is documented for 310P, 910, 910B and later; 310 and 310B lack it.
    """
    return MODES if _DYNAMIC_SOCS.match(soc) else (STATIC, GEARS)


def plan(graphs: Mapping[str, GraphAxes], options: OmOptions) -> tuple[OmJob, ...]:
    """Every call of ``atc`` that a model needs, in the order of its graphs.

    Args:
        graphs: of the model, with names for their free axes.
        options: what is asked.

    Raises:
        ConvertError: as :func:`check_options`, and ``gears`` (too few or too many sizes).
    """
    check_options(options, tuple(graphs))
    jobs = []
    for graph, axes in graphs.items():
        if graph in options.on_cpu:
            continue
        buckets = bucket_grid(graph, axes, options)
        if options.shapes == GEARS and not _LEAST_GEARS <= len(buckets) <= _MOST_GEARS:
            raise ConvertError(
                f"{graph} would have {len(buckets)} gears; atc takes {_LEAST_GEARS} to "
                f"{_MOST_GEARS}",
                reason="gears",
                graph=graph,
                count=len(buckets),
                least=_LEAST_GEARS,
                most=_MOST_GEARS,
            )
        groups = [(one,) for one in buckets] if options.shapes == STATIC else [tuple(buckets)]
        for sizes in groups:
            name = _named(graph, sizes[0]) if options.shapes == STATIC else graph
            jobs.append(OmJob(graph, name, sizes, _arguments(graph, name, axes, sizes, options)))
        if shows_layers(graph, options):
            jobs.append(_layers_job(graph, axes, buckets[-1], options))
    return tuple(jobs)


def layered(graph: str) -> str:
    """The name of a graph in the form that gives what each block computes."""
    return f"{graph}.layers"


def shows_layers(graph: str, options: OmOptions) -> bool:
    """Whether a graph is converted in that form, too."""
    return options.layers and graph in LAYERED and graph not in options.on_cpu


def _layers_job(graph: str, axes: GraphAxes, largest: Sizes, options: OmOptions) -> OmJob:
    """One size that takes whatever the others take: speed does not count."""
    sizes = ({axis: 1 if axis == axes.batch else size for axis, size in largest.items()},)
    own = dataclasses.replace(options, shapes=STATIC, layers=False)
    arguments = _arguments(graph, layered(graph), axes, sizes, own)
    return OmJob(graph, layered(graph), sizes, arguments, shows_layers=True)


def bucket_grid(graph: str, axes: GraphAxes, options: OmOptions) -> list[Sizes]:
    """Sizes of a graph, ordered by what they cost; one entry, the largest, for ``dynamic``.

    Frames and tokens go together: half as many tokens, but for the largest, which takes the most
    that its frames can give. What has more tokens than its frames allow goes to the next size.
    """
    largest = max(options.frames)
    batch = options.batch or ((1,) if options.shapes == STATIC else (1, 4))
    words = FILTERED_WORDS if graph == FILTER else LISTENED_WORDS
    found: dict[tuple[int, ...], Sizes] = {}
    for frames, rows in itertools.product(sorted(options.frames), sorted(batch)):
        tokens = frames + 1 if frames == largest else -(-frames // 2)
        every = {
            BATCH: rows,
            FRAMES: frames,
            TOKENS: tokens,
            WORDS: words,
            WORD_TOKENS: _WORD_TOKENS,
        }
        sizes = {axis: every[axis] for axis in axes.free}
        found[tuple(sizes.values())] = sizes
    ordered = sorted(found.values(), key=lambda sizes: math.prod(sizes.values()))
    return ordered[-1:] if options.shapes == DYNAMIC else ordered


def keeps(graph: str, precision: str) -> bool:
    """Whether ``atc`` is told which operators of a graph stay in single precision."""
    return precision != FP32 and graph not in ON_CPU


def keep_file(graph: str) -> str:
    """Name of the file with those operators."""
    return f"{graph}.keep.txt"


def _arguments(
    graph: str, name: str, axes: GraphAxes, sizes: Sequence[Sizes], options: OmOptions
) -> tuple[str, ...]:
    fixed = sizes[0] if options.shapes == STATIC else None
    shapes = [
        (tensor.name, [axis if isinstance(axis, int) else -1 for axis in tensor.axes])
        if fixed is None
        else (tensor.name, list(tensor.shape(fixed)))
        for tensor in axes.inputs
    ]
    shown = ";".join(f"{tensor}:{','.join(map(str, shape))}" for tensor, shape in shapes)
    arguments = [
        f"--model={graph}.onnx",
        "--framework=5",
        f"--output={MAKING}/{name}",
        "--input_format=ND",
        f"--input_shape={shown}",
    ]
    if options.shapes == GEARS:
        free = [axis for tensor in axes.inputs for axis in tensor.axes if isinstance(axis, str)]
        gears = [",".join(str(one[axis]) for axis in free) for one in sizes]
        arguments.append(f"--dynamic_dims={';'.join(gears)}")
    if shows_layers(graph, options):
        # The graph has outputs for its blocks as well, which would keep operators from fusing.
        arguments.append(f"--out_nodes={';'.join(tensor.name for tensor in axes.outputs)}")
    arguments += [
        f"--soc_version={options.soc}",
        f"--precision_mode_v2={_PRECISION_FLAGS[options.precision]}",
    ]
    if keeps(graph, options.precision):
        arguments.append(f"--keep_dtype={keep_file(graph)}")
    if options.precision == MIXED:
        arguments.append(f"--modify_mixlist={MIX_LIST}")
    arguments.append("--output_type=FP32")
    if options.host_cpu != "none":
        arguments += ["--host_env_os=linux", f"--host_env_cpu={options.host_cpu}"]
    return (*arguments, "--log=error")


def _named(graph: str, sizes: Sizes) -> str:
    return "_".join([graph, *(f"{axis}{size}" for axis, size in sizes.items())])
