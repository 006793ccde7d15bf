"""The owner of a recognizer when it cannot be loaded: what is told, and what is logged."""

from __future__ import annotations

import pytest

from asr_core.errors import InternalError, ModelError
from asr_core.recognizers.base import Recognizer
from asr_core.transcription.scheduler import RecognizerWorker, WorkerState


def broken() -> Recognizer:
    raise ModelError("it cannot be loaded", name="m", reason="storage")


def surprised() -> Recognizer:
    raise LookupError("nobody foresaw this")


def test_a_fault_that_nobody_foresaw_is_told_by_an_id_that_the_log_has(
    caplog: pytest.LogCaptureFixture,
) -> None:
    worker = RecognizerWorker(surprised)
    with pytest.raises(InternalError, match="LookupError") as caught:
        worker.ready()
    assert worker.state is WorkerState.UNAVAILABLE
    assert worker.error is caught.value
    (record,) = caplog.records
    assert str(caught.value.details["error_id"]) in record.getMessage()
    assert record.exc_info is not None
    assert str(record.exc_info[1]) == "nobody foresaw this"
    worker.close()


def test_a_fault_that_nobody_waits_for_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    worker = RecognizerWorker(broken)
    loading = worker.preload()
    assert isinstance(loading.exception(), ModelError)
    worker.close()
    assert [record.getMessage() for record in caplog.records] == [
        "recognizer not loaded error=it cannot be loaded"
    ]
    assert worker.error is loading.exception()


def test_a_fault_that_a_caller_is_told_is_not_logged_too(caplog: pytest.LogCaptureFixture) -> None:
    worker = RecognizerWorker(broken)
    with pytest.raises(ModelError):
        worker.ready()
    worker.close()
    assert caplog.records == []
