"""The report of ``doctor`` in a real browser, and the devices on the system tab."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.browser.actions import expect, open_tab
from tests.material import ROOT

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of this machine, with a setting that has to be mended."""
    folder = tmp_path_factory.mktemp("doctor")
    path = folder / "体检.html"
    environment = {name: value for name, value in os.environ.items() if name[:4] != "ASR_"}
    environment |= {"ASR_HOME": str(folder / "home"), "ASR_HOST": "0.0.0.0"}  # noqa: S104
    subprocess.run(
        [sys.executable, "-m", "asr_core", "doctor", "--quick", "--html", str(path)],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        timeout=300,
        check=False,
    )
    return path


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1440])
def test_the_report_opens_anywhere(browser, report, scheme, width):
    context = browser.new_context(viewport={"width": width, "height": 844}, color_scheme=scheme)
    try:
        page = context.new_page()
        problems, asked = [], []
        page.on("console", lambda message: problems.append(message.text))
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(report.as_uri())
        expect(page.locator("h1")).to_have_text("上线前检查")
        expect(page.locator("#npu article")).not_to_have_count(0)
        todo = page.locator("#todo article", has_text="浏览器麦克风")
        expect(todo.locator(".badge")).to_have_text("注意")
        expect(todo.locator("pre")).to_contain_text("ssh -L 7860:127.0.0.1:7860")
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
        background = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert background == ("rgb(246, 247, 248)" if scheme == "light" else "rgb(18, 24, 27)")
        assert problems == []
        assert len(asked) == 1
    finally:
        context.close()


@pytest.mark.model
def test_a_machine_without_devices_says_so_on_the_system_tab(served, visit):
    if Path("/dev/davinci_manager").exists():
        pytest.skip("this machine has an NPU")
    watched = visit(served.url)
    open_tab(watched.page, "系统")
    card = watched.page.locator('[data-card="npu"]')
    expect(card).to_contain_text("本机没有昇腾设备")
    assert (watched.problems, watched.foreign) == ([], [])
