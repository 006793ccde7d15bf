"""The report about two forms of a model, as a browser shows it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from asr_core.parity.compare import EXACT_LIMITS, Comparison, Layer, Recording
from asr_core.parity.report_html import to_html
from asr_core.parity.statistics import Difference
from asr_core.parity.tokens import agreement
from asr_core.results import ModelInfo

pytestmark = pytest.mark.browser

NAME = "<img src=x onerror=document.title='run'>" * 4


def report() -> str:
    layers = [
        Layer(f"encode.encoders.{number}", Difference(9, 1.0, value, value, value, 0, 0), value < 1)
        for number, value in enumerate((1e-6, 1e-3, 5.0))
    ]
    model = ModelInfo(NAME, "onnxruntime fp32", "cpu")
    numbers = tuple(range(60))
    recording = Recording(NAME, numbers, numbers[::-1], agreement(numbers, numbers[::-1]))
    compared = Comparison(model, model, ("fp32", "fp32"), EXACT_LIMITS, tuple(layers), (recording,))
    return to_html(compared, ["字"] * 60, "zh-CN")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_telephone_shows_the_report(browser: Any, tmp_path: Path, scheme: str) -> None:
    path = tmp_path / "report.html"
    path.write_text(report(), encoding="utf-8")
    page = browser.new_page(viewport={"width": 390, "height": 800}, color_scheme=scheme)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(path.as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    rows = page.locator("section").nth(1).locator("tbody tr")
    assert rows.count() == 3
    assert page.locator("tr.bad td").first.inner_text() == "encode.encoders.2"
    widths = [box.bounding_box()["width"] for box in page.locator(".bar").all()]
    assert 0 < widths[0] < widths[1] < widths[2]
    shade = page.evaluate("getComputedStyle(document.body).backgroundColor")
    red = int(re.findall(r"\d+", shade)[0])
    assert (red < 128) == (scheme == "dark")
    assert page.title() == "同一模型的两种形式"
    assert asked == [path.as_uri()]
    page.close()
