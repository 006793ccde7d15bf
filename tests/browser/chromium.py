"""The browser and the package that drives it: where they are, and what if they are missing."""

from __future__ import annotations

import importlib
import os
import shutil
from types import ModuleType
from typing import NoReturn

import pytest

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
REQUIRED = "TINGLU_REQUIRE_BROWSER"
"""With this variable set to 1 the tests fail where they are otherwise skipped."""


def chromium_path() -> str:
    path = next(filter(None, map(shutil.which, NAMES)), None)
    return path or _missing("no Chromium here: apt-get install -y chromium fonts-noto-cjk")


def playwright_api() -> ModuleType:
    try:
        return importlib.import_module("playwright.sync_api")
    except ModuleNotFoundError:
        return _missing("no playwright here: pip install -r requirements-dev.txt")


def _missing(reason: str) -> NoReturn:
    if os.environ.get(REQUIRED) == "1":
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason, allow_module_level=True)
