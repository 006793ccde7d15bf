"""What a comparison says of sums, limits and tokens, and how the reports write it."""

from __future__ import annotations

import gc
import json
import math
import weakref
from collections.abc import Iterator, Sequence

import numpy as np
import pytest

from asr_core.messages import LOCALES
from asr_core.parity.compare import (
    EXACT_LIMITS,
    ROUNDED_LIMITS,
    Comparison,
    Layer,
    Limits,
    Recording,
    compare,
    default_limits,
)
from asr_core.parity.probe import Call, Inputs, Stages
from asr_core.parity.report import share_cell, to_json, to_lines
from asr_core.parity.report_html import to_html
from asr_core.parity.statistics import Difference
from asr_core.parity.tokens import Agreement, agreement
from asr_core.results import ModelInfo
from asr_core.runtime.session import Array
from tests.unit.parity.pages import checked_page

MARKUP = "<script>alert('&')</script>\""
NONE = Difference(0, 1.0, 0.0, 0.0, 0.0, 3, -1)


def difference(max_abs: float, cosine: float = 1.0) -> Difference:
    return Difference(10, cosine, max_abs, max_abs / 2, max_abs / 10, 0, 0)


def comparison(
    layers: Sequence[Layer], recordings: Sequence[Recording] = (), limits: Limits = EXACT_LIMITS
) -> Comparison:
    model = ModelInfo(MARKUP, MARKUP, MARKUP)
    return Comparison(model, model, ("fp32", "int8"), limits, tuple(layers), tuple(recordings))


def recording(name: str, reference: tuple[int, ...], other: tuple[int, ...]) -> Recording:
    return Recording(name, reference, other, agreement(reference, other))


@pytest.mark.parametrize(
    ("limits", "found", "allowed"),
    [
        (Limits(), difference(5.0, 0.1), True),
        (Limits(max_abs=0.1), difference(0.1), True),
        (Limits(max_abs=0.1), difference(0.11), False),
        (Limits(mean_abs=0.1), difference(0.21), False),
        (Limits(relative=0.1), difference(1.1), False),
        (Limits(cosine=0.9), difference(9.0, 0.9), True),
        (Limits(cosine=0.9), difference(0.0, 0.89), False),
        (Limits(max_abs=1e9), difference(math.nan), False),
        (Limits(cosine=-1.0), difference(0.0, math.nan), False),
    ],
)
def test_limits(limits: Limits, found: Difference, allowed: bool) -> None:
    assert limits.allow(found) is allowed


def test_tokens_decide_too() -> None:
    fine = Layer("encode.encoded", difference(0.0), passed=True)
    other = [recording("a", (1, 2, 3, 4), (1, 2, 3, 5))]
    assert comparison([fine], [recording("a", (1, 2), (1, 2))]).passed
    assert not comparison([fine], other).passed
    assert comparison([fine], other, Limits(tokens=0.75)).passed
    assert comparison([fine], other, Limits()).passed
    assert not comparison([fine], other, Limits(tokens=0.76)).passed


def test_nothing_compared_is_no_success() -> None:
    found = comparison([Layer("encode.encoded", NONE, passed=True)])
    assert not found.passed
    assert "nothing" in list(to_lines(found, "en"))[-1]


def test_only_all_tokens_are_a_hundred_percent() -> None:
    assert share_cell(Agreement(3, 3, 3)) == "100.00%"
    assert share_cell(Agreement(99_999, 99_999, 99_998, substitutions=1)) == "99.99%"


def test_json() -> None:
    layers = [
        Layer("encode.encoded", difference(math.nan, math.nan), passed=False),
        Layer("decode.scores", NONE, passed=True),
    ]
    found = comparison(layers, [recording("录音 1", (4, 5), (4,))])
    document = json.loads(to_json(found))
    assert list(document) == [
        *("schema", "passed", "reference", "other", "limits", "first_failed"),
        *("layers", "tokens", "recordings"),
    ]
    assert document["schema"] == 1
    assert document["passed"] is False
    assert document["first_failed"] == "encode.encoded"
    assert document["reference"] == {
        **dict.fromkeys(("name", "backend", "device"), MARKUP),
        "precision": "fp32",
    }
    assert document["layers"][0] == {
        "name": "encode.encoded",
        "passed": False,
        "values": 10,
        **dict.fromkeys(("cosine", "max_abs", "mean_abs", "relative")),
        "unpaired": 0,
        "worst": 0,
    }
    assert document["tokens"] == {
        **{"reference": 2, "other": 1, "equal": 1},
        **{"substitutions": 0, "insertions": 0, "deletions": 1, "share": 0.5},
    }
    assert document["recordings"][0]["name"] == "录音 1"
    assert document["recordings"][0]["other"] == [4]


@pytest.mark.parametrize("locale", LOCALES)
def test_page(locale: str) -> None:
    layers = [
        Layer("encode.encoded", difference(0.5), passed=True),
        Layer(MARKUP, difference(math.inf), passed=False),
        Layer("decode.scores", NONE, passed=True),
    ]
    recordings = [
        recording("same", (1,), (1,)),
        recording(MARKUP, (0, 1), (0, 9)),
    ]
    text = to_html(comparison(layers, recordings), [MARKUP, "好"], locale)
    rows = checked_page(text)
    names = [row[0] for row in rows]
    assert [name for name in names if name in {layer.name for layer in layers}] == [
        "encode.encoded",
        MARKUP,
        "decode.scores",
    ]
    assert rows[names.index("encode.encoded")][1:5] == [
        "1.000000",
        "5.00e-01",
        "2.50e-01",
        "5.00e-02",
    ]
    assert rows[names.index("decode.scores")][1:5] == ["-"] * 4
    assert "#9" in text
    assert text.index("#9") < text.index("same")
    assert text.count('class="bad"') == 1


@pytest.mark.parametrize("locale", LOCALES)
def test_lines(locale: str) -> None:
    layers = [
        Layer("encode.encoded", difference(0.5), passed=True),
        Layer("decode.hidden", difference(2.0), passed=False),
    ]
    lines = list(to_lines(comparison(layers, [recording("a", (1, 2), (1, 3))]), locale))
    table = [line.split() for line in lines if line.startswith(("encode.", "decode."))]
    assert table[0] == ["encode.encoded", "1.000000", "5.00e-01", "2.50e-01", "5.00e-02"]
    assert table[1][:5] == ["decode.hidden", "1.000000", "2.00e+00", "1.00e+00", "2.00e-01"]
    assert "decode.hidden" in lines[-1]
    assert any("50.00%" in line for line in lines)


class Steps:
    """A form of a model that adds a number to its inputs; what it gave must not be kept."""

    def __init__(self, added: float, precision: str = "fp32") -> None:
        self.info = ModelInfo("steps", "numpy", "cpu")
        self.precision = precision
        self.added = added
        self.given: list[weakref.ref[Array]] = []
        self.calls: list[int] = []

    def run(self, inputs: Inputs, given: Sequence[Call] = ()) -> Stages:
        gc.collect()
        assert all(one() is None for one in self.given)
        self.calls.append(len(given))
        array = inputs.features + self.added
        self.given.append(weakref.ref(array))
        rows = list(array)
        arrays = {"run.scores": rows, "encode.encoded": rows, "other.x": rows[:1]}
        if self.added:
            del arrays["other.x"]
        call = Call("encode", {}, {})
        return Stages(arrays, ((1, 2),) * len(inputs.names), (call,))

    def close(self) -> None:
        raise AssertionError("whoever opened it closes it")


def test_only_one_batch_is_kept() -> None:
    reference, other = Steps(0.0), Steps(0.5)

    def batches() -> Iterator[Inputs]:
        for number in range(3):
            features = np.full((2, 4, 3), number, np.float32)
            yield Inputs((f"{number} a", f"{number} b"), features, np.array([4, 4], np.int32))

    done: list[int] = []
    found = compare(reference, other, batches(), Limits(max_abs=0.5), done.append)
    assert done == [2, 4, 6]
    assert [one.name for one in found.recordings] == ["0 a", "0 b", "1 a", "1 b", "2 a", "2 b"]
    assert [layer.name for layer in found.layers] == ["encode.encoded", "run.scores", "other.x"]
    assert found.layers[0].difference.values == 3 * 2 * 4 * 3
    assert found.layers[0].difference.max_abs == 0.5
    assert found.layers[2].difference == Difference(0, 1.0, 0.0, 0.0, 0.0, 3, -1)
    assert found.passed
    # The other form gets the graphs that the reference ran.
    assert (reference.calls, other.calls) == ([0, 0, 0], [1, 1, 1])


def test_limits_follow_the_precision() -> None:
    assert default_limits(Steps(0), Steps(0)) is EXACT_LIMITS
    assert default_limits(Steps(0), Steps(0, "int8")) is ROUNDED_LIMITS
    assert default_limits(Steps(0, "fp16"), Steps(0)) is ROUNDED_LIMITS
