"""Model folders of FunASR become graphs for ONNX Runtime, or checkpoints of MindSpore.

A converted Paraformer holds the small files of the original, one file for each graph, and
``graphs.json`` (see :mod:`asr_core.models.graph_folder`). Graphs of one size, made on request for
compilers that know no other, are named ``encode.64`` and so on and share the weights of the graph
whose sizes are free. Punctuation and voice activity become the folder that FunASR's export gives.
"""

from __future__ import annotations

import functools
import importlib.util
import platform
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from asr_core.errors import ConvertError
from asr_core.models.convert_cells import (
    ParaformerSource,
    dense_operators,
    on_mindspore,
    save_cells,
    write_graph,
)
from asr_core.models.convert_families import GRAPH_FILE, Family, family_of
from asr_core.models.convert_files import (
    MADE_BY,
    bucket_sizes,
    copy_small_files,
    write_own_manifest,
    write_sized,
)
from asr_core.models.convert_target import new_folder
from asr_core.models.files import sha256_of
from asr_core.models.funasr_folder import SEGMENTATION_FILE, open_folder
from asr_core.models.graph_folder import GraphFile, GraphFolder, graph_file, write_graph_manifest
from asr_core.models.onnx_file import write_onnx
from asr_core.models.quantize import (
    DEFAULT_KEPT,
    Method,
    Operator,
    quantize,
    unknown_names,
)
from asr_core.networks.config import read_paraformer_config
from asr_core.networks.graphs import GraphShape, paraformer_graphs
from asr_core.networks.sessions import filled_graphs
from asr_core.runtime.funasr import (
    CHECKPOINT_FILES,
    CMVN_FILE,
    CONFIG_FILE,
    TOKENS_FILE,
    find_files,
)

PRECISIONS = ("int8", "fp32")
CHECKPOINT_FILE = "model.ckpt"

SMALL_FILES = (CONFIG_FILE, TOKENS_FILE, CMVN_FILE, SEGMENTATION_FILE, "configuration.json")
_PACKAGES = ("mindspore", "onnx")
_SPACE = 1.2
"""Disk space by that of the checkpoint: hotwords' graphs share weights, and one graph stands in
both precisions for a moment."""

_FAULTS = (RuntimeError, ValueError, TypeError, AttributeError, MemoryError)
"""What MindSpore raises; it has no classes of its own."""

StepSink = Callable[["Step"], None]

Chooser = Callable[[ParaformerSource, Path, Path], tuple[str, ...]]
"""Given a model, the folder with its graphs and an empty one for as many bytes again."""


@dataclass(frozen=True, slots=True)
class Step:
    """What a conversion does now.

    Attributes:
        kind: ``read``, ``write`` (a graph) or ``quantize`` (a graph).
        graph: its name, where there is one.
        number: of the step, from 1.
        total: number of steps.
    """

    kind: str
    graph: str
    number: int
    total: int


@dataclass(frozen=True, slots=True)
class OnnxOptions:
    """How graphs are made.

    Attributes:
        precision: of weights: one of :data:`PRECISIONS`.
        kept: operators, or parts with operators, whose weights stay in single precision.
        buckets: frames of the graphs of one size that are made besides.
        method: how weights get eight bits.
        replace: whether a converted folder of the same name gives way.
        choose: looks at the graphs in single precision and says what stays so, instead of
            ``kept``.
    """

    precision: str = "int8"
    kept: tuple[str, ...] = DEFAULT_KEPT
    buckets: tuple[int, ...] = ()
    method: Method = Method.PAIRS
    replace: bool = False
    choose: Chooser | None = None


def convert_to_onnx(
    source: Path,
    target: Path,
    options: OnnxOptions | None = None,
    on_step: StepSink | None = None,
) -> Path:
    """Write a model as graphs for ONNX Runtime.

    Args:
        source: FunASR's folder: ``config.yaml``, ``tokens.json``, ``am.mvn`` and a checkpoint.
        target: the folder, which appears when all of it is there.
        options: how; the defaults where there are none.
        on_step: told what comes next.

    Returns:
        ``target``.

    Raises:
        ModelFileMissingError: files are missing; all are named.
        ModelIntegrityError: a file is damaged or belongs to another model.
        ConvertError: it cannot be done; see there.
        DeviceUnavailableError: MindSpore cannot be used.
    """
    options, on_step = options or OnnxOptions(), on_step or _ignore
    require_packages()
    require_apart(source, target)
    family = _family(source)
    if family is not None:
        return _convert_family(family, source, target, options, on_step)
    found = _open_source(source)
    space = _SPACE * (2 if options.choose else 1)
    needed_bytes = int(found.checkpoint.stat().st_size * space)
    with new_folder(target, needed_bytes, replace=options.replace) as work:
        maker = _GraphMaker(found, work, options, on_step)
        maker.run()
        copy_small_files(source, work, SMALL_FILES)
        write_graph_manifest(
            GraphFolder(
                path=work,
                runtime="onnxruntime",
                precision=options.precision,
                model=found.model,
                source_file=found.checkpoint.name,
                source_sha256=sha256_of(found.checkpoint),
                made_by=MADE_BY,
                graphs=maker.graphs,
                weights=tuple(maker.weights),
            )
        )
    return target


def convert_to_mindspore(
    source: Path,
    target: Path,
    *,
    replace: bool = False,
    on_step: StepSink | None = None,
) -> Path:
    """Write a model as a checkpoint of MindSpore, ``model.ckpt``, with its small files.

    Args:
        source: as :func:`convert_to_onnx`; Paraformer only.
        target: the folder, which appears when all of it is there.
        replace: whether a converted folder of the same name gives way.
        on_step: told what comes next.

    Returns:
        ``target``.

    Raises:
        As :func:`convert_to_onnx`.
    """
    require_packages()
    require_apart(source, target)
    family = _family(source)
    if family is not None:
        raise ConvertError(
            f"{source} is a {family.name}, which MindSpore does not execute; convert it to onnx",
            reason="kind",
            path=str(source),
            model=family.name,
        )
    found = _open_source(source)
    needed_bytes = found.checkpoint.stat().st_size
    on_step = on_step or _ignore
    with new_folder(target, needed_bytes, replace=replace) as work:
        on_step(Step("read", "", 1, 2))
        cells = on_mindspore(lambda: filled_graphs(found.config, found.checkpoint))
        on_step(Step("write", CHECKPOINT_FILE, 2, 2))
        on_mindspore(lambda: save_cells(cells, work / CHECKPOINT_FILE))
        copy_small_files(source, work, SMALL_FILES)
        write_own_manifest(work, found.model, found.checkpoint)
    return target


class _GraphMaker:
    """Writes the graphs of one model; of the weights that are written none stays in memory."""

    def __init__(
        self, source: ParaformerSource, work: Path, options: OnnxOptions, sink: StepSink
    ) -> None:
        self._source = source
        self._work = work
        self._options = options
        self._sink = sink
        self.graphs: dict[str, GraphFile] = {}
        self.weights: list[GraphFile] = []

    def run(self) -> None:
        shapes = paraformer_graphs(self._source.config)
        total = 1 + len(shapes) * (2 if self._options.precision == "int8" else 1)
        number = 1
        self._sink(Step("read", "", number, total))
        config, checkpoint = self._source.config, self._source.checkpoint
        cells = on_mindspore(lambda: filled_graphs(config, checkpoint))
        _check_names(self._source.folder, dense_operators(cells), self._options.kept)
        for name, shape in shapes.items():
            number += 1
            self._sink(Step("write", name, number, total))
            self._export(name, cells.pop(name), shape)
        kept = self._kept()
        for name, shape in shapes.items():
            if self._options.precision == "int8":
                number += 1
                self._sink(Step("quantize", name, number, total))
            self._finish(name, shape, kept)

    def _kept(self) -> tuple[str, ...]:
        if self._options.choose is None:
            return self._options.kept
        with tempfile.TemporaryDirectory(dir=self._work) as folder:
            return self._options.choose(self._source, self._work, Path(folder))

    def _export(self, name: str, cell: Any, shape: GraphShape) -> None:
        path = self._work / f"{name}.onnx"
        try:
            on_mindspore(functools.partial(write_graph, name, cell, shape, path))
        except _FAULTS as exc:
            raise ConvertError(
                f"MindSpore cannot write the graph {name} of {self._source.folder}: {exc}",
                reason="export",
                path=str(path),
                graph=name,
                cause=str(exc),
            ) from exc

    def _finish(self, name: str, shape: GraphShape, kept: tuple[str, ...]) -> None:
        """Quantize a graph, and write its forms of one size."""
        import onnx

        path = self._work / f"{name}.onnx"
        sizes = bucket_sizes(self._options.buckets, name) if _has_sizes(shape) else {}
        quantizes = self._options.precision == "int8"
        left: tuple[str, ...] = ()
        if quantizes or sizes:
            model = onnx.load(path)
            if quantizes:
                left = quantize(model, kept, self._options.method)
            write_onnx(model, path, apart=bool(sizes))
            for suffix, each in sizes.items():
                sized_path = path.with_name(f"{name}.{suffix}.onnx")
                self.graphs[f"{name}.{suffix}"] = write_sized(model, shape, each, sized_path)
        self.graphs[name] = graph_file(path, left)
        weights = path.with_suffix(".weights")
        if weights.is_file():
            self.weights.append(graph_file(weights))


def _convert_family(
    family: Family, source: Path, target: Path, options: OnnxOptions, on_step: StepSink
) -> Path:
    """A model for punctuation or voice activity: one graph of single precision."""
    checkpoint = _checkpoint(source, family.small_files)
    if options.choose or options.buckets or options.kept != DEFAULT_KEPT:
        raise ConvertError(
            f"{source} holds a {family.name}, which is converted whole: nothing can be chosen",
            reason="whole",
            path=str(source),
            model=family.name,
        )
    needed_bytes = int(checkpoint.stat().st_size * _SPACE)
    with new_folder(target, needed_bytes, replace=options.replace) as work:
        on_step(Step("write", GRAPH_FILE, 1, 1))
        on_mindspore(functools.partial(family.export, source, work / GRAPH_FILE))
        copy_small_files(source, work, family.small_files)
        write_own_manifest(work, family.name, checkpoint)
    return target


def require_packages() -> None:
    """What conversion needs is installed.

    Raises:
        ConvertError: ``package``.
    """
    for package in _PACKAGES:
        if importlib.util.find_spec(package) is None:
            python = platform.python_version()
            raise ConvertError(
                f"conversion needs {package}, which is not installed for Python {python}; "
                "MindSpore exists for Python 3.10 to 3.12",
                reason="package",
                package=package,
                python=python,
            )


def require_apart(source: Path, target: Path) -> None:
    """Neither folder holds the other one."""
    inner, outer = source.resolve(), target.resolve()
    if inner == outer or inner in outer.parents or outer in inner.parents:
        raise ConvertError(
            f"{target} and {source} lie inside each other; name another folder",
            reason="inside",
            path=str(target),
        )


def _family(source: Path) -> Family | None:
    """The family of a folder that holds no Paraformer."""
    return family_of(source) if (source / CONFIG_FILE).is_file() else None


def _checkpoint(source: Path, small_files: tuple[str, ...]) -> Path:
    wanted = [*((name,) for name in small_files), CHECKPOINT_FILES]
    return find_files(source, wanted, source.name)[-1]


def _open_source(source: Path) -> ParaformerSource:
    checkpoint = _checkpoint(source, (CONFIG_FILE, TOKENS_FILE, CMVN_FILE))
    folder = open_folder(source, name=source.name, graphs=False)
    config = read_paraformer_config(source / CONFIG_FILE, len(folder.tokens))
    return ParaformerSource(source, folder.model, config, checkpoint)


def _check_names(source: Path, operators: list[Operator], kept: tuple[str, ...]) -> None:
    # A plain Paraformer lacks some parts that are kept by default.
    unknown = [name for name in unknown_names(operators, kept) if name not in DEFAULT_KEPT]
    if unknown:
        raise ConvertError(
            f"{source} has no operator or part named {', '.join(unknown)}",
            reason="operators",
            path=str(source),
            names=", ".join(unknown),
        )


def _has_sizes(shape: GraphShape) -> bool:
    return any(len(spec.shape) > 2 for spec in shape.inputs)


def _ignore(_step: Step) -> None:
    """Progress that nobody watches."""
