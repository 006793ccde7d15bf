"""Versions of the Ascend software and of MindSpore that belong together."""

from __future__ import annotations

import re

HDK_OF_CANN = {
    "6.3.RC2": "23.0.RC2",
    "8.0.RC2": "24.1.RC2",
    "8.0.RC3": "24.1.RC3",
    "8.0.0": "24.1.0",
    "8.1.RC1": "25.0.RC1",
    "8.2.RC1": "25.2.0",
    "8.3.RC1": "25.3.RC1",
    "8.5.0": "25.5.0",
    "9.0.0": "26.0.RC1",
    "9.1.0": "26.1.0",
}
"""CANN to the driver and firmware (HDK) that it needs at least."""

CANN_OF_MINDSPORE = {
    "2.3": ("8.0",),
    "2.4": ("8.0",),
    "2.6": ("8.1", "8.2"),
    "2.7.0": ("8.2",),
    "2.7.1": ("8.3",),
    "2.7.2": ("8.5",),
    "2.9": ("9.0",),
    "2.10": ("8.2", "8.3", "8.5", "9.0", "9.1"),
}
"""MindSpore to the versions of CANN, two numbers each, that it runs with."""


def version_key(text: str) -> tuple[tuple[int, int], ...]:
    """A version for comparing: ``8.3.RC1`` is before ``8.3.0``."""
    key: list[tuple[int, int]] = []
    for word in re.findall(r"\d+|rc\d+|alpha\d+", text.lower()):
        number = int(re.sub(r"\D", "", word))
        rank = 1 if word.isdecimal() else 0 if word.startswith("rc") else -1
        key.append((rank, number))
    return tuple(key)


def major_minor(text: str) -> str:
    """``8.3`` of ``8.3.RC1``; empty if there are no two numbers."""
    found = re.match(r"\d+\.\d+", text)
    return found[0] if found else ""


def needed_hdk(cann: str) -> str:
    """The driver that a version of CANN needs at least; empty where that is not known."""
    known = [
        name
        for name in HDK_OF_CANN
        if major_minor(name) == major_minor(cann) and version_key(name) <= version_key(cann)
    ]
    return HDK_OF_CANN[max(known, key=version_key)] if known else ""


def canns_of(mindspore: str) -> tuple[str, ...]:
    """Versions of CANN that a MindSpore runs with; empty where that is not known."""
    for name in sorted(CANN_OF_MINDSPORE, key=len, reverse=True):
        if f"{mindspore}.".startswith(f"{name}."):
            return CANN_OF_MINDSPORE[name]
    return ()
