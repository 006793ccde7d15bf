"""Several devices that do the same work: the least loaded one is next, a lost one comes back.

What a member of the pool is (a session, a whole recognizer) is the affair of those who open it.
"""

from __future__ import annotations

import contextlib
import enum
import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from asr_core.errors import AsrError, DeviceError, DeviceLostError, SessionClosedError

logger = logging.getLogger(__name__)

_Resource = TypeVar("_Resource")
_Result = TypeVar("_Result")

PATIENCE_S = 30.0
"""How long work waits for a device while none is there."""

BACK_OFF_S = (0.5, 1.0, 2.0, 4.0)
"""Pauses between attempts to open a device again; the last one is repeated."""

_JOIN_S = 10.0
_MOST_LOSSES = 3  # a piece of work that loses this many devices is given up


class MemberState(str, enum.Enum):
    """``resting``: taken out from outside; ``lost``: it failed and is being opened again."""

    READY = "ready"
    RESTING = "resting"
    LOST = "lost"


@dataclass(frozen=True, slots=True)
class MemberStatus:
    """One device of a pool.

    Attributes:
        name: of the device.
        state: whether it takes work.
        waiting: load of the work that it has, what runs included, as :meth:`DevicePool.run`
            counts it.
        done: pieces of work that it has finished.
        losses: how often it was lost.
        reason: why it takes no work; empty while it does.
    """

    name: str
    state: MemberState
    waiting: float
    done: int
    losses: int
    reason: str


@dataclass(slots=True, eq=False)
class _Member(Generic[_Resource]):
    index: int
    name: str
    resource: _Resource | None = None
    turn: threading.Lock = field(default_factory=threading.Lock)
    waiting: float = 0.0
    given: float = 0.0
    done: int = 0
    losses: int = 0
    resting: str = ""
    lost: str = ""

    @property
    def ready(self) -> bool:
        return self.resource is not None and not self.resting and not self.lost


class DevicePool(Generic[_Resource]):
    """Work for whichever device has least to do; each does one piece at a time.

    Args:
        names: of the devices.
        open_member: makes what works on the device of that place; called again after a loss.
        close_member: gives it back; errors of a lost device are expected.
        patience_s: how long work waits while no device is ready.
        back_off_s: pauses between attempts to open a lost device.

    A device that is lost while it is opened at the start counts as lost, as long as another one can
    be opened.

    Raises:
        AsrError: a device cannot be opened at the start for another reason, or none can; all are
            closed, as they are after any other fault.
    """

    def __init__(
        self,
        names: Sequence[str],
        open_member: Callable[[int], _Resource],
        close_member: Callable[[_Resource], None],
        *,
        patience_s: float = PATIENCE_S,
        back_off_s: Sequence[float] = BACK_OFF_S,
    ) -> None:
        self._open, self._close = open_member, close_member
        self._patience_s = patience_s
        self._back_off_s = tuple(back_off_s)
        self._changed = threading.Condition()
        self._closing = threading.Event()
        self._threads: list[threading.Thread] = []
        self._members = [_Member[_Resource](index, name) for index, name in enumerate(names)]
        losses: list[AsrError] = []
        for member in self._members:
            try:
                member.resource = open_member(member.index)
            except AsrError as exc:
                losses.append(exc)
                member.lost = str(exc)
                if loss_in(exc) is None or len(losses) == len(self._members):
                    self.close()
                    raise
            except BaseException:
                self.close()
                raise
        for member in self._members:
            if member.lost:
                logger.error("device not opened device=%s error=%s", member.name, member.lost)
                self._begin_rebuild(member)

    def status(self) -> tuple[MemberStatus, ...]:
        """Every device, in order."""
        with self._changed:
            return tuple(_status(member) for member in self._members)

    def run(self, work: Callable[[_Resource], _Result], *, load: float = 1.0) -> _Result:
        """Do something on a device and wait for it.

        Where the device is lost meanwhile the work is done again, from the start, on another one.

        Args:
            work: gets what was opened; called from this thread.
            load: how much it is, for instance seconds of audio.

        Raises:
            DeviceLostError: no device came back in time, or the work lost several of them.
            SessionClosedError: the pool is closed.
        """
        losses = 0
        while True:
            with self._lent(load) as member:
                with member.turn:
                    resource = member.resource
                    if resource is None or not member.ready:
                        # It was lost, or is to rest, since this work began to wait for its turn.
                        self._take_back(member, load)
                        continue
                    try:
                        result = work(resource)
                    except AsrError as exc:
                        lost = loss_in(exc)
                        if lost is None:
                            raise
                        losses += 1
                        self._take_back(member, load)
                        self._lose(member, lost)
                        if losses >= _MOST_LOSSES:
                            raise
                        continue
                with self._changed:
                    member.done += 1
                return result

    def rest(self, index: int, reason: str) -> None:
        """Give a device no more work, for instance while it is too hot.

        Args:
            index: of the device.
            reason: what the status says.
        """
        with self._changed:
            if not self._members[index].resting:
                logger.warning("device rests device=%s", self._members[index].name)
            self._members[index].resting = reason

    def resume(self, index: int) -> None:
        """Give a device work again."""
        with self._changed:
            self._members[index].resting = ""
            self._changed.notify_all()

    def close(self) -> None:
        """Wait for the running work, refuse the rest, close all devices."""
        with self._changed:
            self._closing.set()
            self._changed.notify_all()
            threads = list(self._threads)
        for thread in threads:
            # A device that does not answer is not waited for: what it gives, the thread closes.
            thread.join(_JOIN_S)
        for member in reversed(self._members):
            with member.turn:
                resource, member.resource = member.resource, None
                if resource is not None:
                    self._give_back(member, resource)

    @contextlib.contextmanager
    def _lent(self, load: float) -> Iterator[_Member[_Resource]]:
        """The ready device with least to do; of equal ones that which was given least so far."""
        with self._changed:
            member = self._next()
            member.waiting += load
            member.given += load
        try:
            yield member
        finally:
            with self._changed:
                member.waiting -= load

    def _take_back(self, member: _Member[_Resource], load: float) -> None:
        """Work that was lost with a device is not counted as given to it."""
        with self._changed:
            member.given -= load

    def _next(self) -> _Member[_Resource]:
        deadline = time.monotonic() + self._patience_s
        while True:
            if self._closing.is_set():
                raise SessionClosedError("The devices are closed")
            ready = [member for member in self._members if member.ready]
            if ready:
                return min(ready, key=lambda one: (one.waiting, one.given, one.index))
            remaining = deadline - time.monotonic()
            if remaining <= 0:
                raise self._nobody()
            self._changed.wait(remaining)

    def _nobody(self) -> DeviceLostError:
        named = "; ".join(f"{one.name}: {one.lost or one.resting}" for one in self._members)
        return DeviceLostError(
            f"No device is ready after {self._patience_s:g} s ({named})",
            device=", ".join(member.name for member in self._members),
            reason="none",
            seconds=round(self._patience_s),
            text=named,
        )

    def _lose(self, member: _Member[_Resource], lost: DeviceLostError) -> None:
        """Take a device out and open it again in the background."""
        with self._changed:
            if member.lost:
                return
            member.lost = str(lost)
            member.losses += 1
            logger.error("device taken out device=%s error=%s", member.name, lost)
        self._begin_rebuild(member)

    def _begin_rebuild(self, member: _Member[_Resource]) -> None:
        thread = threading.Thread(
            target=self._rebuild, args=(member,), name=f"rebuild {member.name}", daemon=True
        )
        with self._changed:
            self._threads.append(thread)
            thread.start()

    def _rebuild(self, member: _Member[_Resource]) -> None:
        with member.turn:
            resource, member.resource = member.resource, None
        if resource is not None:
            self._give_back(member, resource)
        attempt = 0
        while not self._closing.is_set():
            try:
                resource = self._open(member.index)
            except Exception as exc:
                if isinstance(exc, AsrError):
                    logger.warning("device not back device=%s error=%s", member.name, exc)
                else:
                    # It would stay away for good, and nobody would know why.
                    logger.exception("device not back device=%s", member.name)
                with self._changed:
                    member.lost = str(exc)
                pause = self._back_off_s[min(attempt, len(self._back_off_s) - 1)]
                attempt += 1
                self._closing.wait(pause)
                continue
            with self._changed:
                closed = self._closing.is_set()
                if not closed:
                    member.resource, member.lost = resource, ""
                self._changed.notify_all()
            if closed:
                self._give_back(member, resource)
                break
            logger.info("device is back device=%s attempts=%d", member.name, attempt + 1)
            break
        with self._changed:
            self._threads.remove(threading.current_thread())

    def _give_back(self, member: _Member[_Resource], resource: _Resource) -> None:
        try:
            self._close(resource)
        except DeviceError as exc:
            logger.warning("device not closed device=%s error=%s", member.name, exc)


def loss_in(error: BaseException | None) -> DeviceLostError | None:
    """The lost device behind an error, which a recognizer may have put into its own words."""
    while error is not None:
        if isinstance(error, DeviceLostError):
            return error
        error = error.__cause__
    return None


def _status(member: _Member[_Resource]) -> MemberStatus:
    if member.lost or member.resource is None:
        state = MemberState.LOST
    else:
        state = MemberState.RESTING if member.resting else MemberState.READY
    reason = member.lost or member.resting
    return MemberStatus(member.name, state, member.waiting, member.done, member.losses, reason)
