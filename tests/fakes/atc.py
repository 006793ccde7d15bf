"""SIMULATION: ``atc``, the converter of Ascend devices. What it writes no device could load.

It takes the documented options alone and checks them strictly, then writes a simulated OM
(:mod:`tests.fakes.acl.om`) that holds the ONNX graph. ``SIMULATED_ATC_FAIL=NAME:CODE`` makes it
fail for the OM of that name, ``SIMULATED_ATC_HANG=NAME`` makes it hang.
"""

from __future__ import annotations

import json
import os
import platform
import re
import sys
import time
from pathlib import Path
from typing import Any

from tests.fakes.acl import om

OPTIONS = frozenset(
    [
        "model",
        "framework",
        "output",
        "input_format",
        "input_shape",
        "dynamic_dims",
        "out_nodes",
        "soc_version",
        "precision_mode",
        "precision_mode_v2",
        "keep_dtype",
        "modify_mixlist",
        "output_type",
        "host_env_os",
        "host_env_cpu",
        "log",
    ]
)
SOCS = ("310", "310P1", "310P3", "310B1", "310B4", "910A", "910B", "910B2", "910B3", "910B4")
PRECISIONS = ("fp16", "origin", "cube_fp16in_fp32out", "mixed_float16", "mixed_bfloat16")
OPERATORS = frozenset(
    [
        "Add",
        "Cast",
        "Clip",
        "Concat",
        "Constant",
        "Conv",
        "Div",
        "Gather",
        "Identity",
        "LSTM",
        "LogSoftmax",
        "MatMul",
        "Mul",
        "Pad",
        "Pow",
        "ReduceMean",
        "ReduceSum",
        "Relu",
        "Reshape",
        "Sigmoid",
        "Softmax",
        "Split",
        "Sqrt",
        "Squeeze",
        "Sub",
        "Transpose",
    ]
)
PATH = re.compile(r"[\w./-]+")
FREE = {
    **dict.fromkeys(("features", "positions", "mask", "encoded", "alphas"), "frames"),
    **dict.fromkeys(("memory", "memory_mask"), "frames"),
    **dict.fromkeys(("embeds", "token_mask", "hidden", "scores"), "tokens"),
    **dict.fromkeys(("words", "word_mask", "attention"), "words"),
    **dict.fromkeys(("tokens", "embedded"), "word_tokens"),
    "us_alphas": "frames*3",
}
"""What the axis of time of each input and output is called."""


class RefusedError(Exception):
    """With a code of ``atc`` and its words."""


def refuse(code: str, text: str) -> None:
    raise RefusedError(f"{code}: {text}")


def parse(arguments: list[str]) -> dict[str, str]:
    options: dict[str, str] = {}
    for argument in arguments:
        found = re.fullmatch(r"--([a-z0-9_]+)=(.*)", argument, re.DOTALL)
        if not found or found[1] not in OPTIONS:
            refuse("E10018", f"{argument} is no option")
        elif found[1] in options:
            refuse("E10018", f"{argument} is there twice")
        else:
            options[found[1]] = found[2]
    for name in ("model", "framework", "output", "soc_version", "input_shape"):
        if not options.get(name):
            refuse("E10018", f"--{name} is missing")
    return options


def check(options: dict[str, str]) -> None:
    allowed = {
        "framework": ("5",),
        "input_format": ("ND",),
        "soc_version": tuple(f"Ascend{soc}" for soc in SOCS),
        "precision_mode_v2": PRECISIONS,
        "output_type": ("FP32", "FP16", "UINT8"),
        "host_env_os": ("linux",),
        "host_env_cpu": ("aarch64", "x86_64"),
        "log": ("null", "debug", "info", "warning", "error"),
    }
    for name, values in allowed.items():
        if name in options and options[name] not in values:
            refuse("E10018", f"--{name}={options[name]}: it has to be one of {values}")
    if "precision_mode" in options and "precision_mode_v2" in options:
        refuse("E10009", "precision_mode and precision_mode_v2 exclude each other")
    if ("host_env_os" in options) != ("host_env_cpu" in options):
        refuse("E10018", "host_env_os and host_env_cpu belong together")
    for name in ("model", "output", "keep_dtype", "modify_mixlist"):
        if name in options and not PATH.fullmatch(options[name]):
            refuse("E10018", f"--{name}={options[name]}: the path has forbidden characters")
    if "modify_mixlist" in options:
        if not options.get("precision_mode_v2", "").startswith("mixed"):
            refuse("E10018", "modify_mixlist needs mixed precision")
        lists = json.loads(Path(options["modify_mixlist"]).read_text(encoding="utf-8"))
        if set(lists) - {"black-list", "white-list"}:
            refuse("E10018", "modify_mixlist has other lists")
    if "dynamic_dims" in options and options.get("input_format") != "ND":
        refuse("E10018", "dynamic_dims needs the format ND")


def check_graph(model: Any, options: dict[str, str]) -> None:
    if len(model.opset_import) != 1:
        refuse("E16005", "the model has several domain versions")
    if not 11 <= model.opset_import[0].version <= 18:
        refuse("E10018", "the opset is not between 11 and 18")
    for node in model.graph.node:
        if node.domain or node.op_type not in OPERATORS:
            refuse("E19010", f"No parser is registered for Op [{node.name}, {node.op_type}]")
    names = [node.name for node in model.graph.node]
    if len(set(names)) != len(names) or "" in names:
        refuse("E19999", "nodes without names of their own")
    if "keep_dtype" in options:
        if options.get("precision_mode_v2") == "origin":
            refuse("E10018", "keep_dtype has no effect")
        listed = Path(options["keep_dtype"]).read_text(encoding="utf-8").splitlines()
        absent = set(listed) - set(names)
        if absent or not listed:
            refuse("E10018", f"config file contains operators not in the graph: {sorted(absent)}")


def shapes(text: str) -> dict[str, list[int]]:
    found = {}
    for part in text.split(";"):
        name, _, sizes = part.rpartition(":")
        found[name] = [int(size) for size in sizes.split(",")]
    return found


def axes(name: str, shape: list[int], graph: str) -> tuple[om.Axis, ...]:
    """Names for what is not fixed by the graph."""
    first = "words" if graph == "embed" else "batch"
    inner = "frames" if graph == "encode" else "tokens"  # of what a block gives
    free = {0: first, len(shape) - 2: FREE.get(name, inner)}
    if name in ("us_alphas", "tokens"):
        free = {0: first, 1: FREE[name]}
    elif name == "part_counts":
        free = {0: first}
    elif name == "positions":
        free = {2: "frames"}
    elif name == "attention":
        free = {0: first, 3: "words"}
    return tuple(free.get(place, size) for place, size in enumerate(shape))


def header(model: Any, options: dict[str, str], graph: str) -> om.Header:
    import onnx

    given = shapes(options["input_shape"])
    wanted = [value.name for value in model.graph.input]
    if list(given) != wanted:
        refuse("E10018", f"input_shape names {list(given)}, the model has {wanted}")
    kinds = {
        value.name: str(onnx.helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type))
        for value in (*model.graph.input, *model.graph.output)
    }
    inputs = tuple(
        om.Tensor(name, kinds[name], axes(name, shape, graph)) for name, shape in given.items()
    )
    free = [
        (str(axis), size)
        for tensor, shape in zip(inputs, given.values(), strict=True)
        for axis, size in zip(tensor.axes, shape, strict=True)
        if isinstance(axis, str)
    ]
    sizes, mode = sizes_of(free, options)
    widths = output_widths(options["model"], inputs, sizes[0], kinds)
    outputs = tuple(
        om.Tensor(name, kinds[name], axes(name, widths[name], graph))
        for name in outputs_of(model, options)
    )
    return om.Header(options["soc_version"], mode, inputs, outputs, sizes)


def outputs_of(model: Any, options: dict[str, str]) -> list[str]:
    """Names of what the OM gives; ``out_nodes`` may name outputs of the model, or nodes of it."""
    present = [value.name for value in model.graph.output]
    wanted = options["out_nodes"].split(";") if "out_nodes" in options else present
    if absent := set(wanted) - set(present):
        refuse("E10018", f"out_nodes: the simulation wants outputs, not {sorted(absent)}")
    return wanted


def sizes_of(
    free: list[tuple[str, int]], options: dict[str, str]
) -> tuple[tuple[dict[str, int], ...], str]:
    """Sizes of the named axes, and the mode of the file."""
    is_open = [size == -1 for _, size in free]
    if "dynamic_dims" in options:
        gears = [[int(size) for size in gear.split(",")] for gear in gears_of(options)]
        if not 2 <= len(gears) <= 100:
            refuse("E10035", f"{len(gears)} gears")
        if any(len(gear) != sum(is_open) for gear in gears):
            refuse("E10045", "the numbers of a gear are not as many as there are -1")
        if not all(is_open):
            refuse("E10018", "the simulation wants every free axis as -1")
        return tuple(named(free, gear) for gear in gears), "gears"
    if all(is_open):
        soc = options["soc_version"].removeprefix("Ascend")
        if soc == "310" or soc.startswith("310B"):
            refuse("E10018", f"{soc} takes no shapes that are unknown")
        most = {"batch": 64, "frames": 2048, "tokens": 2049, "words": 4096, "word_tokens": 10}
        return ({axis: most[axis] for axis, _ in free},), "dynamic"
    return (named(free, [size for _, size in free]),), "static"


def gears_of(options: dict[str, str]) -> list[str]:
    return options["dynamic_dims"].split(";")


def named(free: list[tuple[str, int]], sizes: list[int]) -> dict[str, int]:
    found: dict[str, int] = {}
    for (axis, _), size in zip(free, sizes, strict=True):
        if size < 1 or found.setdefault(axis, size) != size:
            refuse("E10046", f"{axis} has several sizes in one gear")
    return found


def output_widths(
    path: str, inputs: tuple[om.Tensor, ...], sizes: dict[str, int], kinds: dict[str, str]
) -> dict[str, list[int]]:
    """Shapes of the outputs for small inputs, by running the graph."""
    import numpy as np
    import onnxruntime

    small = {axis: min(size, 4) for axis, size in sizes.items()}
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    feeds = {
        tensor.name: np.ones([om.size_of(axis, small) for axis in tensor.axes], kinds[tensor.name])
        for tensor in inputs
    }
    names = [output.name for output in session.get_outputs()]
    results = session.run(names, feeds)
    return {name: list(array.shape) for name, array in zip(names, results, strict=True)}


def convert(arguments: list[str]) -> Path:
    import onnx

    options = parse(arguments)
    check(options)
    output = Path(options["output"])
    name, _, code = os.environ.get("SIMULATED_ATC_FAIL", "").partition(":")
    if name and output.name == name:
        refuse(code, "simulated fault")
    if output.name == os.environ.get("SIMULATED_ATC_HANG"):
        time.sleep(600)
    model = onnx.load(options["model"])
    check_graph(model, options)
    found = header(model, options, Path(options["model"]).stem)
    cpu = options.get("host_env_cpu", platform.machine())
    is_marked = "host_env_cpu" in options or found.mode == "dynamic"
    ending = f"_linux_{cpu}.om" if is_marked else ".om"
    return om.build(Path(options["model"]), output.with_name(output.name + ending), found)


def main() -> int:
    sys.stdout.write("ATC start working now, please wait for a moment. (simulation)\n")
    try:
        convert(sys.argv[1:])
    except RefusedError as exc:
        sys.stdout.write(f"ATC run failed, Please check the detail log\n{exc}\n")
        return 1
    sys.stdout.write("ATC run success, welcome to the next use.\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
