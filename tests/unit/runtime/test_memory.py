"""Freed memory goes back to the system."""

from __future__ import annotations

import os

import psutil
import pytest

from asr_core.runtime.memory import _trim, give_back_memory

MIB = 2**20


@pytest.mark.skipif(_trim() is None, reason="the allocator of this system has no malloc_trim")
def test_freed_blocks_go_back() -> None:
    process = psutil.Process(os.getpid())
    # Small blocks lie in the heap; the last one keeps the heap from shrinking by itself.
    blocks = [bytes(4096 + index % 64) for index in range(30_000)]
    last = bytes(4096)
    held = process.memory_info().rss
    blocks.clear()
    give_back_memory()
    assert held - process.memory_info().rss > 90 * MIB
    assert len(last) == 4096
