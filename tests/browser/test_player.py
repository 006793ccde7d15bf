"""The player of a transcript: the drawn recording, the way through it, and who speaks."""

from __future__ import annotations

import pytest

from tests.browser.actions import (
    PATIENCE_MS,
    colours,
    expect,
    lines,
    open_entry,
    playing_between,
    transcribe,
)
from tests.browser.seeded import NOT_KEPT
from tests.seeding import open_history, write_tone

pytestmark = [pytest.mark.browser, pytest.mark.model]

DESKTOP = (1440, 900)
PHONE = (390, 844)


def open_drawn(page, name):
    """Open a recording of the history and wait until it is drawn and can be played."""
    panel = open_entry(page, name)
    expect(panel.locator(".tl-drawn .tl-wave")).to_be_visible()
    expect(panel.locator(".tl-play")).to_be_enabled()
    return panel


def click_at(panel, part):
    """Click into the drawn recording, ``part`` of the way from its start to its end."""
    track = panel.locator(".tl-track")
    box = track.bounding_box()
    track.click(position={"x": box["width"] * part, "y": box["height"] / 2})


def position_s(panel):
    return panel.locator("audio").evaluate("audio => audio.currentTime")


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_recording_is_drawn_and_a_click_goes_to_its_place(served, visit, size, scheme):
    watched = visit(served.url, size=size, scheme=scheme)
    page = watched.page
    panel = open_drawn(page, "产品例会.m4a")
    assert colours(page, "history") == ["wave"] * 40
    click_at(panel, 0.75)
    page.wait_for_function(
        "() => document.querySelector('#history-transcript audio').currentTime > 0"
    )
    # 24 s long; a pixel on the narrow screen is 0.1 s.
    assert position_s(panel) == pytest.approx(18, abs=0.15)
    expect(panel.locator(".tl-seek")).to_be_focused()
    expect(panel.locator(".tl-at")).to_contain_text("0:1")
    shown = colours(page, "history")
    assert (shown[:29], shown[31:]) == (["accent"] * 29, ["wave"] * 9)
    panel.locator(".tl-play").click()
    playing_between(page, "history", 17.7, 24)
    assert watched.problems == []


def test_dragging_goes_along_and_stops_at_the_ends(served, visit):
    page = visit(served.url).page
    panel = open_drawn(page, "产品例会.m4a")
    box = panel.locator(".tl-track").bounding_box()
    middle = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + box["width"] * 0.9, middle)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.5, middle + 200)
    assert position_s(panel) == pytest.approx(12, abs=0.1)
    page.mouse.move(box["x"] - 50, middle)
    assert position_s(panel) == 0
    page.mouse.up()
    page.mouse.move(box["x"] + box["width"] * 0.5, middle)
    assert position_s(panel) == 0


def test_drawing_follows_the_width_of_the_page(served, visit):
    page = visit(served.url).page
    panel = open_drawn(page, "产品例会.m4a")
    canvas = panel.locator(".tl-wave")
    before = canvas.evaluate("canvas => canvas.width")
    page.set_viewport_size({"width": 1100, "height": 900})
    expect(canvas).not_to_have_js_property("width", before)
    assert canvas.evaluate("canvas => canvas.width === canvas.clientWidth")
    assert colours(page, "history") == ["wave"] * 40


def test_drawing_changes_with_the_colour_scheme(served, visit):
    page = visit(served.url).page
    open_drawn(page, "产品例会.m4a")
    page.evaluate("document.body.classList.add('dark')")
    page.wait_for_function("() => document.body.classList.contains('dark')")
    assert colours(page, "history") == ["wave"] * 40


def test_places_without_words_are_marked_in_the_drawing_too(served, visit):
    page = visit(served.url).page
    panel = open_drawn(page, "客户访谈.mp4")
    # Words are missing from 6 s to 8.4 s of 24 s.
    assert colours(page, "history")[10:14] == ["warn"] * 4
    # A bar that stands across the edge reaches into one place more.
    assert colours(page, "history").count("warn") in (4, 5)
    expect(panel.locator(".tl-key-gap")).to_have_text("有人声未识别 0:02")


def test_arrow_keys_go_five_seconds(served, visit):
    page = visit(served.url).page
    panel = open_drawn(page, "产品例会.m4a")
    panel.locator(".tl-seek").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowLeft")
    expect(panel.locator(".tl-seek")).to_have_attribute("aria-valuetext", "0:05")
    assert position_s(panel) == pytest.approx(5)


def test_player_without_a_recording_shows_where_the_words_are(served, visit):
    page = visit(served.url).page
    panel = open_entry(page, NOT_KEPT)
    expect(panel.locator(".tl-note")).to_have_text("原录音已不在，不能播放。")
    expect(panel.locator(".tl-cover")).to_be_visible()
    expect(panel.locator(".tl-wave")).to_be_hidden()


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_speaker_stands_before_the_sentence_where_it_changes(served, visit, size):
    page = visit(served.url, size=size).page
    open_entry(page, "客服通话.wav")
    expect(lines(page, "history")).to_have_count(4)
    names = lines(page, "history").locator(".tl-who")
    expect(names).to_have_text(["声道1", "声道2", "声道1"])
    expect(names.first).to_be_visible()
    starts = (
        lines(page, "history")
        .locator(".tl-text")
        .evaluate_all("texts => texts.map(text => text.getBoundingClientRect().left)")
    )
    assert len(set(starts)) == 1


def test_choices_under_more_options_reach_the_job(served, visit, tmp_path):
    page = visit(served.url).page
    page.locator("#file-more > button").click()
    page.locator("#file-channels").get_by_text("分声道", exact=True).click()
    page.locator("#file-vad").get_by_text("整段", exact=True).click()
    page.locator("#file-punctuation input").uncheck()
    page.locator("#file-track input").click()
    page.get_by_role("option", name="1", exact=True).click()
    transcribe(page, write_tone(tmp_path / "双声道.wav", seconds=1.0))
    badge = page.locator("#file-transcript .tl-badge")
    expect(badge).to_have_text("已完成", timeout=PATIENCE_MS)
    with open_history(served.settings) as history:
        options = history.jobs()[-1].options
    assert (options.channels, options.vad, options.track) == ("split", "off", 1)
    assert (options.punctuation, options.itn) == (False, True)
