"""pyACL as this engine calls it: imported when needed, every fault a typed error."""

from __future__ import annotations

import importlib
import logging
import re
import threading
from typing import Any

from asr_core.errors import (
    DeviceError,
    DeviceLostError,
    DeviceMemoryError,
    DeviceMismatchError,
    DeviceUnavailableError,
    UsageError,
)
from asr_core.runtime.ascend_codes import REPEAT_INITIALIZE, Kind, kind_of, name_of

logger = logging.getLogger(__name__)

ON_DEVICE = 0
"""Run mode of a process on the device's own processor: host and device share one memory."""

_FUNCTION_PARTS = 3  # acl.rt.malloc
_NEEDED = ("init", "rt", "mdl")
_SOC = re.compile(r"socVersion=(\w+)")
_UNKNOWN = "?"

_CLASSES: dict[Kind, type[DeviceError]] = {
    Kind.MEMORY: DeviceMemoryError,
    Kind.LOST: DeviceLostError,
    Kind.ENVIRONMENT: DeviceUnavailableError,
    Kind.MISMATCH: DeviceMismatchError,
}


class Acl:
    """The functions of ``acl``, by name, for one device.

    Every function whose last result is a return code raises when it is not 0.

    Args:
        module: the ``acl`` package.
        device: how messages name the device.
    """

    def __init__(self, module: Any, device: str) -> None:
        self._module = module
        self.device = device
        self._functions: dict[str, Any] = {}

    def has(self, name: str) -> bool:
        """Older versions lack some functions."""
        return self._find(name) is not None

    def get(self, name: str, *arguments: Any) -> Any:
        """Call a function that returns a bare value."""
        return self._function(name)(*arguments)

    def do(self, name: str, *arguments: Any) -> None:
        """Call a function that returns a return code, nothing, or values and the code.

        Raises:
            DeviceError: the code is not 0.
        """
        result = self._function(name)(*arguments)
        number = result[-1] if isinstance(result, tuple) else result
        self.check(number or 0, name)

    def ask(self, name: str, *arguments: Any) -> Any:
        """Call a function that returns a value and a return code.

        Returns:
            The value; a tuple where there are several.

        Raises:
            DeviceError: the code is not 0.
        """
        *values, number = self._function(name)(*arguments)
        self.check(number, name)
        return values[0] if len(values) == 1 else tuple(values)

    def make(self, name: str, *arguments: Any) -> int:
        """Call a function that returns a handle, where 0 means that it failed.

        Raises:
            DeviceError: there is no handle.
        """
        handle = int(self._function(name)(*arguments))
        if handle == 0:
            raise self.error(200000, name)
        return handle

    def check(self, number: int, call: str) -> None:
        """Raise what a return code means; 0 means success.

        Raises:
            DeviceError: with ``device``, ``call``, ``number``, ``name``, ``text``, ``reason``.
        """
        if number != 0:
            raise self.error(number, call)

    def error(self, number: int, call: str) -> DeviceError:
        """The typed error of a return code; takes the error text of this thread."""
        return device_error(self.device, number, call, self._text())

    def _text(self) -> str:
        recent = getattr(self._module, "get_recent_err_msg", None)
        message = recent() if recent is not None else ""
        return " ".join(str(message).split()) if message else ""

    def _function(self, name: str) -> Any:
        function = self._functions.get(name) or self._find(name)
        if function is None:
            raise DeviceError(
                f"This version of pyACL has no {name}; update CANN",
                device=self.device,
                call=name,
                number=0,
                name="",
                text="",
                reason=Kind.UNSUPPORTED.value,
            )
        self._functions[name] = function
        return function

    def _find(self, name: str) -> Any:
        parts = name.split(".")
        holder = self._module
        if len(parts) == _FUNCTION_PARTS:
            holder = getattr(self._module, parts[1], None)
        return getattr(holder, parts[-1], None)


def device_error(device: str, number: int, call: str, text: str) -> DeviceError:
    """The typed error of a return code.

    Args:
        device: how messages name it.
        number: the code.
        call: the function that returned it.
        text: what the runtime said.
    """
    kind, name = kind_of(number, text), name_of(number)
    says = f"{device}: {call} gave {number} ({name}): {text}" if text else ""
    message = says or f"{device}: {call} gave {number} ({name})"
    details: dict[str, object] = {
        "device": device,
        "call": call,
        "number": number,
        "name": name,
        "text": text,
        "reason": kind.value,
    }
    if kind is Kind.MISMATCH:
        found = [*_SOC.findall(text), _UNKNOWN, _UNKNOWN]
        details |= {"reason": "soc", "path": _UNKNOWN, "soc": found[0], "model_soc": found[1]}
        details |= {"cann": _UNKNOWN, "model_cann": _UNKNOWN}
    return _CLASSES.get(kind, DeviceError)(message, **details)


class AclRuntime:
    """pyACL of this process: initialized at the first use, ended once.

    ``acl`` cannot be initialized again after its end, so the last device that is closed does not
    end it; the program does, with :meth:`shut_down`. Whoever initialized it ends it: where another
    library came first, nothing is ended.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._module: Any = None
        self._owner = False
        self._finished = False
        self._users = 0

    @property
    def users(self) -> int:
        """Devices that are open."""
        return self._users

    def acquire(self, device: str) -> Acl:
        """Functions of ``acl`` for one more device.

        Args:
            device: how messages name it.

        Raises:
            DeviceUnavailableError: pyACL is not there, cannot be loaded or was ended.
            DeviceError: it cannot be initialized.
        """
        with self._lock:
            if self._finished:
                raise DeviceUnavailableError(
                    f"{device}: pyACL was shut down in this process; start the program again",
                    device=device,
                    reason="finished",
                )
            if self._module is None:
                module = load_acl(device)
                number = module.init()
                if number != REPEAT_INITIALIZE:
                    Acl(module, device).check(number, "acl.init")
                self._owner = number == 0
                self._module = module
                logger.info("acl initialized owner=%s", self._owner)
            self._users += 1
            return Acl(self._module, device)

    def count(self) -> int:
        """Devices of this machine, of those that the environment lets this process see.

        Raises:
            DeviceUnavailableError, DeviceError: as :meth:`acquire`.
        """
        acl = self.acquire("npu")
        try:
            return int(acl.ask("acl.rt.get_device_count"))
        finally:
            self.release()

    def release(self) -> None:
        """One device less."""
        with self._lock:
            self._users -= 1

    def shut_down(self) -> None:
        """End ``acl`` if it was initialized here; the process cannot use it again.

        Raises:
            UsageError: a device is still open.
        """
        with self._lock:
            if self._users:
                raise UsageError(f"{self._users} devices are still open")
            module, self._module = self._module, None
            if module is None or not self._owner:
                return
            self._finished = True
            number = module.finalize()
            if number != 0:
                logger.warning("acl.finalize failed number=%d name=%s", number, name_of(number))


def load_acl(device: str) -> Any:
    """The ``acl`` package.

    Raises:
        DeviceUnavailableError: it is not installed, one of its libraries is missing, or another
            package has its name (``other_acl``).
    """
    try:
        module = importlib.import_module("acl")
    except ModuleNotFoundError as exc:
        raise DeviceUnavailableError(
            f"{device}: pyACL is not installed; it comes with CANN (set_env.sh)",
            device=device,
            reason="no_acl",
        ) from exc
    except (ImportError, OSError) as exc:
        raise DeviceUnavailableError(
            f"{device}: pyACL cannot be loaded: {exc}",
            device=device,
            reason="acl_broken",
            text=str(exc),
        ) from exc
    if not all(hasattr(module, name) for name in _NEEDED):
        found = getattr(module, "__file__", None) or "?"
        raise DeviceUnavailableError(
            f"{device}: {found} is another package of that name, not pyACL; pip uninstall acl",
            device=device,
            reason="other_acl",
            path=found,
        )
    return module


ACL = AclRuntime()
"""The runtime of this process."""


def end_acl() -> None:
    """End pyACL together with the program; a second call does nothing."""
    if ACL.users:
        # A device that hangs does not let go; its driver takes it back from the process.
        logger.warning("acl is not finalized: %d devices are still open", ACL.users)
        return
    ACL.shut_down()
