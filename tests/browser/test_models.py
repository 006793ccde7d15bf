"""Which model a job uses, the default, and folders of models that the user has."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.browser.actions import PATIENCE_MS, expect, open_tab, transcribe
from tests.golden.paraformer_files import SEACO

pytestmark = [pytest.mark.browser, pytest.mark.model]

HEARD = "识别时优先这些词"
SOUND = "这个模型识别时不看热词"


def typed(page: Any, folder: Path) -> Any:
    """Type a folder on the system tab. Returns what is said about it."""
    open_tab(page, "系统")
    page.locator("#model-folder").fill(str(folder))
    page.get_by_role("button", name="检查并使用").click()
    return page.locator("#system-models [role=status]")


def choose(page: Any, form: str, name: str) -> None:
    page.locator(f"#{form}-model input").click()
    page.get_by_role("option", name=name).click()


def test_a_folder_is_checked_chosen_used_and_made_the_default(
    application, visit, short_recording, tmp_path
):
    folder = tmp_path / "小模型"
    shutil.copytree(SEACO, folder)
    (folder / "am.mvn").rename(tmp_path / "am.mvn")
    (folder / "model_eb.onnx").rename(tmp_path / "model_eb.onnx")
    watched = visit(application.url)
    page = watched.page
    # One model: nothing to choose, and the hotwords say what they are good for.
    expect(page.locator("#file-hotwords")).to_contain_text(SOUND)
    expect(page.locator("#file-model")).to_be_hidden()
    said = typed(page, folder)
    expect(said).to_have_text(
        f"“{folder}”里缺少文件：am.mvn, model_eb_quant.onnx / model_eb.onnx。请补齐后再试"
    )
    expect(page.locator("#model-folder")).to_have_value(str(folder))
    expect(page.locator("#system-models tbody tr")).to_have_count(5)
    for name in ("am.mvn", "model_eb.onnx"):
        (tmp_path / name).rename(folder / name)
    said = typed(page, folder)
    expect(said).to_have_text(
        "可以使用：语音识别 · Paraformer，由 onnxruntime 运行，名为“小模型”。"
    )
    row = page.locator("#system-models [data-model='小模型']")
    expect(row).to_contain_text(str(folder))
    # It can be used at once.
    open_tab(page, "文件转写")
    choose(page, "file", "小模型")
    expect(page.locator("#file-hotwords")).to_contain_text(HEARD)
    transcribe(page, short_recording)
    facts = page.locator("#file-transcript .tl-panel")
    expect(facts).to_contain_text("小模型", timeout=PATIENCE_MS)
    open_tab(page, "历史")
    expect(page.locator("#history-rows .tl-entry").first).to_contain_text("小模型")
    open_tab(page, "系统")
    expect(row).to_contain_text("已装入：onnxruntime fp32")
    row.get_by_role("button", name="把“小模型”设为默认模型").click()
    expect(row).to_contain_text("默认")
    expect(page.locator("#header")).to_contain_text("小模型")
    for tab, form in (("批量", "batch"), ("听写", "dictation")):
        open_tab(page, tab)
        expect(page.locator(f"#{form}-model input")).to_have_value("小模型 · 默认")
        expect(page.locator(f"#{form}-hotwords")).to_contain_text(HEARD)
    assert (watched.problems, watched.foreign) == ([], [])


REFUSED = "navigator.clipboard.writeText = () => Promise.reject(new Error('refused'));"


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("", "已复制"),
        (REFUSED, "已复制"),
        (f"{REFUSED} document.execCommand = () => false;", "浏览器不允许复制"),
    ],
    ids=["allowed", "an older way", "refused"],
)
def test_a_model_that_is_not_installed_says_how(served, visit, script, said):
    watched = visit(served.url, script=script)
    open_tab(watched.page, "系统")
    row = watched.page.locator("#system-models [data-model=seaco-paraformer]")
    expect(row).to_contain_text("未安装")
    expect(row.locator("code")).to_have_text("./run.sh models install seaco-paraformer")
    row.get_by_role("button", name="复制命令").click()
    expect(row.get_by_role("button")).to_have_text(said)
    assert (watched.problems, watched.foreign) == ([], [])
