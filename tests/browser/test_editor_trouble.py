"""What a person typed is not lost when a save fails, is late or meets another edit."""

from __future__ import annotations

import dataclasses
import sqlite3
from contextlib import closing

import pytest

from tests.browser.actions import expect, lines
from tests.browser.editing import add, edit, is_saved, open_editor, stored, text_of
from tests.seeding import MEETING
from tests.waiting import wait_until

pytestmark = [pytest.mark.browser, pytest.mark.model]

SERVER = "**/component_server/"
FULL = """
    CREATE TRIGGER full BEFORE INSERT ON edits BEGIN
        SELECT RAISE(ABORT, 'database or disk is full');
    END
"""


def change_database(settings, sql):
    with closing(sqlite3.connect(settings.database)) as db:
        db.execute(sql)
        db.commit()


def texts(settings, recording):
    return [line.text for line in stored(settings, recording)]


@pytest.fixture
def full_disk(served):
    """Every edit is refused, as on a full disk."""
    change_database(served.settings, FULL)
    yield
    change_database(served.settings, "DROP TRIGGER IF EXISTS full")


def test_a_text_that_cannot_be_saved_stays(served, visit, tmp_path, full_disk):
    name = "磁盘已满.wav"
    recording = add(served, tmp_path, name)
    page = visit(served.url).page
    panel = open_editor(page, name)
    edit(page, 1)
    # In its field as long as that is open, and nothing says that it is saved.
    with page.expect_response(SERVER):
        page.keyboard.type("一")
    expect(panel.locator(".tl-saved")).to_have_text("未保存")
    expect(text_of(page, 1)).to_have_text(f"{MEETING[1].text}一")
    # Beside the kept one when the field was left; a second one waits for its turn.
    page.keyboard.press("Escape")
    told = panel.get_by_role("alertdialog")
    expect(told).to_contain_text("这一句没能保存")
    expect(told).to_contain_text(f"{MEETING[1].text}一")
    edit(page, 2)
    page.keyboard.type("二")
    page.keyboard.press("Escape")
    expect(panel.locator(".tl-saved")).to_have_text("未保存")
    assert stored(served.settings, recording) == MEETING
    change_database(served.settings, "DROP TRIGGER full")
    told.get_by_role("button", name="用我的").click()
    expect(told).to_contain_text(f"{MEETING[2].text}二")
    told.get_by_role("button", name="用我的").click()
    expect(told).to_be_hidden()
    is_saved(panel)
    assert texts(served.settings, recording)[1:3] == [
        f"{MEETING[1].text}一",
        f"{MEETING[2].text}二",
    ]


def test_a_sentence_that_was_emptied_joins_no_others(served, visit, tmp_path):
    name = "清空.wav"
    recording = add(served, tmp_path, name)
    page = visit(served.url).page
    panel = open_editor(page, name)
    edit(page, 2)
    page.keyboard.press("Control+a")
    page.keyboard.press("Delete")
    page.keyboard.press("Backspace")
    expect(lines(page, "history")).to_have_count(4)
    expect(text_of(page, 1)).to_be_focused()
    page.keyboard.type("。")
    is_saved(panel)
    assert texts(served.settings, recording) == [
        MEETING[0].text,
        f"{MEETING[1].text}。",
        MEETING[3].text,
        MEETING[4].text,
    ]


def test_what_is_typed_while_the_server_works_is_kept(served, visit, tmp_path):
    name = "慢.wav"
    recording = add(served, tmp_path, name)
    page = visit(served.url).page
    panel = open_editor(page, name)
    edit(page, 4)
    for _ in range(8):
        page.keyboard.press("ArrowLeft")
    held = []
    page.route(SERVER, lambda route: route.continue_() if held else held.append(route))
    page.keyboard.press("Enter")
    wait_until(lambda: page.wait_for_timeout(20) or len(held) == 1)
    page.keyboard.type("那么")
    held[0].continue_()
    expect(lines(page, "history")).to_have_count(6)
    expect(text_of(page, 5)).to_be_focused()
    is_saved(panel)
    whole = MEETING[4].text
    assert texts(served.settings, recording)[4:] == [whole[:-8], f"那么{whole[-8:]}"]


def test_edits_that_wait_outlive_a_conflict_of_one_before(served, visit, tmp_path):
    name = "排队.wav"
    recording = add(served, tmp_path, name)
    first, second = visit(served.url).page, visit(served.url).page
    panels = [open_editor(page, name) for page in (first, second)]
    first.route(SERVER, lambda route: route.abort())
    for index, typed in ((0, "一"), (2, "三")):
        edit(first, index)
        first.keyboard.type(typed)
        first.keyboard.press("Escape")
    edit(second, 0)
    second.keyboard.type("二")
    is_saved(panels[1])
    first.unroute(SERVER)
    told = panels[0].get_by_role("alertdialog")
    expect(told).to_contain_text(f"{MEETING[0].text}一", timeout=30_000)
    told.get_by_role("button", name="用对方的").click()
    is_saved(panels[0])
    assert texts(served.settings, recording)[:3] == [
        f"{MEETING[0].text}二",
        MEETING[1].text,
        f"{MEETING[2].text}三",
    ]


def test_every_unsaved_text_is_seen_and_outlives_its_page(served, visit, tmp_path):
    name = "三句未存.wav"
    recording = add(served, tmp_path, name)
    watched = visit(served.url)
    page = watched.page
    page.on("dialog", lambda dialog: dialog.accept())
    panel = open_editor(page, name)
    page.route(SERVER, lambda route: route.abort())
    for index, typed in ((0, "甲"), (2, "丙"), (4, "戊")):
        edit(page, index)
        page.keyboard.type(typed)
    # Each stays in its line although the server has none of them, and the state says why.
    expect(panel.locator(".tl-saved-offline")).to_be_visible()
    for index, typed in ((0, "甲"), (2, "丙"), (4, "戊")):
        expect(text_of(page, index)).to_have_text(f"{MEETING[index].text}{typed}")
    expect(panel.locator(".tl-unsent")).to_have_count(2)
    # What waits can be written on.
    edit(page, 2)
    page.keyboard.type("丁")
    page.keyboard.press("Escape")
    expect(text_of(page, 2)).to_have_text(f"{MEETING[2].text}丙丁")
    assert stored(served.settings, recording) == MEETING
    page.reload()
    page.unroute(SERVER)
    panel = open_editor(page, name)
    expect(page.locator(".tl-toast")).to_contain_text("已找回 3 句未保存的修改")
    is_saved(panel)
    assert texts(served.settings, recording) == [
        f"{MEETING[0].text}甲",
        MEETING[1].text,
        f"{MEETING[2].text}丙丁",
        MEETING[3].text,
        f"{MEETING[4].text}戊",
    ]
    expect(panel.locator(".tl-unsent")).to_have_count(0)
    assert page.evaluate("Object.keys(sessionStorage).filter(k => k.includes('draft'))") == []


def test_the_keys_stay_the_editors_where_a_sentence_goes(served, visit, tmp_path):
    name = "按键不丢.wav"
    recording = add(served, tmp_path, name)
    page = visit(served.url).page
    panel = open_editor(page, name)
    edit(page, 2)
    page.keyboard.press("Control+a")
    page.keyboard.press("Delete")
    page.keyboard.press("Escape")
    expect(lines(page, "history")).to_have_count(4)
    is_saved(panel)
    expect(text_of(page, 2).locator("..")).to_be_focused()
    page.keyboard.press("Control+z")
    expect(lines(page, "history")).to_have_count(5)
    is_saved(panel)
    assert stored(served.settings, recording) == MEETING
    expect(page.locator("#history-query input")).to_have_value(name)


def test_a_sentence_without_a_name_does_not_look_like_that_of_the_one_before(
    served, visit, tmp_path
):
    name = "没有姓名.wav"
    said = (
        dataclasses.replace(MEETING[0], speaker="甲"),
        dataclasses.replace(MEETING[1], speaker=""),
        dataclasses.replace(MEETING[2], speaker=""),
        dataclasses.replace(MEETING[3], speaker="甲"),
    )
    add(served, tmp_path, name, said)
    page = visit(served.url).page
    panel = open_editor(page, name)
    expect(panel.locator(".tl-who")).to_have_text(["甲", "未注明", "甲"])


def test_a_preview_of_a_newer_text_brings_that_text(served, visit, tmp_path):
    name = "预览.wav"
    recording = add(served, tmp_path, name)
    first, second = visit(served.url).page, visit(served.url).page
    panels = [open_editor(page, name) for page in (first, second)]
    edit(second, 0)
    for _ in range(4):
        second.keyboard.press("ArrowLeft")
    second.keyboard.press("Enter")
    is_saved(panels[1])
    lines(first, "history").first.focus()
    first.keyboard.press("Control+f")
    first.keyboard.type(MEETING[3].text)
    expect(panels[0].locator(".tl-find-count")).to_have_text("第 1 / 1 处")
    box = panels[0].get_by_role("textbox", name="替换为")
    box.fill("换掉了")
    box.press("Enter")
    expect(lines(first, "history")).to_have_count(6)
    box.press("Enter")
    panels[0].get_by_role("button", name="全部替换").click()
    is_saved(panels[0])
    for index, text in enumerate(texts(served.settings, recording)):
        expect(text_of(first, index)).to_have_text(text)
    assert texts(served.settings, recording)[4] == "换掉了"


def test_a_note_that_cannot_be_saved_stays(served, visit, tmp_path):
    name = "备注.wav"
    add(served, tmp_path, name)
    page = visit(served.url).page
    open_editor(page, name)
    change_database(
        served.settings,
        "CREATE TRIGGER full BEFORE UPDATE OF note ON recordings BEGIN"
        " SELECT RAISE(ABORT, 'database or disk is full'); END",
    )
    about = page.locator("#history-about")
    about.get_by_role("button", name="添加备注").click()
    page.keyboard.type("下周核对")
    page.keyboard.press("Control+Enter")
    expect(page.locator(".tl-toast-bad")).to_be_visible()
    note = about.get_by_role("textbox", name="备注")
    expect(note).to_have_value("下周核对")
    change_database(served.settings, "DROP TRIGGER full")
    note.click()
    page.keyboard.press("Control+Enter")
    expect(about.locator(".tl-about-text")).to_have_text("下周核对")


TICK = "(box) => getComputedStyle(box, '::after').borderLeftColor"


def test_what_opens_on_a_phone_is_seen_whole(served, visit, tmp_path):
    name = "手机.wav"
    add(served, tmp_path, name)
    page = visit(served.url, size=(390, 844)).page
    panel = open_editor(page, name)
    for opener, opened in (
        (page.locator(".tl-history-menu summary"), page.locator(".tl-history-menu .tl-popover")),
        (panel.locator(".tl-drop summary"), panel.locator(".tl-drop .tl-popover")),
    ):
        opener.click()
        box = opened.bounding_box()
        assert min(box["x"], box["y"]) >= 0
        assert box["x"] + box["width"] <= 390
        assert box["y"] + box["height"] <= 844
        opener.click()
    panel.get_by_role("button", name="快捷键").click()
    sheet = panel.locator(".tl-key-sheet")
    expect(sheet.get_by_role("columnheader", name="打字时")).to_be_visible()
    expect(panel.locator("[data-option=speakers] input")).to_be_checked()
    assert panel.locator("[data-option=speakers] input").evaluate(TICK) == "rgb(255, 255, 255)"


def test_choices_of_both_export_menus_are_kept(served, visit, tmp_path):
    name = "导出选项.wav"
    add(served, tmp_path, name)
    page = visit(served.url).page
    panel = open_editor(page, name)
    panel.locator(".tl-drop summary").click()
    panel.locator("[data-option=name] input").fill("{date} {name}")
    page.keyboard.press("Escape")
    with page.expect_download():
        panel.get_by_role("button", name="导出", exact=True).click()
    page.locator("#history-rows .tl-pick").first.check()
    page.locator("[data-do=export]").click()
    window = page.locator("dialog")
    window.locator("[data-kind=csv]").click()
    with page.expect_download():
        window.get_by_role("button", name="导出", exact=True).click()
    page.reload()
    panel = open_editor(page, name)
    expect(panel.locator("[data-option=name] input")).to_have_value("{date} {name}")
