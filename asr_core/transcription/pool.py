"""Recognizers of several models, each with its owner thread, and how many are loaded at a time.

Owns which of them is unloaded when another one needs the room. Knows nothing of how a model is
found.
"""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from asr_core.errors import SessionClosedError
from asr_core.recognizers.base import Recognizer
from asr_core.results import ModelInfo
from asr_core.runtime.memory import give_back_memory
from asr_core.transcription.cancel import CancelToken
from asr_core.transcription.scheduler import RecognizerWorker, WorkerState
from asr_core.transcription.tally import Tally

logger = logging.getLogger(__name__)

_LOOK_S = 0.2  # between two looks at a cancel token while waiting for room


@dataclass(slots=True)
class _Place:
    """One model; changed only under the pool's lock."""

    worker: RecognizerWorker
    users: int = 0
    dropped: bool = False  # serves those who have it, and nobody else

    @property
    def takes_room(self) -> bool:
        return self.users > 0 or self.worker.info is not None


class RecognizerPool:
    """One worker a model, loaded at its first use; usable from any thread.

    A model that is in use is never unloaded. Groups of segments take turns, whatever model they
    are for, so that the CPU works for one at a time.

    Args:
        load: makes the recognizer of a model; called on that model's owner thread.
        most: models that are loaded at a time.

    Attributes:
        tally: what was recognized.
    """

    def __init__(self, load: Callable[[str], Recognizer], most: int) -> None:
        self._load = load
        self._most = most
        self.tally = Tally()
        self._turn = threading.Lock()
        self._changed = threading.Condition()
        self._places: OrderedDict[str, _Place] = OrderedDict()  # least recently used first
        self._closed = False

    @contextmanager
    def lease(self, name: str, cancel: CancelToken | None = None) -> Iterator[RecognizerWorker]:
        """The worker of a model, for as long as one recording needs it.

        Waits while as many models as may be loaded are all in use, and while somebody still uses
        the model as it was before it was dropped.

        Args:
            name: of the model; it is loaded when the worker is first used.
            cancel: ends the waiting.

        Raises:
            TranscriptionCancelled: while it waited.
            SessionClosedError: the pool is closed.
        """
        place = self._enter(name, cancel)
        try:
            yield place.worker
        finally:
            self._leave(place)
            give_back_memory()

    def preload(self, name: str) -> None:
        """Begin to load a model without waiting, unless there is no room for it."""
        with self._changed:
            if self._closed or not self._make_room(name):
                return
            place = self._take(name)
            place.worker.preload().add_done_callback(lambda _done: self._leave(place))

    def worker(self, name: str) -> RecognizerWorker | None:
        """The worker of a model, to read its state.

        ``None`` before its first use, and from when it is dropped to its next use.
        """
        with self._changed:
            place = self._places.get(name)
        return place.worker if place and not place.dropped else None

    @property
    def loaded(self) -> dict[str, ModelInfo]:
        """What the recognizers that are loaded say of themselves, by the names of their models."""
        with self._changed:
            infos = {name: place.worker.info for name, place in self._places.items()}
        return {name: info for name, info in infos.items() if info is not None}

    @property
    def is_busy(self) -> bool:
        """Whether any recognizer is at work."""
        with self._changed:
            return any(p.worker.state is WorkerState.BUSY for p in self._places.values())

    def drop(self, name: str) -> None:
        """Forget a model: whoever leases it from now on has it loaded anew.

        It is unloaded at once where nobody uses it, else when room is made for the next lease.
        """
        with self._changed:
            place = self._places.get(name)
            if place is not None:
                place.dropped = True
                self._unload_dropped()

    def close(self) -> None:
        """Finish what runs, refuse what waits, unload everything."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
            places = list(self._places.values())
        # Not under the lock: a preloaded model leaves through it.
        for place in places:
            place.worker.close()

    def _enter(self, name: str, cancel: CancelToken | None) -> _Place:
        with self._changed:
            while not self._closed and not self._make_room(name):
                if cancel is not None:
                    cancel.raise_if_cancelled()
                self._changed.wait(_LOOK_S)
            if self._closed:
                raise SessionClosedError("The recognizers are closed")
            return self._take(name)

    def _take(self, name: str) -> _Place:
        if name not in self._places:
            worker = RecognizerWorker(lambda: self._load(name), turn=self._turn, tally=self.tally)
            self._places[name] = _Place(worker)
        self._places.move_to_end(name)
        self._places[name].users += 1
        return self._places[name]

    def _leave(self, place: _Place) -> None:
        with self._changed:
            place.users -= 1
            self._changed.notify_all()

    def _make_room(self, name: str) -> bool:
        """Whether a model is loaded or may be; unloads the one that was least recently used."""
        self._unload_dropped()
        if name in self._places and self._places[name].dropped:
            return False
        others = [key for key, place in self._places.items() if key != name and place.takes_room]
        if len(others) < self._most:
            return True
        unused = next((key for key in others if not self._places[key].users), None)
        if unused is None:
            return False
        self._unload(unused)
        return True

    def _unload_dropped(self) -> None:
        """Unload what was dropped and is not in use.

        Not when it is left: a preloaded model is left on its owner thread, which cannot wait for
        its own end.
        """
        unused = [key for key, place in self._places.items() if place.dropped and not place.users]
        for key in unused:
            self._unload(key)

    def _unload(self, name: str) -> None:
        self._places.pop(name).worker.close()
        logger.info("recognizer unloaded name=%s", name)
