"""The page in a real browser, over the scripted engine."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path

import pytest

from tests.fakes.serve_page import EXPRESSION, MARKUP

pytestmark = pytest.mark.browser

playwright_api = pytest.importorskip("playwright.sync_api", reason="pip install playwright")
expect = playwright_api.expect

TABS = ("文件转写", "听写", "批量", "历史", "系统")


def open_tab(page, name):
    page.get_by_role("tab", name=name, exact=True).click()


def transcribe(page, recording):
    page.locator("#file-upload input[type=file]").set_input_files(recording)
    expect(page.locator("#file-upload .file-preview")).to_be_visible()
    page.locator("#file-start").click()


def lines(page, panel="file"):
    return page.locator(f"#{panel}-transcript .tl-line")


def no_sideways_scrolling(page):
    return page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


@pytest.mark.parametrize("width", [1440, 390])
def test_every_tab_shows_without_complaint_and_without_other_hosts(served_page, visit, width):
    watched = visit(served_page.url, width=width)
    page = watched.page
    marks = ("#file-start", "#dictation-text", "#batch-start", "#history-query", "#system-cards")
    for name, mark in zip(TABS, marks, strict=True):
        open_tab(page, name)
        expect(page.locator(mark)).to_be_visible()
        assert no_sideways_scrolling(page), name
    expect(page.locator("#system-cards")).to_contain_text("Whisper base（内置）")
    assert watched.foreign == []
    assert watched.problems == []


def test_header_names_model_device_state_and_the_better_model(served_page, visit):
    page = visit(served_page.url).page
    chip = page.locator("#header .tl-chip")
    expect(chip).to_contain_text("Whisper base（内置） · CPU 2 线程 · 空闲")
    chip.get_by_text("提高准确率", exact=True).click()
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
def test_language_follows_the_browser(served_page, visit, locale, tab, start):
    page = visit(served_page.url, locale=locale).page
    expect(page.get_by_role("tab").first).to_have_text(tab)
    expect(page.locator("#file-start")).to_have_text(start)
    if locale == "en-US":
        page.locator("#file-start").click()
        expect(page.locator(".toast-body")).to_contain_text("Choose a file")


def test_dark_scheme_is_dark(served_page, visit):
    page = visit(served_page.url, scheme="dark").page
    colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert colour == "rgb(18, 24, 27)"
    card = page.locator("#file-transcript .tl-card")
    expect(card).to_have_css("background-color", "rgb(26, 34, 38)")


def test_starting_without_a_file_says_what_to_do(served_page, visit):
    page = visit(served_page.url).page
    page.locator("#file-start").click()
    expect(page.locator(".toast-body")).to_contain_text("请先选择一个文件，或录一段声音")


def test_sentences_appear_and_a_click_plays_from_there(served_page, visit, recording):
    watched = visit(served_page.url)
    page = watched.page
    transcribe(page, recording)
    expect(page.locator("#file-transcript .tl-is-running")).to_be_visible()
    expect(page.locator("#file-transcript .tl-is-done")).to_be_visible(timeout=30_000)
    expect(page.locator("#file-transcript .tl-name")).to_have_text("例会 第一场.wav")
    expect(lines(page)).to_have_count(5)
    audio = page.locator("#file-transcript audio")
    expect(audio).to_have_attribute("src", re.compile("recordings"))
    lines(page).nth(2).locator("time").click()
    page.wait_for_function(
        "() => { const a = document.querySelector('#file-transcript audio');"
        " return a.currentTime >= 9 && a.currentTime < 13 && !a.paused; }"
    )
    expect(lines(page).nth(2)).to_have_attribute("aria-current", "true")
    assert watched.problems == []


def test_keyboard_moves_through_sentences_and_enter_plays(served_page, visit, recording):
    page = visit(served_page.url).page
    transcribe(page, recording)
    expect(page.locator("#file-transcript .tl-is-done")).to_be_visible(timeout=30_000)
    expect(page.locator("#file-transcript .tl-play")).to_be_enabled()
    lines(page).first.focus()
    page.keyboard.press("ArrowDown")
    expect(lines(page).nth(1)).to_be_focused()
    page.keyboard.press("Enter")
    page.wait_for_function("document.querySelector('#file-transcript audio').currentTime >= 4.8")


def test_spoken_and_written_form_and_marks(served_page, visit, recording):
    page = visit(served_page.url).page
    transcribe(page, recording)
    expect(page.locator("#file-transcript .tl-is-done")).to_be_visible(timeout=30_000)
    panel = page.locator("#file-transcript")
    expect(panel.locator(".tl-num").first).to_have_text("26")
    expect(panel.locator(".tl-low").first).to_have_attribute("title", "把握不大，建议核对")
    panel.get_by_role("button", name="口语").click()
    expect(lines(page).nth(1)).to_contain_text("我们邀请了二十六位用户进行试用，")
    expect(panel.locator(".tl-num")).to_have_count(0)
    panel.get_by_role("button", name="下一处存疑 (1)").click()
    expect(lines(page).nth(3)).to_be_focused()


def test_export_downloads_under_the_recordings_name(served_page, visit, recording):
    page = visit(served_page.url).page
    transcribe(page, recording)
    expect(page.locator("#file-transcript .tl-is-done")).to_be_visible(timeout=30_000)
    page.locator("#file-transcript .tl-select").select_option("srt")
    with page.expect_download() as download:
        page.locator("#file-transcript .tl-export").click()
    assert download.value.suggested_filename == "例会 第一场.srt"
    assert "各位同事" in Path(download.value.path()).read_text(encoding="utf-8")


def test_cancel_keeps_what_was_recognized(served_page, visit, recording):
    served_page.next_recording("hold")
    page = visit(served_page.url).page
    transcribe(page, recording)
    expect(lines(page)).to_have_count(3, timeout=20_000)
    page.locator("#file-transcript").get_by_role("button", name="取消").click()
    expect(page.locator("#file-transcript .tl-is-partial")).to_be_visible()
    expect(lines(page)).to_have_count(3)
    expect(page.locator("#file-transcript .tl-note")).to_contain_text("任务被取消")


def test_reload_attaches_to_the_running_job(served_page, visit, recording):
    served_page.next_recording("hold")
    watched = visit(served_page.url)
    page = watched.page
    transcribe(page, recording)
    expect(lines(page)).to_have_count(2, timeout=20_000)
    page.reload()
    expect(lines(page)).to_have_count(3, timeout=20_000)
    expect(page.locator("#file-transcript .tl-is-running")).to_be_visible()


def test_gaps_are_drawn_and_counted(served_page, visit, recording):
    served_page.next_recording("gaps")
    page = visit(served_page.url).page
    transcribe(page, recording)
    expect(page.locator("#file-transcript .tl-key-gap")).to_have_text(
        "有人声未识别 0:02", timeout=30_000
    )
    expect(page.locator("#file-transcript .tl-note")).to_have_count(1)


@pytest.mark.parametrize(
    ("scenario", "words"),
    [("silence", "没有检测到人声"), ("damaged", "“坏.mp3”已损坏，没有可解码的内容，请重新导出")],
)
def test_empty_and_failed_results_tell_why(served_page, visit, recording, scenario, words):
    served_page.next_recording(scenario)
    page = visit(served_page.url).page
    transcribe(page, recording)
    expect(page.locator("#file-transcript")).to_contain_text(words, timeout=20_000)
    expect(lines(page)).to_have_count(0)


def test_hostile_texts_stay_texts(served_page, visit, recording):
    served_page.next_recording("hostile")
    page = visit(served_page.url).page
    transcribe(page, recording)
    expect(page.locator("#file-transcript .tl-is-done")).to_be_visible(timeout=20_000)
    expect(lines(page).nth(0)).to_contain_text(MARKUP)
    expect(lines(page).nth(1)).to_contain_text(EXPRESSION)
    expect(page.locator("#file-transcript .tl-note")).to_have_text(MARKUP)
    open_tab(page, "历史")
    expect(page.locator("#history-rows")).to_contain_text(f"{MARKUP}.wav")
    page.locator("#history-query input, #history-query textarea").fill(MARKUP)
    expect(page.locator("#history-rows mark").first).to_have_text(MARKUP)
    page.locator("#history-rows .tl-entry-open").last.click()
    expect(page.locator("#history-transcript .tl-name")).to_have_text(f"{MARKUP}.wav")
    assert page.locator("#tabs img").count() == 0
    assert page.evaluate("window.hacked") is None


def test_long_transcript_scrolls_inside_its_card(served_page, visit, recording):
    served_page.next_recording("long")
    page = visit(served_page.url).page
    transcribe(page, recording)
    expect(lines(page)).to_have_count(20, timeout=60_000)
    inside = page.locator("#file-transcript .tl-lines")
    assert inside.evaluate("box => box.scrollHeight > box.clientHeight")
    assert inside.evaluate("box => box.scrollHeight - box.scrollTop - box.clientHeight < 80")
    page.locator("#file-transcript").get_by_role("button", name="取消").click()


def test_history_search_open_and_delete(served_page, visit):
    watched = visit(served_page.url)
    page = watched.page
    open_tab(page, "历史")
    entries = page.locator("#history-rows .tl-entry")
    expect(entries).to_have_count(5)
    box = page.locator("#history-query input, #history-query textarea")
    box.fill("访谈")
    expect(entries).to_have_count(1)
    box.fill("没有这个词")
    expect(page.locator("#history-rows")).to_contain_text("没有找到“没有这个词”")
    box.fill("")
    expect(entries).to_have_count(5)
    entries.first.locator(".tl-entry-open").click()
    expect(lines(page, "history")).to_have_count(5)
    entries.first.hover()
    entries.first.get_by_role("button", name="删除 培训.mp3").click()
    entries.first.get_by_role("button", name="保留").click()
    expect(entries).to_have_count(5)
    entries.first.hover()
    entries.first.get_by_role("button", name="删除 培训.mp3").click()
    entries.first.get_by_role("button", name="确认删除").click()
    expect(entries).to_have_count(4)
    expect(page.locator("#history-transcript .tl-empty")).to_be_visible()
    assert watched.problems == []


def test_batch_runs_shows_results_and_downloads_them(served_page, visit, tmp_path, recording):
    page = visit(served_page.url).page
    open_tab(page, "批量")
    second = tmp_path / "第二场.wav"
    second.write_bytes(recording.read_bytes())
    page.locator("#batch-upload input[type=file]").set_input_files([recording, second])
    expect(page.locator("#batch-upload .file-preview tr")).to_have_count(2)
    page.locator("#batch-start").click()
    expect(page.locator("#batch-rows tbody .tl-is-done")).to_have_count(2, timeout=60_000)
    expect(page.locator("#batch-rows .tl-name")).to_have_text("完成 2 / 2")
    expect(page.locator("#batch-rows tbody tr").nth(1)).to_contain_text("各位同事")
    with page.expect_download() as download:
        page.locator("#batch-rows .tl-export").click()
    with zipfile.ZipFile(download.value.path()) as packed:
        assert sorted(packed.namelist()) == ["例会 第一场.txt", "第二场.txt"]
    page.reload()
    open_tab(page, "批量")
    expect(page.locator("#batch-rows tbody tr")).to_have_count(2)


def test_batch_can_be_cancelled(served_page, visit, recording):
    served_page.next_recording("hold")
    page = visit(served_page.url).page
    open_tab(page, "批量")
    page.locator("#batch-upload input[type=file]").set_input_files([recording])
    expect(page.locator("#batch-upload .file-preview")).to_be_visible()
    page.locator("#batch-start").click()
    expect(page.locator("#batch-rows .tl-is-running")).to_be_visible()
    page.get_by_role("button", name="全部取消").click()
    expect(page.locator("#batch-rows .tl-is-partial, #batch-rows .tl-is-cancelled")).to_be_visible()


def test_microphone_note_only_where_the_page_is_not_secure(served_page, visit, browser):
    page = visit(served_page.url).page
    open_tab(page, "听写")
    expect(page.locator("#dictation-text")).to_be_visible()
    expect(page.locator("#dictation-insecure .tl-note")).to_have_count(0)
    context = browser.new_context(locale="zh-CN")
    context.add_init_script("Object.defineProperty(window, 'isSecureContext', {value: false})")
    plain = context.new_page()
    plain.goto(served_page.url)
    plain.get_by_role("tab", name="听写").click()
    expect(plain.locator("#dictation-insecure .tl-note")).to_contain_text("浏览器不允许使用麦克风")
    context.close()
