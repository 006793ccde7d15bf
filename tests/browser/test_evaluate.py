"""The tab that compares a text with a reference, in a real browser."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

from tests.browser.actions import PATIENCE_MS, expect, open_tab
from tests.browser.seeded import MARKUP
from tests.waiting import wait_until

pytestmark = [pytest.mark.browser, pytest.mark.model]

DESKTOP = (1440, 900)
PHONE = (390, 844)

REFERENCE = (
    "各位同事，下午好。今天的项目立会现在开始。我们邀请了26位用户进行试用，其中有85%的用户表示很满意。"
    "研发部把模型迁移到升腾芯片上。大家觉得这个方案怎么样？"
)
"""What the seeded meeting would have said: three other words, one more and one less."""


def fits_the_width(page):
    return page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def paste(page, hypothesis, reference):
    """Compare two texts that are typed in. Returns the result."""
    open_tab(page, "评测")
    page.locator("#evaluate-evaluate_origin").get_by_text("粘贴文字", exact=True).click()
    page.locator("#evaluate-pasted textarea").fill(hypothesis)
    page.locator("#evaluate-reference textarea").fill(reference)
    page.locator("#evaluate-start").click()
    return page.locator("#evaluate-result")


def test_a_recording_of_the_history_is_compared(served, visit):
    watched = visit(served.url)
    page = watched.page
    open_tab(page, "评测")
    page.locator("#evaluate-query input, #evaluate-query textarea").fill("产品例会")
    box = page.locator("#evaluate-recording input")
    box.click()
    page.get_by_role("option").filter(has_text="产品例会.m4a").click()
    page.locator("#evaluate-reference textarea").fill(REFERENCE)
    page.locator("#evaluate-start").click()
    result = page.locator("#evaluate-result")
    expect(result.locator(".tl-count-replace")).to_contain_text("替换 2")
    expect(result.locator(".tl-count-delete")).to_contain_text("漏字 1")
    expect(result.locator(".tl-count-insert")).to_contain_text("多字 1")
    expect(result.locator(".tl-diff-replace del").first).to_have_text("立")
    expect(result.locator(".tl-diff-replace ins").first).to_have_text("例")
    expect(result.locator(".tl-compare-text")).to_contain_text("邀请了26位用户进行试用，其中有85%")
    assert (watched.problems, watched.foreign) == ([], [])


def test_an_answer_that_comes_late_leaves_the_choice_alone(served, visit):
    page = visit(served.url).page
    open_tab(page, "评测")
    query = page.locator("#evaluate-query input, #evaluate-query textarea")
    query.fill("产品")
    box = page.locator("#evaluate-recording input")
    box.click()
    option = page.get_by_role("option").filter(has_text="产品例会.m4a")
    expect(option).to_be_visible()
    held, released = [], []
    page.route(
        "**/run/predict", lambda route: route.continue_() if released else held.append(route)
    )
    query.fill("产品例会")
    wait_until(lambda: page.wait_for_timeout(20) or held)
    box.click()
    option.click()
    expect(box).to_have_value(re.compile("产品例会.m4a"))
    released.append(True)
    with page.expect_response("**/run/predict"):
        held[0].continue_()
    query.press("End")
    page.locator("#evaluate-reference textarea").fill(REFERENCE)
    page.locator("#evaluate-start").click()
    expect(page.locator("#evaluate-result .tl-count-replace")).to_contain_text("替换 2")
    expect(box).to_have_value(re.compile("产品例会.m4a"))


def test_differences_can_be_gone_through_and_listed(served, visit):
    page = visit(served.url).page
    result = paste(page, "今天例会开始了，大家好", "今天立会开始，大家都好")
    expect(result.locator(".tl-diff")).to_have_count(4)
    page.get_by_role("button", name="下一处不同").click()
    expect(result.locator(".tl-diff").first).to_be_focused()
    expect(result.locator(".tl-diff").first).to_have_attribute("title", "应为“立”，识别成“例”")
    result.get_by_role("button", name="只看不同").click()
    expect(result.locator(".tl-compare-row")).to_have_count(3)
    expect(result.locator(".tl-compare-row").first).to_contain_text("今天立例会开始")


def test_equal_texts_say_so(served, visit):
    result = paste(visit(served.url).page, "共二十五台", "共25台。")
    expect(result.locator(".tl-rate")).to_contain_text("0.00%")
    expect(result.locator(".tl-same")).to_contain_text("没有不同")


def test_what_is_missing_is_asked_for(served, visit):
    page = visit(served.url).page
    open_tab(page, "评测")
    page.locator("#evaluate-start").click()
    expect(page.locator(".toast-body")).to_contain_text("请先粘贴或读取参考文字")


def test_a_reference_is_read_from_a_file(served, visit, tmp_path: Path):
    page = visit(served.url).page
    path = tmp_path / "参考.txt"
    path.write_bytes("今天，开会。".encode("gb18030"))
    open_tab(page, "评测")
    with page.expect_file_chooser() as chooser:
        page.locator("#evaluate-load").click()
    chooser.value.set_files(path)
    expect(page.locator("#evaluate-reference textarea")).to_have_value("今天，开会。")


def test_suggested_words_are_copied(served, visit):
    page = visit(served.url).page
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    result = paste(page, "我们用身疼和昆朋", "我们用昇腾和鲲鹏")
    expect(result.locator(".tl-word-chip")).to_have_count(2)
    result.get_by_role("button", name="复制全部").click()
    expect(result.get_by_role("button", name="已复制")).to_be_visible()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert sorted(copied.split("\n")) == ["昇腾", "鲲鹏"]


def test_hostile_texts_stay_texts(served, visit):
    page = visit(served.url).page
    result = paste(page, f"甲{MARKUP}乙", f"丙{MARKUP}${{window.hacked=1}}丁")
    expect(result.locator(".tl-compare-text")).to_contain_text("img src=x")
    assert page.locator("#tabs img").count() == 0
    assert page.evaluate("window.hacked") is None


def test_hundred_thousand_characters_do_not_freeze_the_page(served, visit):
    chance = random.Random(2)  # noqa: S311 - the same every time
    chars = [chr(code) for code in range(0x4E00, 0x4E00 + 3000)]
    said = [chance.choice(chars) for _ in range(100_000)]
    heard = [chance.choice(chars) if at % 20 == 7 else char for at, char in enumerate(said)]
    page = visit(served.url).page
    result = paste(page, "".join(heard), "".join(said))
    more = result.locator(".tl-compare-panel > .tl-button")
    expect(more).to_contain_text("显示更多", timeout=PATIENCE_MS)
    drawn = result.locator(".tl-diff").count()
    assert drawn < 1_500
    more.click()
    expect(result.locator(".tl-compare-text .tl-diff")).not_to_have_count(drawn)
    assert fits_the_width(page)


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_long_words_stay_inside_the_page(served, visit, size, scheme):
    page = visit(served.url, size=size, scheme=scheme).page
    result = paste(page, "x" * 300 + "今天", "y" * 300 + "今天好")
    expect(result.locator(".tl-diff")).not_to_have_count(0)
    assert fits_the_width(page)
