"""Sensitivity: every operator is measured, and what is kept brings the tokens back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest

from asr_core.errors import ConvertError
from asr_core.models.funasr_folder import open_folder
from asr_core.models.quantize import DEFAULT_KEPT, Method, operators_of
from asr_core.networks.config import read_paraformer_config
from asr_core.parity.material import SAMPLE, batches
from asr_core.parity.probe import Inputs
from asr_core.parity.sensitivity import Effect, PartEffect, SensitivityMeter, part_of
from asr_core.parity.sensitivity_report import COLUMNS, to_html, to_table

pytest.importorskip("mindspore", reason="MindSpore is not installed")


@pytest.fixture(scope="module")
def graphs(plain_fp32: Path) -> Path:
    return plain_fp32


@pytest.fixture(scope="module")
def recordings(graphs: Path) -> list[Inputs]:
    folder = open_folder(graphs, name="x", graphs=False)
    return list(batches([SAMPLE], folder, (), batch=2))


def opened(graphs: Path, work: Path, recordings: list[Inputs]) -> SensitivityMeter:
    folder = open_folder(graphs, name="x", graphs=False)
    config = read_paraformer_config(graphs / "config.yaml", len(folder.tokens))
    return SensitivityMeter(graphs, work, folder=folder, config=config, recordings=recordings)


@pytest.fixture(scope="module")
def meter(
    graphs: Path, recordings: list[Inputs], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SensitivityMeter]:
    meter = opened(graphs, tmp_path_factory.mktemp("work"), recordings)
    yield meter
    meter.close()


@pytest.fixture(scope="module")
def parts(meter: SensitivityMeter) -> tuple[PartEffect, ...]:
    steps: list[tuple[str, int, int]] = []
    parts = meter.measure(lambda *step: steps.append(step))
    assert [name for name, _, _ in steps] == [part.name for part in parts]
    assert steps[-1][1:] == (len(parts), len(parts))
    return parts


def test_every_operator_is_in_one_part(graphs: Path, parts: tuple[PartEffect, ...]) -> None:
    expected = {
        operator.name
        for name in ("encode", "decode")
        for operator in operators_of(onnx.load(graphs / f"{name}.onnx"))
    }
    found = [operator.name for part in parts for operator, _ in part.operators]
    assert len(found) == len(set(found))
    assert set(found) == expected
    for part in parts:
        for operator, error in part.operators:
            assert part_of(operator.name) == part.name
            assert 0 < error < 0.02


def test_parts_are_halves_of_blocks() -> None:
    assert part_of("encode.encoder.encoders.3.self_attn.linear_out") == (
        "encode.encoder.encoders.3.self_attn"
    )
    assert part_of("decode.output_layer") == "decode.output_layer"
    assert part_of("encode.predictor.cif_output") == "encode.predictor"


def test_what_is_kept_has_no_effect(meter: SensitivityMeter) -> None:
    assert meter.effect_without(["encode", "decode"]) == Effect(0.0, 0.0, 1.0)
    some = meter.effect_without(DEFAULT_KEPT)
    assert 0 < some.mean_abs <= some.max_abs


def test_a_part_has_less_effect_than_all_parts(
    meter: SensitivityMeter, parts: tuple[PartEffect, ...]
) -> None:
    everything = meter.effect_without([])
    smallest = min(part.effect.mean_abs for part in parts)
    assert 0 < smallest < everything.mean_abs
    for part in parts:
        assert 0.0 <= part.effect.agreement <= 1.0


def test_the_same_call_gives_the_same(meter: SensitivityMeter) -> None:
    assert meter.effect_without(["decode"]) == meter.effect_without(["decode"])


def test_as_many_parts_are_kept_as_the_limit_needs(
    meter: SensitivityMeter, parts: tuple[PartEffect, ...]
) -> None:
    assert meter.choose(parts, 0.0) == (DEFAULT_KEPT, meter.effect_without(DEFAULT_KEPT))
    kept, effect = meter.choose(parts, 1.0)
    assert kept[: len(DEFAULT_KEPT)] == DEFAULT_KEPT
    assert set(kept) <= {*DEFAULT_KEPT, *(part.name for part in parts)}
    assert effect == meter.effect_without(kept)
    assert effect.agreement == 1.0


def test_recordings_without_a_token_say_nothing(
    graphs: Path, recordings: list[Inputs], tmp_path: Path
) -> None:
    short = replace(
        recordings[0],
        features=np.zeros_like(recordings[0].features[:1, :1]),
        lengths=np.ones(1, np.int32),
        names=("silence",),
    )
    with pytest.raises(ConvertError) as caught:
        opened(graphs, tmp_path, [short])
    assert caught.value.details["reason"] == "recordings"


def test_nothing_is_left_in_the_work_folder(
    graphs: Path, recordings: list[Inputs], tmp_path: Path
) -> None:
    meter = opened(graphs, tmp_path, recordings)
    before = sorted(tmp_path.iterdir())
    meter.effect_without([])
    assert sorted(tmp_path.iterdir()) == before
    meter.close()


def test_the_table_has_a_line_for_each_operator(
    meter: SensitivityMeter, parts: tuple[PartEffect, ...]
) -> None:
    report = meter.report(parts, DEFAULT_KEPT, Effect(0.5, 0.1, 0.9))
    lines = [line.split("\t") for line in to_table(report).splitlines()]
    assert tuple(lines[0]) == COLUMNS
    assert [line[0] for line in lines[1:]] == [
        operator.name for part in parts for operator, _ in part.operators
    ]
    kept = {line[0]: line[4] for line in lines[1:]}
    assert {name for name, cell in kept.items() if cell == "1"} == {
        "encode.predictor.cif_output",
        "decode.output_layer",
    }


@pytest.mark.parametrize(("locale", "said"), [("en", "90.00 % of the tokens"), ("zh-CN", "的字")])
def test_the_page_has_every_part_and_nothing_from_outside(
    meter: SensitivityMeter, parts: tuple[PartEffect, ...], locale: str, said: str
) -> None:
    report = meter.report(parts, DEFAULT_KEPT, Effect(0.5, 0.1, 0.9))
    strange = replace(report, model="<b>", method=Method.COLUMNS, recordings=("<script>",))
    page = to_html(strange, locale)
    assert said in page
    assert all(part.name in page for part in parts)
    for forbidden in ("<script", "<b>", "http:", "https:", "src=", "{"):
        assert forbidden not in page.split("</style>")[1]
