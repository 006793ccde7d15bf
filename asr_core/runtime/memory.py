"""Memory that the process no longer uses."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable


def give_back_memory() -> None:
    """Return freed memory to the system.

    The allocator of glibc keeps it: after recordings of many lengths a process would hold tens of
    MiB that nobody uses. Takes milliseconds; nothing happens with another allocator.
    """
    trim = _trim()
    if trim is not None:
        trim(0)


@functools.cache
def _trim() -> Callable[[int], int] | None:
    try:
        trim = ctypes.CDLL(None).malloc_trim
    except (OSError, AttributeError):
        return None
    trim.argtypes, trim.restype = [ctypes.c_size_t], ctypes.c_int
    found: Callable[[int], int] = trim
    return found
