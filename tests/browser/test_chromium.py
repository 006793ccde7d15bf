"""A missing browser is a reason to skip here and a failure where one is required."""

from __future__ import annotations

import sys

import pytest

from tests.browser.chromium import REQUIRED, chromium_path, playwright_api


@pytest.mark.parametrize(
    ("required", "outcome"), [("", pytest.skip.Exception), ("1", pytest.fail.Exception)]
)
@pytest.mark.parametrize("find", [chromium_path, playwright_api])
def test_what_a_missing_browser_means(find, required, outcome, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setitem(sys.modules, "playwright.sync_api", None)
    monkeypatch.setenv(REQUIRED, required)
    with pytest.raises(outcome, match=r"here: (apt-get|pip) install"):
        find()
