"""The page's title, the browser's notifications, and a table of thousands of rows."""

from __future__ import annotations

import pytest

from tests.browser.actions import expect, open_tab

pytestmark = [pytest.mark.browser, pytest.mark.model]

PHONE = (390, 844)

STUB = """
    window.told = [];
    window.Notification = class {
        static permission = "default";
        static async requestPermission() {
            Notification.permission = window.answer || "granted";
            return Notification.permission;
        }
        constructor(title, options) { window.told.push([title, options.body]); }
        close() {}
    };
"""
"""A browser without a desktop shows no notifications; this one writes down what it would show."""


def tell(page, state, part=0.0, *, name="例会.m4a", hidden=False):
    """News of one followed job."""
    page.evaluate(
        """([name, state, part, hidden]) => {
            Object.defineProperty(document, "hidden", {configurable: true, get: () => hidden});
            const final = !["queued", "running", "paused"].includes(state);
            tinglu.news("file", {key: "1", name, state, final, part, reason: ""});
        }""",
        [name, state, part, hidden],
    )


def test_title_follows_the_job_and_marks_its_end(served, visit):
    page = visit(served.url).page
    before = page.title()
    tell(page, "queued")
    expect(page).to_have_title("排队中 · 例会.m4a — 听录")
    tell(page, "running", 0.428)
    expect(page).to_have_title("42% · 例会.m4a — 听录")
    tell(page, "done", 1.0)
    expect(page).to_have_title("✓ 例会.m4a — 听录")
    page.evaluate("tinglu.news('file', null)")
    expect(page).to_have_title(before)


def test_an_end_that_nobody_waited_for_is_no_news(served, visit):
    page = visit(served.url).page
    before = page.title()
    tell(page, "done", 1.0)
    expect(page).to_have_title(before)


def test_notification_comes_on_request_and_only_when_the_page_is_out_of_sight(served, visit):
    page = visit(served.url, script=STUB).page
    switch = page.get_by_role("switch", name="完成时通知")
    expect(switch).to_have_attribute("aria-checked", "false")
    tell(page, "running", hidden=True)
    tell(page, "done", 1.0, hidden=True)
    assert page.evaluate("told") == []
    switch.click()
    expect(switch).to_have_attribute("aria-checked", "true")
    tell(page, "running", hidden=False)
    tell(page, "done", 1.0, hidden=False)
    assert page.evaluate("told") == []
    tell(page, "running", hidden=True)
    tell(page, "failed", 1.0, hidden=True)
    assert page.evaluate("told") == [["例会.m4a", "没有完成"]]
    switch.click()
    expect(switch).to_have_attribute("aria-checked", "false")
    tell(page, "running", hidden=True)
    tell(page, "done", 1.0, hidden=True)
    assert len(page.evaluate("told")) == 1


def test_browser_that_refuses_notifications_is_explained(served, visit):
    page = visit(served.url, script=f"window.answer = 'denied';{STUB}").page
    switch = page.get_by_role("switch", name="完成时通知")
    switch.press("Enter")
    expect(page.locator(".tl-say")).to_contain_text("浏览器已禁止通知")
    expect(switch).to_have_attribute("aria-checked", "false")


def show_rows(page, count):
    """A running batch of so many files, a tenth of them done."""
    page.evaluate(
        """(count) => {
            const row = (n) => ({n, path: `${n % 12 + 1} 月/${"很长的名称".repeat(n % 9)}${n}.wav`,
                state: n <= count / 10 ? "done" : "queued", job: String(n), recording: "r",
                total_ms: 60000 * n, done_ms: 0, speed: 9.5, remaining_ms: null,
                outputs: [`${n}.txt`], note: "", error: ""});
            window.made = row;
            window.batch = {id: "b", name: "整年", created_ms: 0, state: "running", total: count,
                ended: count / 10, good: count / 10, final: false, watching: false, watched: false,
                counts: {done: count / 10, queued: count * 0.9}, total_ms: 9e9, done_ms: 9e8,
                remaining_ms: 4800000, output: "", formats: ["txt"], every_format: ["txt"],
                error: ""};
            const rows = Array.from({length: count}, (_, i) => row(i + 1));
            const part = tinglu.find("batch-rows");
            window.show = part.update.bind(part);
            part.update = () => {};  // what the server says of its own batches
            show({batch, rows, since: 1, whole: true});
        }""",
        count,
    )


@pytest.mark.parametrize("size", [(1440, 900), PHONE], ids=["desktop", "phone"])
def test_two_thousand_rows_are_not_all_in_the_page_but_all_within_reach(served, visit, size):
    watched = visit(served.url, size=size)
    page = watched.page
    open_tab(page, "批量")
    show_rows(page, 2000)
    rows = page.locator("#batch-rows .tl-rows > .tl-row")
    expect(page.locator("#batch-rows .tl-summary")).to_contain_text(
        "200/2000 完成 · 录音共 2500 小时 · 剩余约 1 小时 20 分"
    )
    expect(rows.first).to_contain_text("1.wav")
    assert rows.count() < 80
    rows.first.focus()
    page.keyboard.press("End")
    last = page.locator("#batch-rows [data-key='2000']")
    expect(last).to_be_focused()
    expect(last).to_be_in_viewport()
    expect(page.locator("#batch-rows .tl-detail")).to_contain_text("2000.wav")
    page.keyboard.press("ArrowUp")
    expect(page.locator("#batch-rows [data-key='1999']")).to_be_focused()
    assert rows.count() < 80
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert watched.problems == []


def test_only_the_row_that_changed_is_drawn_again(served, visit):
    page = visit(served.url).page
    open_tab(page, "批量")
    show_rows(page, 200)
    expect(page.locator("#batch-rows [data-key='1']")).to_be_visible()
    changed = page.evaluate(
        """async () => {
            const seen = new Set();
            const body = document.querySelector("#batch-rows .tl-rows");
            const watch = new MutationObserver((all) => all.forEach((one) => {
                const row = one.target.nodeType === 1 && one.target.closest(".tl-row");
                if (row) seen.add(row.dataset.key);
            }));
            watch.observe(body, {childList: true, characterData: true, subtree: true});
            const row = {...made(3), state: "running", done_ms: 1};
            show({batch, rows: [row], since: 2, whole: false});
            await new Promise(requestAnimationFrame);
            watch.disconnect();
            return [...seen];
        }"""
    )
    assert changed == ["3"]
    expect(page.locator("#batch-rows [data-key='3']").get_by_role("progressbar")).to_be_visible()


def test_rows_are_sifted_by_how_they_ended(served, visit):
    page = visit(served.url).page
    open_tab(page, "批量")
    show_rows(page, 20)
    filters = page.locator("#batch-rows .tl-seg")
    filters.get_by_text("完成 2", exact=True).click()
    rows = page.locator("#batch-rows .tl-rows > .tl-row")
    expect(rows).to_have_count(2)
    filters.get_by_text("全部 20", exact=True).click()
    expect(rows.first).to_be_visible()
    assert rows.count() > 2
