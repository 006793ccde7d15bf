"""SIMULATION: begin and end of the process, error texts."""

from __future__ import annotations

from .machine import CallError, Machine, call, getter, machine

REPEAT_INITIALIZE = 100002
REPEAT_FINALIZE = 100037


@call("acl.init", before_init=True)
def init(here: Machine, _config: str = "") -> None:
    """Once in a process: also not after ``finalize``."""
    with here.lock:
        if here.initialized or here.finalized:
            raise CallError(REPEAT_INITIALIZE, "acl.init was called before")
        here.initialized = True


@call("acl.finalize", before_init=True)
def finalize(here: Machine) -> None:
    with here.lock:
        if here.finalized:
            raise CallError(REPEAT_FINALIZE, "acl.finalize was called before")
        if not here.initialized:
            raise CallError(100001, "acl.finalize was called before acl.init")
        if here.foreign_init:
            here.violate("finalize by one who does not own the initialization")
        here.leaks += [f"finalize: {count} {kind}" for kind, count in here.live().items()]
        here.initialized = False
        here.finalized = True


def get_recent_err_msg() -> str | None:
    """The text of the calling thread's last failure, once."""
    return machine().take_error()


@getter("acl.get_soc_name", "")
def get_soc_name(here: Machine) -> str:
    return here.soc
