"""The editor of a transcript: whole loops of what people do, with the pointer and without."""

from __future__ import annotations

import pytest

from asr_core.results import Sentence, Token
from tests.browser.actions import expect, lines, playing_between
from tests.browser.editing import add, edit, is_saved, open_editor, stored, text_of
from tests.browser.seeded import MARKUP
from tests.seeding import MEETING, sentence

pytestmark = [pytest.mark.browser, pytest.mark.model]

MEGABYTE = 1_000_000
MIXED = "שלום עולם 👩‍👩‍👧 مرحبا"


def texts(sentences):
    return [line.text for line in sentences]


def test_a_transcript_is_checked_and_corrected(served, visit, tmp_path):
    name = "校对.wav"
    recording = add(served, tmp_path, name)
    watched = visit(served.url)
    page = watched.page
    panel = open_editor(page, name)
    # A click on a word goes there, on a time it plays; nothing else moves.
    expect(panel.locator(".tl-play")).to_be_enabled()
    lines(page, "history").nth(3).locator("[data-start]").first.click()
    page.wait_for_function(
        "() => Math.abs(document.querySelector('#history-transcript audio').currentTime - 14) < .3"
    )
    assert panel.locator("audio").evaluate("audio => audio.paused")
    page.keyboard.press("Escape")
    lines(page, "history").nth(2).locator("time").click()
    playing_between(page, "history", 9, 12)
    panel.locator(".tl-play").click()
    # Typed text is saved by itself; the words around it keep their times.
    text_of(page, 0).click()
    page.keyboard.press("End")
    page.keyboard.press("ArrowLeft")
    page.keyboard.type("了")
    is_saved(panel)
    page.keyboard.press("Escape")
    kept = stored(served.settings, recording)
    assert kept[0].text == "各位同事下午好今天的项目例会现在开始了。"
    assert kept[0].tokens[:17] == MEETING[0].tokens[:17]
    assert kept[1:] == MEETING[1:]
    # Split at the caret, join again, take it all back and do it again.
    edit(page, 4)
    for _ in range(8):
        page.keyboard.press("ArrowLeft")
    page.keyboard.press("Enter")
    expect(lines(page, "history")).to_have_count(6)
    expect(text_of(page, 5)).to_be_focused()
    page.keyboard.press("Backspace")
    expect(lines(page, "history")).to_have_count(5)
    page.keyboard.press("Escape")
    is_saved(panel)
    for left in (6, 5, 5):
        panel.get_by_role("button", name="撤销", exact=True).click()
        expect(lines(page, "history")).to_have_count(left)
    expect(panel.get_by_role("button", name="撤销", exact=True)).to_be_disabled()
    is_saved(panel)
    assert stored(served.settings, recording) == MEETING
    panel.get_by_role("button", name="重做", exact=True).click()
    expect(text_of(page, 0)).to_have_text("各位同事下午好今天的项目例会现在开始了。")
    assert (watched.problems, watched.foreign) == ([], [])


def test_words_are_replaced_and_versions_gone_back_to(served, visit, tmp_path):
    name = "替换.wav"
    recording = add(served, tmp_path, name)
    page = visit(served.url).page
    panel = open_editor(page, name)
    panel.get_by_role("button", name="查找替换").click()
    panel.get_by_label("查找", exact=True).fill("用户")
    expect(panel.locator(".tl-find-count")).to_have_text("第 1 / 2 处")
    panel.get_by_label("替换为").fill("<b>客户</b>")
    panel.get_by_role("button", name="预览替换").click()
    expect(panel.locator(".tl-find .tl-preview li")).to_have_count(2)
    expect(panel.locator(".tl-find .tl-preview ins").first).to_have_text("<b>客户</b>")
    panel.get_by_role("button", name="全部替换").click()
    expect(text_of(page, 2)).to_have_text("其中有85%的<b>客户</b>表示满意。")
    panel.get_by_role("button", name="关闭").locator("visible=true").click()
    panel.get_by_role("button", name="版本").click()
    panel.get_by_label("版本名称").fill("改过客户")
    panel.get_by_role("button", name="存为版本").click()
    expect(panel.locator(".tl-version-list li")).to_have_count(2)
    panel.get_by_role("button", name="查看“识别原文”以来的改动").click()
    expect(panel.locator(".tl-preview:visible li")).to_have_count(2)
    expect(panel.locator(".tl-preview:visible del").first).to_have_text("用")
    panel.get_by_role("button", name="恢复到“识别原文”").click()
    expect(text_of(page, 2)).to_have_text("其中有85%的用户表示满意。")
    is_saved(panel)
    assert stored(served.settings, recording) == MEETING
    panel.get_by_role("button", name="恢复到“改过客户”").click()
    expect(text_of(page, 1)).to_have_text("我们邀请了26位<b>客户</b>进行试用，")


def test_everything_can_be_done_with_the_keyboard(served, visit, tmp_path):
    name = "键盘.wav"
    said = (*MEETING[:4], sentence("第二个人在说话", 18_000, speaker="甲"))
    recording = add(served, tmp_path, name, said)
    page = visit(served.url).page
    panel = open_editor(page, name)
    expect(panel.locator(".tl-play")).to_be_enabled()
    lines(page, "history").first.focus()
    page.keyboard.press("n")
    expect(lines(page, "history").nth(3)).to_be_focused()
    page.keyboard.press("Control+Enter")
    expect(panel.get_by_role("button", name="下一处存疑 (0)")).to_be_disabled()
    page.keyboard.press("End")
    page.keyboard.press("u")
    page.keyboard.type("张经理")
    page.keyboard.press("Enter")
    expect(lines(page, "history").nth(4).locator(".tl-who")).to_have_text("张经理")
    expect(lines(page, "history").nth(4)).to_be_focused()
    page.keyboard.press("m")
    expect(lines(page, "history")).to_have_count(4)
    page.keyboard.press("Control+z")
    expect(lines(page, "history")).to_have_count(5)
    # Letters are letters while a sentence is edited; with Alt they are keys.
    edit(page, 0)
    page.keyboard.type("jkn?")
    expect(text_of(page, 0)).to_have_text("各位同事下午好今天的项目例会现在开始。jkn?")
    page.keyboard.press("Alt+l")
    page.wait_for_function(
        "() => document.querySelector('#history-transcript audio').currentTime > 2.9"
    )
    page.keyboard.press("Alt+.")
    expect(panel.locator(".tl-speed")).to_have_text("1.25×")
    page.keyboard.press("Escape")
    is_saved(panel)
    page.keyboard.press("Shift+ArrowDown")
    expect(panel.locator(".tl-part-title")).to_have_text("0:00–0:07 · 2 句")
    page.keyboard.press("r")
    expect(panel.get_by_role("button", name="循环播放")).to_have_attribute("aria-pressed", "true")
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    expect(panel.get_by_role("dialog", name="快捷键")).to_be_focused()
    page.keyboard.press("Escape")
    page.keyboard.press("Control+f")
    page.keyboard.type("试用")
    expect(panel.locator(".tl-find-count")).to_have_text("第 1 / 1 处")
    kept = stored(served.settings, recording)
    assert kept[0].text == "各位同事下午好今天的项目例会现在开始。jkn?"
    assert kept[4].speaker == "张经理"
    assert min(token.confidence for token in kept[3].tokens) > 0.5


def test_an_input_method_is_left_alone_while_it_composes(served, visit, tmp_path):
    name = "输入法.wav"
    recording = add(served, tmp_path, name)
    page = visit(served.url).page
    panel = open_editor(page, name)
    edit(page, 4)
    method = page.context.new_cdp_session(page)
    composed = {"selectionStart": 2, "selectionEnd": 2}
    method.send("Input.imeSetComposition", {"text": "ni", **composed})
    expect(text_of(page, 4)).to_have_text("大家觉得这个方案怎么样？ni")
    key = {"windowsVirtualKeyCode": 229, "key": "Process"}
    for code in ("Enter", "Space", "Backspace"):
        method.send("Input.dispatchKeyEvent", {"type": "rawKeyDown", "code": code, **key})
    expect(lines(page, "history")).to_have_count(5)
    expect(panel.locator(".tl-saved")).to_have_text("")
    assert stored(served.settings, recording) == MEETING
    method.send("Input.insertText", {"text": "你"})
    expect(text_of(page, 4)).to_have_text("大家觉得这个方案怎么样？你")
    is_saved(panel)
    expect(text_of(page, 4)).to_be_focused()
    assert stored(served.settings, recording)[4].text == "大家觉得这个方案怎么样？你"


def test_what_another_page_has_changed_is_never_overwritten(served, visit, tmp_path):
    name = "两个页面.wav"
    recording = add(served, tmp_path, name)
    first, second = visit(served.url).page, visit(served.url).page
    panels = [open_editor(page, name) for page in (first, second)]
    edit(first, 0)
    first.keyboard.type("一")
    is_saved(panels[0])
    # Another sentence: both edits are kept.
    edit(second, 1)
    second.keyboard.type("二")
    is_saved(panels[1])
    expect(text_of(second, 0)).to_have_text(f"{MEETING[0].text}一")
    # The same sentence: both texts are shown and nothing is saved until one is chosen.
    edit(first, 1)
    first.keyboard.type("三")
    told = panels[0].get_by_role("alertdialog")
    expect(told).to_contain_text(f"{MEETING[1].text}二")
    expect(told).to_contain_text(f"{MEETING[1].text}三")
    assert stored(served.settings, recording)[1].text == f"{MEETING[1].text}二"
    told.get_by_role("button", name="用我的").click()
    is_saved(panels[0])
    expect(text_of(first, 1)).to_have_text(f"{MEETING[1].text}三")
    assert texts(stored(served.settings, recording))[:2] == [
        f"{MEETING[0].text}一",
        f"{MEETING[1].text}三",
    ]


def test_text_outlives_a_server_that_is_away(served, visit, tmp_path):
    name = "断网.wav"
    recording = add(served, tmp_path, name)
    page = visit(served.url).page
    panel = open_editor(page, name)
    page.route("**/component_server/", lambda route: route.abort())
    edit(page, 2)
    page.keyboard.type("离线")
    expect(panel.locator(".tl-saved")).to_contain_text("未保存")
    expect(panel.locator(".tl-saved")).to_contain_text("正在重试")
    assert stored(served.settings, recording) == MEETING
    page.unroute("**/component_server/")
    is_saved(panel)
    assert stored(served.settings, recording)[2].text == f"{MEETING[2].text}离线"


def test_any_text_stays_text(served, visit, tmp_path):
    name = "怪字.wav"
    long = Sentence((Token("x" * MEGABYTE, 4_800, 9_000, 0.9),))
    recording = add(served, tmp_path, name, (MEETING[0], long, MEETING[3]))
    watched = visit(served.url, size=(390, 844))
    page = watched.page
    panel = open_editor(page, name)
    edit(page, 0)
    page.keyboard.insert_text(f"{MARKUP}{MIXED}")
    is_saved(panel)
    page.keyboard.press("Escape")
    expect(text_of(page, 0)).to_have_text(f"{MEETING[0].text}{MARKUP}{MIXED}")
    assert stored(served.settings, recording)[0].text == f"{MEETING[0].text}{MARKUP}{MIXED}"
    assert page.locator("#history-transcript img").count() == 0
    assert page.evaluate("window.hacked") is None
    assert text_of(page, 1).evaluate("text => text.textContent.length") == MEGABYTE
    assert page.evaluate(
        "document.documentElement.scrollWidth <= document.documentElement.clientWidth"
    )
    assert watched.problems == []
