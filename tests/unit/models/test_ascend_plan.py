"""The calls of ``atc``: their exact text for each chip and mode of shapes, and what is refused."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asr_core.errors import ConvertError
from asr_core.models.ascend_plan import (
    FP32,
    MIXED,
    OmOptions,
    bucket_grid,
    plan,
    shape_modes,
)
from asr_core.models.funasr_folder import open_folder
from asr_core.networks.config import read_paraformer_config
from asr_core.networks.graph_axes import GraphAxes, paraformer_axes
from asr_core.runtime.ascend_manifest import MODES
from asr_core.runtime.ascend_shapes import choose
from tests.golden.paraformer_files import PLAIN, SEACO

GOLDEN = Path(__file__).resolve().parents[2] / "golden" / "atc"
CHIPS = {"310": "Ascend310", "310P": "Ascend310P3", "910B": "Ascend910B3"}
FRAMES = (64, 128)


def axes_of(folder: Path) -> Mapping[str, GraphAxes]:
    tokens = open_folder(folder, name="model", graphs=False).tokens
    return paraformer_axes(read_paraformer_config(folder / "config.yaml", len(tokens)))


AXES = axes_of(SEACO)


def commands(options: OmOptions) -> str:
    return "".join(f"{shlex.join(['atc', *job.arguments])}\n" for job in plan(AXES, options))


@pytest.mark.parametrize(
    ("chip", "shapes"),
    [(chip, mode) for chip, soc in CHIPS.items() for mode in shape_modes(soc)],
)
def test_the_exact_commands(chip: str, shapes: str) -> None:
    options = OmOptions(CHIPS[chip], shapes, FRAMES)
    expected = (GOLDEN / f"{chip}-{shapes}.txt").read_text(encoding="utf-8")
    assert commands(options) == expected


def test_precisions_and_machines_change_these_arguments_alone() -> None:
    half = OmOptions("Ascend310P3", frames=FRAMES)
    mixed, single = replace(half, precision=MIXED), replace(half, precision=FP32)
    mixing = "--precision_mode_v2=mixed_float16"
    for asked, changes in (
        (
            mixed,
            [
                ("--precision_mode_v2=fp16", mixing),
                (" --output_type", " --modify_mixlist=mix.json --output_type"),
            ],
        ),
        (
            single,
            [
                ("--precision_mode_v2=fp16", "--precision_mode_v2=origin"),
                *((f" --keep_dtype={graph}.keep.txt", "") for graph in AXES),
            ],
        ),
        (replace(half, host_cpu="x86_64"), [("aarch64", "x86_64")]),
        (
            replace(half, host_cpu="none"),
            [(" --host_env_os=linux --host_env_cpu=aarch64", "")],
        ),
    ):
        expected = commands(half)
        for before, after in changes:
            expected = expected.replace(before, after)
        assert commands(asked) == expected


def test_graphs_with_an_lstm_stay_on_the_cpu_unless_asked() -> None:
    usual = plan(AXES, OmOptions("Ascend310P3"))
    assert [job.graph for job in usual] == ["encode", "decode", "bias", "filter"]
    every = plan(AXES, OmOptions("Ascend310P3", "static", (64, 128), on_cpu=()))
    assert {job.graph for job in every} == set(AXES)
    [embed] = (job for job in every if job.graph == "embed")
    assert "--input_shape=tokens:64,10" in embed.arguments
    assert not any("keep_dtype" in one for job in every[4:6] for one in job.arguments)
    plain = plan(axes_of(PLAIN), OmOptions("Ascend310P3"))
    assert [job.graph for job in plain] == ["encode", "decode"]


@pytest.mark.parametrize("soc", ["Ascend310", "Ascend310B1", "Ascend310B4"])
def test_chips_without_free_shapes_refuse_them(soc: str) -> None:
    with pytest.raises(ConvertError) as caught:
        plan(AXES, OmOptions(soc, "dynamic"))
    details = caught.value.details
    assert (details["reason"], details["allowed"]) == ("shapes", "static, gears")


@pytest.mark.parametrize("soc", ["Ascend310P1", "Ascend310P3", "Ascend910A", "Ascend910_9362"])
def test_chips_with_free_shapes(soc: str) -> None:
    assert shape_modes(soc) == MODES


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"soc": "310P3"}, "soc_name"),
        ({"soc": "Ascend310P3; rm -rf /"}, "soc_name"),
        ({"frames": (64,), "batch": (1,)}, "gears"),
        ({"frames": tuple(range(1, 61)), "batch": (1, 2)}, "gears"),
        ({"on_cpu": ("encoder",)}, "graphs"),
        ({"on_cpu": tuple(AXES)}, "graphs"),
    ],
)
def test_what_cannot_be_is_refused(changes: dict[str, object], reason: str) -> None:
    with pytest.raises(ConvertError) as caught:
        plan(AXES, replace(OmOptions("Ascend310P3"), **changes))  # type: ignore[arg-type]
    assert caught.value.details["reason"] == reason


@given(
    frames=st.sets(st.integers(1, 600), min_size=2, max_size=6),
    batch=st.sets(st.integers(1, 16), min_size=1, max_size=3),
    share=st.floats(0.01, 1.0),
)
def test_every_segment_up_to_the_largest_size_finds_a_gear(
    frames: set[int], batch: set[int], share: float
) -> None:
    """With as many tokens as its frames can give, and one more."""
    options = OmOptions("Ascend310P3", frames=tuple(frames), batch=tuple(batch))
    grid = bucket_grid("decode", AXES["decode"], options)
    for count in {1, *frames, max(1, round(share * max(frames)))}:
        sizes = {"batch": 1, "frames": count, "tokens": count + 1}
        place = choose(grid, sizes, "batch")
        assert place is not None
        assert all(grid[place][axis] >= size for axis, size in sizes.items())
