"""A Paraformer for Ascend devices: graphs, calls of ``atc``, manifests, and the script that runs
them.

The folder is prepared as a whole, without its OM files and with manifests that lack their hashes
(``graphs.json.in``). Its script ``convert.sh`` makes what is missing, here or on the machine that
the folder was copied to, and then the manifests. What stops on the way leaves what is finished.
"""

from __future__ import annotations

import dataclasses
import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from asr_core.errors import ConvertError
from asr_core.models.ascend_graph import MIXED_KEPT, prepare
from asr_core.models.ascend_plan import (
    FP32,
    MIX_LIST,
    MIXED,
    OmJob,
    OmOptions,
    keep_file,
    keeps,
    layered,
    plan,
    shows_layers,
)
from asr_core.models.ascend_script import (
    BUSY,
    CANN,
    FAILED,
    NO_ATC,
    SCRIPT_FILE,
    SHOWN_LINES,
    TIMED_OUT,
    marks,
    reason_of,
    script,
)
from asr_core.models.convert import (
    SMALL_FILES,
    OnnxOptions,
    StepSink,
    convert_to_onnx,
    require_apart,
)
from asr_core.models.convert_families import family_of
from asr_core.models.convert_files import MADE_BY, copy_small_files
from asr_core.models.convert_target import UNFINISHED, new_folder
from asr_core.models.files import sha256_of
from asr_core.models.funasr_folder import open_folder
from asr_core.models.graph_folder import (
    GRAPHS_FILE,
    GraphFile,
    GraphFolder,
    graph_document,
    graph_file,
    is_graph_folder,
    read_graph_folder,
)
from asr_core.models.graph_taps import describe_taps, tap_graph
from asr_core.models.offers import ASCEND, ONNX
from asr_core.models.onnx_file import write_onnx
from asr_core.models.selftest import write_selftest
from asr_core.networks.config import ParaformerConfig, read_paraformer_config
from asr_core.networks.graph_axes import GraphAxes, block_output, paraformer_axes
from asr_core.runtime.ascend_manifest import (
    ENDING,
    STATIC,
    OmFile,
    OmGraph,
    OmTensor,
    om_document,
    read_om_graph,
)
from asr_core.runtime.funasr import CHECKPOINT_FILES, CONFIG_FILE, SPEECH_FILES, find_files
from asr_core.runtime.npu_smi import read_npus, read_soc

_SPACE, _SPACE_OF_LAYERS = 2.5, 1.0
"""Disk space by that of the source: graphs in single precision and OM files, and those of layers,
each of which has its weights, too."""

_TESTED_FRAMES = 48

_STEP = re.compile(r"\d+/\d+ (\S+)\.om")


@dataclass(frozen=True, slots=True)
class OmFolder:
    """A folder that was prepared.

    Attributes:
        path: the folder.
        jobs: the calls of ``atc`` that it needs.
    """

    path: Path
    jobs: tuple[OmJob, ...]

    @property
    def script(self) -> Path:
        """Makes the OM files and the manifests."""
        return self.path / SCRIPT_FILE


def soc_of_machine() -> str:
    """The chip of this machine, as models are converted for it.

    Raises:
        ConvertError: ``soc``: there is none, or there are several kinds (``found``).
    """
    found = sorted({soc for chip in read_npus().chips if (soc := read_soc(chip))})
    if len(found) != 1:
        raise ConvertError(
            f"npu-smi tells {len(found)} kinds of chips; name one with --soc",
            reason="soc",
            found=", ".join(found) or "-",
        )
    return found[0]


def planned(source: Path, options: OmOptions) -> tuple[OmJob, ...]:
    """The calls of ``atc`` that a model needs; reads its small files only.

    Args:
        source: FunASR's or MindSpore's checkpoint, or graphs in single precision.
        options: what is asked.

    Raises:
        ModelFileMissingError: files are missing; all are named.
        ModelIntegrityError: a file is damaged.
        ConvertError: it cannot be done; see there.
    """
    return plan(_axes(source), options)


def prepare_om(
    source: Path,
    target: Path,
    options: OmOptions,
    *,
    locale: str,
    replace: bool = False,
    threads: int = 1,
    on_step: StepSink | None = None,
) -> OmFolder:
    """Write everything that ``atc`` needs, and the script that calls it.

    Args:
        source: as :func:`planned`.
        target: the folder, which appears when all of it is there.
        options: what is asked.
        locale: of what the script says.
        replace: whether a converted folder of the same name gives way.
        threads: CPU threads, for what the CPU says about the test of the device.
        on_step: told what comes next where graphs have to be made first.

    Raises:
        As :func:`planned`, :func:`asr_core.models.convert.convert_to_onnx` and
        :func:`asr_core.models.selftest.write_selftest`.
    """
    jobs = planned(source, options)
    require_apart(source, target)
    space = _SPACE + (_SPACE_OF_LAYERS if options.layers else 0)
    needed = int(space * sum(path.stat().st_size for path in source.iterdir() if path.is_file()))
    with new_folder(target, needed, replace=replace) as work:
        graphs = _graphs(source, work, on_step)
        _Maker(graphs, work, options, _config(source)).write(jobs, locale)
        frames = min(_TESTED_FRAMES, max(options.frames))
        write_selftest(work, graphs.path, frames=frames, threads=threads)
        if graphs.path != source:
            shutil.rmtree(graphs.path)
    return OmFolder(target, jobs)


def find_atc(given: str | None) -> str:
    """Where ``atc`` is; empty if this machine has none.

    Args:
        given: path of a program that the user names.

    Raises:
        ConvertError: ``no_atc``: it is no program.
    """
    found = shutil.which(given or "atc") or ""
    if given and not found:
        raise ConvertError(f"{given} is no program", reason="no_atc", path=given)
    return str(Path(found).absolute()) if found else ""


def run_script(
    folder: OmFolder,
    atc: str,
    *,
    timeout_s: int,
    on_line: Callable[[str], None] | None = None,
) -> GraphFolder:
    """Make the OM files of a prepared folder here.

    Args:
        folder: what was prepared, or what an earlier run left.
        atc: the program.
        timeout_s: for each file.
        on_line: told what the script says.

    Returns:
        What the finished folder holds.

    Raises:
        ConvertError: ``atc`` and its kinds, ``atc_timeout``; details ``graph``, ``log`` and
            ``lines``, the last ones of the log.
    """
    environment = {**os.environ, "ATC": atc, "ATC_TIMEOUT_S": str(timeout_s)}
    name = ""
    with subprocess.Popen(
        ["bash", str(folder.script.absolute())],
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env=environment,
        encoding="utf-8",
        errors="replace",
    ) as process:
        try:
            for line in process.stderr or ():
                found = _STEP.match(line)
                name = found[1] if found else name
                if on_line is not None:
                    on_line(line.rstrip("\n"))
            code = process.wait()
        except BaseException:
            process.terminate()
            raise
    if code:
        raise _failed(folder.path, name, code)
    made = read_graph_folder(folder.path, folder.path.name, SPEECH_FILES)
    for path in sorted(folder.path.glob(f"*{ENDING}")):
        read_om_graph(path, folder.path.name)
    return made


def _failed(folder: Path, name: str, code: int) -> ConvertError:
    log = folder / f"{name}.log"
    text = log.read_text(encoding="utf-8", errors="replace") if log.is_file() else ""
    known = {FAILED: reason_of(text), TIMED_OUT: "atc_timeout", NO_ATC: "no_atc", BUSY: "busy"}
    reason = known.get(code, "atc")
    lines = "\n".join(text.splitlines()[-SHOWN_LINES:])
    return ConvertError(
        f"atc ended with an error at {name} ({log}): {lines}",
        reason=reason,
        path=str(folder),
        graph=name,
        log=str(log),
        lines=lines,
    )


def _axes(source: Path) -> Mapping[str, GraphAxes]:
    return paraformer_axes(_config(source))


def _config(source: Path) -> ParaformerConfig:
    if (source / CONFIG_FILE).is_file() and (family := family_of(source)) is not None:
        raise ConvertError(
            f"{source} is a {family.name}, which stays on the CPU",
            reason="om_kind",
            path=str(source),
            model=family.name,
        )
    networks = (GRAPHS_FILE,) if is_graph_folder(source) else CHECKPOINT_FILES
    find_files(source, [*((name,) for name in SPEECH_FILES), networks], source.name)
    folder = open_folder(source, name=source.name, graphs=False)
    return read_paraformer_config(source / CONFIG_FILE, len(folder.tokens))


def _graphs(source: Path, work: Path, on_step: StepSink | None) -> GraphFolder:
    """The graphs in single precision; those of a checkpoint are made in a folder of their own."""
    if not is_graph_folder(source):
        made = convert_to_onnx(source, work / "graphs", OnnxOptions(precision="fp32"), on_step)
        return read_graph_folder(made, source.name)
    graphs = read_graph_folder(source, source.name)
    if graphs.runtime != ONNX or graphs.precision != FP32:
        raise ConvertError(
            f"{source} holds graphs for {graphs.runtime} in {graphs.precision}, not for "
            "onnxruntime in fp32",
            reason="om_source",
            path=str(source),
            runtime=graphs.runtime,
            precision=graphs.precision,
        )
    return graphs


class _Maker:
    """Writes a prepared folder."""

    def __init__(
        self,
        graphs: GraphFolder,
        work: Path,
        options: OmOptions,
        config: ParaformerConfig,
    ) -> None:
        self._graphs = graphs
        self._work = work
        self._options = options
        self._config = config
        self._axes = paraformer_axes(config)

    def write(self, jobs: Sequence[OmJob], locale: str) -> None:
        copy_small_files(self._graphs.path, self._work, SMALL_FILES)
        entries: dict[str, GraphFile] = {}
        manifests = []
        for graph, axes in self._axes.items():
            own = [job for job in jobs if job.graph == graph]
            path = self._work / f"{graph}.onnx"
            layers = self._write_graph(graph, path, axes, device=bool(own))
            if not own:
                entries[graph] = graph_file(path)
                continue
            inner = [job for job in own if job.shows_layers]
            made = [self._om_graph(graph, [job for job in own if job not in inner])]
            if inner:
                made.append(self._layers_graph(graph, inner, layers))
            for one in made:
                manifests.append(f"{one.graph}{ENDING}")
                entries[one.graph] = GraphFile(manifests[-1], "", 0)
                self._write_om_manifest(one, sha256_of(path))
        weights = tuple(GraphFile(job.file, "", 0) for job in jobs)
        self._write_graph_manifest(entries, weights)
        if self._options.precision == MIXED:
            self._write_json(MIX_LIST, {"black-list": {"to-add": list(MIXED_KEPT)}})
        text = script(jobs, [*manifests, GRAPHS_FILE], locale)
        (self._work / SCRIPT_FILE).write_text(text, encoding="utf-8")

    def _write_graph(
        self, graph: str, path: Path, axes: GraphAxes, *, device: bool
    ) -> tuple[OmTensor, ...]:
        """A graph for ``atc``, or as it is for the CPU; its weights lie in it if they can.

        Returns:
            The layers that it gives behind its outputs.
        """
        import onnx

        model = onnx.load(self._graphs.file(graph))
        layers: dict[str, OmTensor] = {}
        if device:
            half = self._options.precision != FP32
            kept = prepare(model, graph, axes, half=half)
            if keeps(graph, self._options.precision):
                names = "".join(f"{name}\n" for name in kept)
                (self._work / keep_file(graph)).write_text(names, encoding="utf-8")
            if shows_layers(graph, self._options):
                layers = {
                    output: block_output(self._config, graph, name)
                    for output, name in tap_graph(model, graph).items()
                }
                describe_taps(model, layers)
        write_onnx(model, path)
        return tuple(layers.values())

    def _om_graph(self, graph: str, jobs: Sequence[OmJob]) -> OmGraph:
        axes = self._axes[graph]
        return OmGraph(
            folder=self._work,
            graph=graph,
            mode=self._options.shapes,
            soc=self._options.soc,
            cann=CANN,
            precision=self._options.precision,
            source_sha256="",
            batch=axes.batch,
            inputs=axes.inputs,
            outputs=axes.outputs,
            files=tuple(OmFile(job.file, "", 0, job.sizes) for job in jobs),
        )

    def _layers_graph(
        self, graph: str, jobs: Sequence[OmJob], layers: Sequence[OmTensor]
    ) -> OmGraph:
        plain = self._om_graph(graph, jobs)
        outputs = (*plain.outputs, *layers)
        return dataclasses.replace(plain, graph=layered(graph), mode=STATIC, outputs=outputs)

    def _write_om_manifest(self, graph: OmGraph, source_sha256: str) -> None:
        document = om_document(dataclasses.replace(graph, source_sha256=source_sha256))
        for entry in document["files"]:
            entry.update(marks(entry["file"]))
        self._write_json(f"{graph.graph}{ENDING}{UNFINISHED}", document)

    def _write_graph_manifest(
        self, entries: Mapping[str, GraphFile], weights: tuple[GraphFile, ...]
    ) -> None:
        document = graph_document(
            GraphFolder(
                path=self._work,
                runtime=ASCEND,
                precision="fp16" if self._options.precision == MIXED else self._options.precision,
                model=self._graphs.model,
                source_file=self._graphs.source_file,
                source_sha256=self._graphs.source_sha256,
                made_by=MADE_BY,
                graphs=entries,
                weights=weights,
            )
        )
        for entry in (*document["graphs"].values(), *document["weights"]):
            if not entry["sha256"]:
                entry.update(marks(entry["file"]))
        self._write_json(f"{GRAPHS_FILE}{UNFINISHED}", document)

    def _write_json(self, name: str, document: Any) -> None:
        text = json.dumps(document, ensure_ascii=False, indent=1)
        (self._work / name).write_text(f"{text}\n", encoding="utf-8")
