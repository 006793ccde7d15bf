"""How two processes share the tests. A pytest plugin.

A browser leaves some of two cores idle, and two browsers would ask for more than there is: one
process begins with all tests of the browser, the other with the rest, file by file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from xdist.scheduler import LoadScopeScheduling

BROWSER = "tests/browser/"


def part_of(nodeid: str) -> str:
    """What one process runs as a whole: all browser tests, or one file with its fixtures."""
    return BROWSER if nodeid.startswith(BROWSER) else nodeid.split("::", 1)[0]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What takes longest begins first, so that no process waits for another at the end."""

    def turn(item: pytest.Item) -> int:
        if item.nodeid.startswith(BROWSER):
            return 0
        return 1 if item.get_closest_marker("model") else 2

    items.sort(key=turn)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> LoadScopeScheduling | None:
    """Where no other distribution is asked for (``--dist``)."""
    if config.getvalue("dist") != "load":
        return None
    from xdist.scheduler import LoadScopeScheduling

    class ByPart(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return part_of(nodeid)

    config.option.loadscopereorder = False
    return ByPart(config, log)
