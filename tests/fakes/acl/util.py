"""SIMULATION: ``acl.util``."""

from __future__ import annotations

import ctypes

from .machine import machine


def bytes_to_ptr(content: bytes) -> int:
    """The address of bytes, which it does not keep alive."""
    if not isinstance(content, bytes):
        raise ValueError("needs an byte as argument")
    return ctypes.cast(ctypes.c_char_p(content), ctypes.c_void_p).value or 0


def ptr_to_bytes(address: int, size: int) -> bytes:
    """A copy of host memory."""
    if address == 0:
        if size:
            raise ValueError("pointer 0 has no bytes")
        return b""
    block = machine().block(address)
    if block is not None and block.device is not None:
        machine().violate("ptr_to_bytes of device memory")
        raise ValueError("the pointer is not in host memory")
    if block is not None and address + size > block.address + block.size:
        machine().violate("ptr_to_bytes runs over a block")
        raise ValueError("the bytes run over the block")
    return ctypes.string_at(address, size)
