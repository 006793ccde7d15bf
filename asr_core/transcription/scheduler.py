"""The one thread that owns a recognizer: it loads, runs and unloads it; others wait."""

from __future__ import annotations

import enum
import logging
import queue
import threading
import time
import uuid
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass

from asr_core.audio.segmenter import Segment
from asr_core.errors import AsrError, InternalError, SessionClosedError
from asr_core.recognizers.base import RecognizeOptions, Recognizer
from asr_core.results import ModelInfo, Utterance
from asr_core.transcription.tally import Tally

logger = logging.getLogger(__name__)


class WorkerState(str, enum.Enum):
    """``idle`` until first used, ``unavailable`` when loading failed (and is tried again)."""

    IDLE = "idle"
    LOADING = "loading"
    READY = "ready"
    BUSY = "busy"
    UNAVAILABLE = "unavailable"


@dataclass(frozen=True, slots=True)
class _Task:
    call: Callable[[Recognizer], list[Utterance] | None]
    result: Future[list[Utterance] | None]


class RecognizerWorker:
    """Runs groups of segments one after the other on the thread that loaded the recognizer.

    Groups of several recordings take turns in the order in which they are sent, so a short
    dictation waits for one group of a long recording and not for all of it.

    Args:
        load: makes the recognizer; called on the owner thread at the first use.
        turn: held while a group is recognized; workers that share it take turns.
        tally: where what was recognized is entered.
    """

    def __init__(
        self,
        load: Callable[[], Recognizer],
        *,
        turn: threading.Lock | None = None,
        tally: Tally | None = None,
    ) -> None:
        self._load = load
        self._turn = turn or threading.Lock()
        self._tally = tally or Tally()
        self._tasks: queue.Queue[_Task | None] = queue.Queue()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._closed = False
        self._recognizer: Recognizer | None = None
        self._state = WorkerState.IDLE
        self._error: AsrError | None = None

    @property
    def state(self) -> WorkerState:
        return self._state

    @property
    def error(self) -> AsrError | None:
        """Why loading failed last time."""
        return self._error

    @property
    def info(self) -> ModelInfo | None:
        """The loaded recognizer's own account of itself; ``None`` while none is loaded."""
        recognizer = self._recognizer
        return recognizer.info if recognizer else None

    def ready(self) -> Recognizer:
        """Wait until the recognizer is loaded, to read its properties.

        Raises:
            ModelError, DeviceError: it cannot be loaded.
            SessionClosedError: the worker is closed.
        """
        self._send(lambda _recognizer: None).result()
        recognizer = self._recognizer
        if recognizer is None:
            raise SessionClosedError("The recognizer is closed")
        return recognizer

    def preload(self) -> Future[list[Utterance] | None]:
        """Begin to load without waiting. The result comes, or the fault, once that is done.

        A fault is logged: it may be that nobody asks for the result.
        """
        loading = self._send(lambda _recognizer: None)
        loading.add_done_callback(_log_fault)
        return loading

    def recognize(self, segments: Sequence[Segment], options: RecognizeOptions) -> list[Utterance]:
        """Recognize a group of segments; waits for its turn.

        Raises:
            ModelError, DeviceError, RecognitionError: from the recognizer.
            SessionClosedError: the worker is closed.
        """

        def in_turn(recognizer: Recognizer) -> list[Utterance]:
            with self._turn:
                started_s = time.monotonic()
                try:
                    utterances = recognizer.recognize(segments, options)
                except SessionClosedError:
                    raise
                except Exception:
                    self._tally.add_failure(recognizer.info)
                    raise
                seconds = time.monotonic() - started_s
                self._tally.add(recognizer.info, segments, utterances, seconds)
                return utterances

        return self._send(in_turn).result() or []

    def close(self) -> None:
        """Finish the running group, refuse the waiting ones, unload."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            self._tasks.put(None)
            thread = self._thread
        if thread is not None:
            thread.join()

    def _send(
        self, call: Callable[[Recognizer], list[Utterance] | None]
    ) -> Future[list[Utterance] | None]:
        task = _Task(call, Future())
        with self._lock:
            if self._closed:
                raise SessionClosedError("The recognizer is closed")
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="recognizer", daemon=True)
                self._thread.start()
            self._tasks.put(task)
        return task.result

    def _run(self) -> None:
        while (task := self._tasks.get()) is not None:
            if self._closed:
                task.result.set_exception(SessionClosedError("The recognizer is closed"))
                continue
            try:
                recognizer = self._recognizer or self._open()
                self._state = WorkerState.BUSY
                result = task.call(recognizer)
            except BaseException as exc:  # noqa: BLE001 - handed to the waiting caller
                self._settle()
                task.result.set_exception(exc)
            else:
                self._settle()
                task.result.set_result(result)
        if self._recognizer is not None:
            self._recognizer.close()
            self._recognizer = None

    def _settle(self) -> None:
        """The state between tasks; set before the caller wakes and may ask for it."""
        loaded = self._recognizer is not None
        self._state = WorkerState.READY if loaded else WorkerState.UNAVAILABLE

    def _open(self) -> Recognizer:
        self._state = WorkerState.LOADING
        try:
            self._recognizer = self._load()
        except AsrError as exc:
            self._error = exc
            raise
        except Exception as exc:
            error_id = uuid.uuid4().hex[:8]
            logger.exception("recognizer not loaded error_id=%s", error_id)
            self._error = InternalError(f"unexpected {type(exc).__name__}", error_id=error_id)
            raise self._error from exc
        self._error = None
        info = self._recognizer.info
        logger.info(
            "recognizer loaded name=%s backend=%s device=%s", info.name, info.backend, info.device
        )
        return self._recognizer


def _log_fault(loading: Future[list[Utterance] | None]) -> None:
    error = loading.exception()
    # The others are logged where they arise, and a close is none.
    if isinstance(error, AsrError) and not isinstance(error, (InternalError, SessionClosedError)):
        logger.error("recognizer not loaded error=%s", error)
