"""The history as people use it: finding, tidying, taking along and throwing away."""

from __future__ import annotations

import zipfile

import pytest

from asr_core.engine import Engine
from tests.browser.actions import expect, lines, open_entry, open_tab, search
from tests.browser.seeded import MARKUP
from tests.seeding import finish, open_history, queue, write_tone

pytestmark = [pytest.mark.browser, pytest.mark.model]

TAG = f"<b>甲</b>{MARKUP}"[:40]
ARABIC = "اجتماع 2026"
EMOJI = "👩‍💻 研发"
PAGE, MORE = 50, 8


def add(settings, folder, *names):
    """Put transcribed recordings into a history, the last one newest."""
    tone = write_tone(folder / "tone.wav", seconds=2.0)
    with open_history(settings) as history:
        for name in names:
            finish(history, queue(history, tone, name).id)


def count(page):
    return page.locator("#history-rows .tl-history-count")


def toast(page):
    return page.locator(".tl-toast-text")


def undo(page):
    page.locator(".tl-toast-act").click()


def do(page, name):
    page.locator(f"#history-rows [data-do={name}]").click()


def dialog(page):
    return page.locator("dialog")


def fits_the_width(page):
    return page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def test_finding_tagging_noting_and_renaming(served, visit, tmp_path):
    add(served.settings, tmp_path, "盘点一.wav", "盘点二.wav")
    watched = visit(served.url)
    page = watched.page
    about = page.locator("#history-about")
    panel = open_entry(page, "盘点二.wav")
    expect(page.locator("#history-rows mark")).to_have_text(["盘点二.wav"])
    field = about.locator(".tl-tag-field")
    for name in (TAG, ARABIC, EMOJI):
        field.fill(name)
        expect(about.get_by_role("option", name=f"新建“{name}”")).to_be_visible()
        field.press("Enter")
        expect(about.locator(".tl-tag bdi").get_by_text(name, exact=True)).to_be_visible()
    about.get_by_role("button", name="添加备注").click()
    page.keyboard.type(f"下周再核对 {MARKUP}")
    page.keyboard.press("Control+Enter")
    expect(about.locator(".tl-about-text")).to_have_text(f"下周再核对 {MARKUP}")
    about.get_by_role("button", name="改名").click()
    page.keyboard.type("年终盘点")
    page.keyboard.press("Enter")
    expect(panel.locator(".tl-name")).to_have_text("年终盘点.wav")

    entries = search(page, "下周再核对")
    expect(entries).to_have_count(1)
    expect(entries.locator(".tl-entry-hit mark")).to_have_text("下周再核对")
    search(page, ARABIC)
    expect(entries.locator(".tl-tag mark")).to_have_text(ARABIC)
    search(page, "盘点")
    expect(count(page)).to_have_text("2 条")
    page.locator(".tl-filter").click()
    page.locator("[data-by=tags]").get_by_role("button", name=EMOJI).click()
    expect(count(page)).to_have_text("1 条")
    page.locator("#history-rows [data-by=time] select").select_option("today")
    expect(page.locator(".tl-sieve-chips .tl-tag")).to_have_text(["今天×", f"{EMOJI}×"])
    page.locator("#history-rows [data-by=length] select").select_option("over60")
    expect(page.locator("#history-rows .tl-empty")).to_contain_text("没有找到“盘点”")
    page.locator(".tl-sieve-chips").get_by_role("button", name="全部清除").click()
    expect(count(page)).to_have_text("2 条")

    page.locator(".tl-history-menu summary").click()
    page.locator("[data-menu=tags]").click()
    row = dialog(page).locator(".tl-tag-row").filter(has_text=ARABIC)
    row.get_by_role("button", name=f"改名标签 {ARABIC}").click()
    page.keyboard.type(EMOJI)
    page.keyboard.press("Enter")
    dialog(page).last.get_by_role("button", name="合并标签").click()
    expect(toast(page)).to_contain_text("已并入")
    expect(dialog(page).locator(".tl-tag-row").filter(has_text=ARABIC)).to_have_count(0)
    page.keyboard.press("Escape")
    expect(about.locator(".tl-tag bdi")).to_have_count(2)
    assert page.evaluate("window.hacked") is None
    assert page.locator("#tabs img").count() == 0
    assert watched.problems == []


def test_the_keyboard_is_enough(served, visit, tmp_path):
    names = [f"按键练习 {number}.wav" for number in range(4)]
    add(served.settings, tmp_path, *names)
    watched = visit(served.url)
    page, keys = watched.page, watched.page.keyboard
    open_tab(page, "历史")
    entries = page.locator("#history-rows .tl-entry[data-id]")
    expect(entries.first).to_be_visible()
    keys.press("/")
    keys.type("按键练习")
    expect(entries).to_have_count(4)
    keys.press("ArrowDown")
    expect(entries.first).to_be_focused()
    keys.press("Enter")
    expect(page.locator("#history-transcript .tl-name")).to_have_text("按键练习 3.wav")
    expect(lines(page, "history").first).to_be_visible()
    entries.first.focus()
    keys.press("x")
    keys.press("Shift+ArrowDown")
    expect(count(page)).to_have_text("已选 2 条")
    expect(entries.nth(1)).to_have_attribute("aria-selected", "true")
    keys.press("t")
    expect(dialog(page).locator(".tl-tag-field")).to_be_focused()
    keys.type("键")
    keys.press("Enter")
    expect(dialog(page)).to_contain_text("“键”已加到 2 条记录")
    keys.press("Escape")
    expect(dialog(page)).to_have_count(0)
    entries.nth(1).focus()
    keys.press("Delete")
    expect(entries).to_have_count(2)
    expect(entries.nth(1)).to_be_focused()
    expect(page.locator("#history-transcript .tl-empty")).to_be_visible()
    keys.press("Control+z")
    expect(entries).to_have_count(4)
    keys.press("F2")
    keys.type("改过的")
    keys.press("Enter")
    expect(page.locator(".tl-entry-name").get_by_text("改过的.wav")).to_be_visible()
    assert watched.problems == []


def test_many_at_once(application, visit, tmp_path):
    names = [f"客户回访 {number:02}.wav" for number in range(PAGE + MORE)]
    add(application.settings, tmp_path, *names)
    watched = visit(application.url)
    page = watched.page
    entries = search(page, "回访")
    expect(page.locator("#history-rows mark")).to_have_count(PAGE)
    page.get_by_role("button", name="下一页").click()
    expect(entries).to_have_count(MORE)
    expect(page.locator(".tl-pager")).to_contain_text(f"第 {PAGE + 1}–{PAGE + MORE} 条")
    page.get_by_role("button", name="上一页").click()
    expect(entries).to_have_count(PAGE)

    entries.nth(0).locator(".tl-pick").click()
    entries.nth(3).locator(".tl-entry-open").click(modifiers=["Shift"])
    expect(count(page)).to_have_text("已选 4 条")
    do(page, "export")
    dialog(page).locator("[data-format=srt]").click()
    with page.expect_download() as download:
        dialog(page).get_by_role("button", name="导出", exact=True).click()
    with zipfile.ZipFile(download.value.path()) as bundle:
        assert len(bundle.namelist()) == 8

    do(page, "replace")
    dialog(page).get_by_label("查找", exact=True).fill("昇腾")
    dialog(page).get_by_label("替换为").fill(MARKUP)
    dialog(page).get_by_role("button", name="预览").click()
    expect(dialog(page).locator(".tl-now mark").first).to_have_text(MARKUP)
    dialog(page).locator(".tl-replace-part input").first.uncheck()
    dialog(page).get_by_role("button", name="替换 3 处").click()
    expect(toast(page)).to_have_text("已在 3 条记录中替换 3 处")
    undo(page)
    expect(toast(page)).to_have_text("已撤销 3 条记录的替换")

    page.get_by_label("选择本页全部").check()
    do(page, "all")
    expect(count(page)).to_have_text(f"已选 {PAGE + MORE} 条")
    entries.nth(1).locator(".tl-pick").click()
    do(page, "delete")
    expect(toast(page)).to_have_text(f"已把 {PAGE + MORE - 1} 条放入回收站")
    expect(entries).to_have_count(1)
    undo(page)
    expect(entries).to_have_count(PAGE)

    entries.first.hover()
    entries.first.get_by_role("button", name="删除").click()
    expect(toast(page)).to_have_text("已把 1 条放入回收站")
    page.locator(".tl-history-menu summary").click()
    page.get_by_role("button", name="回收站（1）").click()
    expect(page.locator(".tl-bin-note")).to_contain_text("30 天后自动彻底删除")
    expect(entries.locator(".tl-entry-left")).to_have_text(["30 天后彻底删除"])
    page.get_by_role("button", name="清空回收站").click()
    dialog(page).get_by_role("button", name="彻底删除").click()
    expect(toast(page)).to_have_text("已彻底删除 1 条")
    page.get_by_role("button", name="返回历史").click()
    search(page, "")
    expect(count(page)).to_have_text(f"{PAGE + MORE - 1} 条")
    assert watched.problems == []
    with Engine(application.settings) as engine:
        assert engine.facets().deleted == 0


def test_each_question_of_the_list_has_an_answer_of_its_own(served, visit):
    """Also one that is asked while another is on its way."""
    page = visit(served.url).page
    search(page, "")
    page.evaluate(
        """() => {
            const list = tinglu.find("history-rows");
            window.answered = [];
            list.update = (view) => window.answered.push(view.serial);
            const usual = { query: "", filters: list.filters(), sort: list.sort.value, cursor: "" };
            window.ask = (serial) => list.trigger("look", { ...usual, serial });
        }"""
    )
    held, released = [], []
    page.route(
        "**/run/predict", lambda route: route.continue_() if released else held.append(route)
    )
    with page.expect_request(lambda request: "9001" in (request.post_data or "")):
        page.evaluate("window.ask(9001)")
    page.evaluate("window.ask(9002)")
    released.append(True)
    for route in held:
        route.continue_()
    page.wait_for_function("[9001, 9002].every((serial) => window.answered.includes(serial))")


def test_a_long_export_is_waited_for_as_long_as_it_brings_news(served, visit):
    page = visit(served.url).page
    search(page, "")
    page.clock.install()
    page.evaluate(
        """() => {
            const list = tinglu.find("history-rows");
            window.heard = [];
            list.trigger = () => {};
            list.send("take", {}, (view) => window.heard.push(view.done ?? "lost"));
            window.told = () => list.answer({ serial: list.serial, done: 1 });
        }"""
    )
    for _ in range(3):
        page.clock.fast_forward("09:00")
        page.evaluate("window.told()")
    assert page.evaluate("window.heard") == [1, 1, 1]
    page.clock.fast_forward("11:00")
    assert page.evaluate("window.heard") == [1, 1, 1, "lost"]


def test_a_dark_phone_in_english(served, visit, tmp_path):
    add(served.settings, tmp_path, f"{ARABIC} {'很长的名字' * 40}.wav")
    page = visit(served.url, size=(390, 844), scheme="dark", locale="en-US").page
    open_tab(page, "History")
    page.locator("#history-query input").fill(ARABIC)
    entries = page.locator("#history-rows .tl-entry[data-id]")
    expect(entries.locator(".tl-entry-name mark").first).to_have_text(ARABIC)
    page.locator(".tl-filter").click()
    assert fits_the_width(page)
    entries.first.locator(".tl-pick").click()
    expect(count(page)).to_have_text("1 selected")
    for name in ("export", "replace", "tag"):
        do(page, name)
        box = dialog(page).bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 390
        page.keyboard.press("Escape")
        expect(dialog(page)).to_have_count(0)
    entries.first.locator(".tl-entry-open").click()
    expect(page.locator("#history-about")).to_be_visible()
    assert fits_the_width(page)
    expect(page.locator("#history-about .tl-card")).to_have_css(
        "background-color", "rgb(26, 34, 38)"
    )


def test_a_press_on_a_chip_counts_although_a_field_was_just_typed_in(served, visit):
    page = visit(served.url).page
    open_tab(page, "历史")
    rows = page.locator("#history-rows .tl-entry[data-id]")
    expect(rows.first).to_be_visible()
    page.get_by_role("button", name="筛选").click()
    page.get_by_label("时长").first.select_option("own")
    longest, shortest = page.locator("[data-by=length] input").all()[::-1]
    shortest.fill("10")
    longest.fill("1")
    # Both ends are put in order.
    longest.press("Tab")
    chip = page.locator(".tl-sieve-chips [data-by=length]")
    expect(chip).to_contain_text("1–10")
    longest.click()
    longest.fill("600")
    page.locator(".tl-sieve-chips").get_by_role("button", name="全部清除").click()
    expect(chip).to_have_count(0)
    expect(rows.first).to_be_visible()


def test_the_suggestions_of_tags_do_not_cover_the_tags(served, visit):
    page = visit(served.url).page
    open_tab(page, "历史")
    page.locator("#history-rows .tl-pick").first.check()
    page.locator("[data-do=tag]").click()
    window = page.locator("dialog")
    field = window.get_by_role("combobox")
    expect(field).to_be_focused()
    suggested = window.get_by_role("listbox")
    expect(suggested).to_be_hidden()
    field.fill("临时标签")
    expect(suggested).to_be_visible()
    field.press("Escape")
    expect(suggested).to_be_hidden()
    expect(field).to_have_value("临时标签")
    field.press("Escape")
    expect(field).to_have_value("")
    field.press("Escape")
    expect(window).to_have_count(0)
