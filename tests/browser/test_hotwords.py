"""Corrections of hotwords are seen, explained and taken back."""

from __future__ import annotations

import pytest

from tests.browser.actions import expect, lines, open_entry, open_tab

pytestmark = [pytest.mark.browser, pytest.mark.model]

NAME = "热词更正.wav"


def opened(visit, url):
    watched = visit(url)
    open_tab(watched.page, "历史")
    open_entry(watched.page, NAME)
    return watched


def test_a_correction_is_marked_listed_and_undone_for_good(served, visit):
    watched = opened(visit, served.url)
    page = watched.page
    said = lines(page, "history")
    expect(said.first).to_contain_text("我们在胜太路的三里屯开会。")
    fix = said.first.locator(".tl-fix")
    expect(fix).to_have_text("胜太路")
    expect(fix).to_have_attribute("title", "原识别：生态路")
    words = page.locator("#history-transcript .tl-words")
    expect(words.locator("summary")).to_have_text("热词：识别出 1 个 · 更正 2 处 · 没有出现 1 个")
    words.locator("summary").click()
    expect(words.locator(".tl-word-chip")).to_have_text(["胜太路×1", "三里屯×1", "鲲鹏未出现"])
    expect(words.locator(".tl-fixes li")).to_have_count(2)
    words.get_by_role("button", name="恢复为“生态路”").click()
    expect(said.first).to_contain_text("我们在生态路的三里屯开会。")
    expect(words.locator("summary")).to_have_text("热词：识别出 1 个 · 更正 1 处 · 没有出现 2 个")
    expect(said.nth(1)).to_contain_text("昇腾芯片到了50片。")
    again = opened(visit, served.url).page
    expect(lines(again, "history").first).to_contain_text("我们在生态路的三里屯开会。")
    assert (watched.problems, watched.foreign) == ([], [])
