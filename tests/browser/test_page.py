"""Every tab of the page, and recordings of all kinds that the history holds."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.browser.actions import (
    TABS,
    expect,
    lines,
    open_entry,
    open_tab,
    playing_between,
    search,
)
from tests.browser.seeded import EXPRESSION, LONG_LINES, LONG_NAME, MARKUP

pytestmark = [pytest.mark.browser, pytest.mark.model]

DESKTOP = (1440, 900)
PHONE = (390, 844)


def fits_the_width(page):
    return page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_every_tab_shows_without_complaint_and_without_other_hosts(served, visit, size):
    watched = visit(served.url, size=size)
    page = watched.page
    marks = (
        *("#file-start", "#dictation-text", "#batch-start", "#history-query"),
        *("#evaluate-start", "#system-cards"),
    )
    for name, mark in zip(TABS, marks, strict=True):
        open_tab(page, name)
        expect(page.locator(mark)).to_be_visible()
        assert fits_the_width(page), name
    expect(page.locator("#system-cards")).to_contain_text("Whisper base（内置）")
    expect(page.locator("#system-cards")).to_contain_text(str(served.settings.recordings))
    assert fits_the_width(page)
    assert (watched.problems, watched.foreign) == ([], [])


def test_header_names_model_device_and_state_and_explains_the_model(served, visit):
    page = visit(served.url).page
    chip = page.locator("#header .tl-chip")
    expect(chip).to_contain_text("Whisper base（内置） · CPU 2 线程 · 空闲")
    chip.locator("summary").click()
    expect(chip.locator(".tl-popover")).to_contain_text("当前是内置模型")
    expect(chip.locator(".tl-popover")).to_contain_text("./run.sh models list")


@pytest.mark.parametrize(
    ("locale", "tab", "start"),
    [
        ("en-US", "Transcribe", "Transcribe"),
        ("zh-TW", "文件转写", "开始转写"),
        ("zh-HK", "文件转写", "开始转写"),
        ("zh", "文件转写", "开始转写"),
        ("de-DE", "Transcribe", "Transcribe"),
    ],
)
def test_language_follows_the_browser(served, visit, locale, tab, start):
    page = visit(served.url, locale=locale).page
    expect(page.get_by_role("tab").first).to_have_text(tab)
    expect(page.locator("#file-start")).to_have_text(start)
    if locale == "en-US":
        page.locator("#file-start").click()
        expect(page.locator(".toast-body")).to_contain_text("Choose a file")


def test_dark_scheme_is_dark(served, visit):
    page = visit(served.url, scheme="dark").page
    expect(page.locator("body")).to_have_css("background-color", "rgb(18, 24, 27)")
    card = page.locator("#file-transcript .tl-card")
    expect(card).to_have_css("background-color", "rgb(26, 34, 38)")


def test_starting_without_a_file_says_what_to_do(served, visit):
    page = visit(served.url).page
    page.locator("#file-start").click()
    expect(page.locator(".toast-body")).to_contain_text("请先选择一个文件，或录一段声音")


def test_microphone_note_only_where_the_page_is_not_secure(served, visit, browser):
    page = visit(served.url).page
    open_tab(page, "听写")
    expect(page.locator("#dictation-text")).to_be_visible()
    expect(page.locator("#dictation-insecure .tl-note")).to_have_count(0)
    context = browser.new_context(locale="zh-CN")
    context.add_init_script("Object.defineProperty(window, 'isSecureContext', {value: false})")
    plain = context.new_page()
    plain.goto(served.url)
    open_tab(plain, "听写")
    expect(plain.locator("#dictation-insecure .tl-note")).to_contain_text("浏览器不允许使用麦克风")
    context.close()


def test_keyboard_moves_through_sentences_and_a_time_plays(served, visit):
    page = visit(served.url).page
    panel = open_entry(page, "产品例会.m4a")
    expect(panel.locator(".tl-play")).to_be_enabled()
    lines(page, "history").first.focus()
    page.keyboard.press("ArrowDown")
    expect(lines(page, "history").nth(1)).to_be_focused()
    lines(page, "history").nth(1).locator("time").click()
    playing_between(page, "history", 4.8, 9)
    expect(lines(page, "history").nth(1)).to_have_attribute("aria-current", "true")


def test_spoken_and_written_form_and_marks(served, visit):
    page = visit(served.url).page
    panel = open_entry(page, "产品例会.m4a")
    expect(panel.locator(".tl-num").first).to_have_text("26")
    expect(panel.locator(".tl-low").first).to_have_attribute("title", "存疑：把握 20%")
    panel.get_by_role("button", name="口语").click()
    expect(lines(page, "history").nth(1)).to_contain_text("我们邀请了二十六位用户进行试用，")
    expect(panel.locator(".tl-num")).to_have_count(0)
    panel.get_by_role("button", name="下一处存疑 (1)").click()
    expect(lines(page, "history").nth(3)).to_be_focused()


def test_export_downloads_under_the_recordings_name(served, visit):
    page = visit(served.url).page
    panel = open_entry(page, "产品例会.m4a")
    panel.get_by_label("格式", exact=True).select_option("srt")
    with page.expect_download() as download:
        panel.locator(".tl-export").click()
    assert download.value.suggested_filename == "产品例会.srt"
    written = Path(download.value.path()).read_text(encoding="utf-8")
    assert "我们邀请了26位用户进行试用" in written
    assert "00:00:04,800 -->" in written


def test_gaps_are_drawn_and_counted(served, visit):
    panel = open_entry(visit(served.url).page, "客户访谈.mp4")
    expect(panel.locator(".tl-key-gap")).to_have_text("有人声未识别 0:02")
    expect(panel.locator(".tl-key-lost")).to_have_text("缺失或损坏 0:08")
    expect(panel.locator(".tl-note")).to_have_count(2)
    expect(panel.locator(".tl-note").nth(1)).to_contain_text("缺 0:22–0:30")


def test_partial_result_says_so(served, visit):
    page = visit(served.url).page
    panel = open_entry(page, "周会.wav")
    expect(panel.locator(".tl-is-partial")).to_be_visible()
    expect(panel.locator(".tl-note")).to_contain_text("任务被取消")
    expect(lines(page, "history")).to_have_count(3)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("空房间.wav", "没有检测到人声"),
        ("坏.mp3", "“坏.mp3”已损坏，没有可解码的内容，请重新导出"),
        ("不要了.wav", "任务已取消"),
    ],
)
def test_results_without_text_tell_why(served, visit, name, words):
    page = visit(served.url).page
    expect(open_entry(page, name)).to_contain_text(words)
    expect(lines(page, "history")).to_have_count(0)


def test_hostile_texts_stay_texts(served, visit):
    page = visit(served.url).page
    panel = open_entry(page, f"{MARKUP}.wav")
    expect(lines(page, "history").nth(0)).to_contain_text(MARKUP)
    expect(lines(page, "history").nth(1)).to_contain_text(EXPRESSION)
    expect(lines(page, "history").nth(1).locator(".tl-who")).to_have_text(MARKUP)
    expect(panel.locator(".tl-note")).to_have_text(MARKUP)
    search(page, MARKUP)
    # In its name, its text and the name of its speaker.
    entry = page.locator("#history-rows .tl-entry", has_text=f"{MARKUP}.wav")
    expect(entry.locator("mark")).to_have_text([MARKUP] * 3)
    assert page.locator("#tabs img").count() == 0
    assert page.evaluate("window.hacked") is None


def test_ten_hours_scroll_inside_their_card(served, visit):
    page = visit(served.url).page
    open_entry(page, "十小时.wav")
    expect(lines(page, "history").first).to_have_attribute("aria-setsize", str(LONG_LINES))
    # The tools, which come after the text, move the lines.
    expect(page.locator("#history-transcript .tl-editable")).to_be_visible()
    inside = page.locator("#history-transcript .tl-lines")
    assert inside.evaluate("box => box.scrollHeight > box.clientHeight")
    lines(page, "history").first.focus()
    page.keyboard.press("End")
    expect(lines(page, "history").last).to_be_in_viewport()
    expect(lines(page, "history").last.locator("time")).to_have_text("09:56:18")
    assert fits_the_width(page)


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_long_names_and_words_stay_inside_the_page(served, visit, size):
    page = visit(served.url, size=size).page
    open_entry(page, LONG_NAME)
    expect(lines(page, "history").first).to_have_attribute("aria-setsize", "6")
    assert fits_the_width(page)
    line = lines(page, "history").first
    assert line.evaluate("line => line.scrollWidth <= line.clientWidth")


def test_history_search_open_and_delete(served, visit):
    watched = visit(served.url)
    page = watched.page
    expect(search(page, "访谈")).to_have_count(1)
    expect(search(page, "没有这个词")).to_have_count(0)
    expect(page.locator("#history-rows")).to_contain_text("没有找到“没有这个词”")
    entries = search(page, "")
    for name in ("产品例会.m4a", "培训.mp3", "坏.mp3"):
        expect(entries.get_by_text(name, exact=True)).to_be_visible()
    open_entry(page, "培训.mp3")
    expect(lines(page, "history")).to_have_count(5)
    entries.hover()
    entries.get_by_role("button", name="删除 培训.mp3").click()
    expect(entries).to_have_count(0)
    expect(page.locator("#history-transcript .tl-empty")).to_be_visible()
    assert watched.problems == []
