"""Several recognizers: loaded when needed, unloaded when others need the room."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence

import pytest

from asr_core.audio.segmenter import Segment
from asr_core.errors import ModelError, SessionClosedError, TranscriptionCancelled
from asr_core.recognizers.base import RecognizeOptions
from asr_core.results import ModelInfo, TranscriptWarning, Utterance
from asr_core.transcription.cancel import CancelToken
from asr_core.transcription.pool import RecognizerPool
from asr_core.transcription.scheduler import WorkerState
from tests.waiting import wait_until


class Spy:
    """What is loaded, and a recognizer that a test can hold.

    Attributes:
        events: loading and unloading, in order.
        loaded: models in memory now.
        working: recognizers that work at this moment, and the most there were.
    """

    def __init__(self) -> None:
        self.events: list[str] = []
        self.loaded: set[str] = set()
        self.most = 0
        self.working = 0
        self.most_working = 0
        self.entered = threading.Event()
        self.release = threading.Event()
        self.release.set()
        self.broken = {"broken"}

    def load(self, name: str) -> Fake:
        if name in self.broken:
            raise ModelError(f"{name} cannot be loaded", name=name, reason="storage")
        self.events.append(f"+{name}")
        self.loaded.add(name)
        self.most = max(self.most, len(self.loaded))
        return Fake(self, name)


class Fake:
    def __init__(self, spy: Spy, name: str) -> None:
        self._spy = spy
        self._name = name

    language = "zh"
    supports_hotwords = False
    group_passes = 1

    @property
    def info(self) -> ModelInfo:
        return ModelInfo(self._name, "fake", "cpu")

    def passes(self, segments: Sequence[Segment]) -> int:
        return len(segments)

    def hotword_warnings(self, words: Sequence[str]) -> tuple[TranscriptWarning, ...]:
        return ()

    def recognize(self, segments: Sequence[Segment], options: RecognizeOptions) -> list[Utterance]:
        spy = self._spy
        spy.working += 1
        spy.most_working = max(spy.most_working, spy.working)
        spy.entered.set()
        spy.release.wait(20)
        spy.working -= 1
        return []

    def close(self) -> None:
        self._spy.events.append(f"-{self._name}")
        self._spy.loaded.discard(self._name)


@pytest.fixture
def spy() -> Spy:
    return Spy()


@pytest.fixture
def pool(spy: Spy) -> Iterator[RecognizerPool]:
    pool = RecognizerPool(spy.load, most=2)
    yield pool
    spy.release.set()
    pool.close()


def use(pool: RecognizerPool, *names: str) -> None:
    for name in names:
        with pool.lease(name) as worker:
            assert worker.ready().info.name == name


def test_the_least_recently_used_model_makes_room(pool: RecognizerPool, spy: Spy) -> None:
    use(pool, "a", "b", "a", "c", "a", "b")
    assert spy.events == ["+a", "+b", "-b", "+c", "-c", "+b"]
    assert (spy.loaded, spy.most) == ({"a", "b"}, 2)


def test_a_model_in_use_is_never_unloaded(pool: RecognizerPool, spy: Spy) -> None:
    with pool.lease("a") as worker:
        worker.ready()
        use(pool, "b", "c", "d")
        assert "a" in spy.loaded
    assert spy.events == ["+a", "+b", "-b", "+c", "-c", "+d"]


def test_who_finds_no_room_waits_until_one_is_through(pool: RecognizerPool, spy: Spy) -> None:
    waiter = threading.Thread(target=use, args=(pool, "c"))
    with pool.lease("a") as first, pool.lease("b") as second:
        first.ready()
        second.ready()
        waiter.start()
        with pool.lease("a") as again:
            again.ready()
        assert "c" not in spy.loaded
    waiter.join(20)
    assert not waiter.is_alive()
    assert (spy.events[-1], spy.most) == ("+c", 2)


def test_waiting_for_room_ends_when_the_job_is_cancelled(pool: RecognizerPool) -> None:
    cancel = CancelToken()
    cancel.cancel()
    with (
        pool.lease("a"),
        pool.lease("b"),
        pytest.raises(TranscriptionCancelled),
        pool.lease("c", cancel),
    ):
        pass


def test_a_model_that_fails_leaves_the_others_alone(pool: RecognizerPool, spy: Spy) -> None:
    with pool.lease("a") as good:
        good.ready()
        with pool.lease("broken") as bad:
            with pytest.raises(ModelError) as caught:
                bad.ready()
            assert caught.value.details["name"] == "broken"
            assert bad.state is WorkerState.UNAVAILABLE
        assert good.ready().info.name == "a"
    use(pool, "b")
    # What is not loaded takes no room.
    assert spy.events == ["+a", "+b"]
    spy.broken.clear()
    use(pool, "broken")
    assert spy.events == ["+a", "+b", "-a", "+broken"]


def test_models_take_turns_at_the_processor(pool: RecognizerPool, spy: Spy) -> None:
    spy.release.clear()

    def recognize(name: str) -> None:
        with pool.lease(name) as worker:
            worker.recognize([], RecognizeOptions())

    threads = [threading.Thread(target=recognize, args=(name,)) for name in ("a", "b")]
    for thread in threads:
        thread.start()
    assert spy.entered.wait(20)
    wait_until(lambda: spy.loaded == {"a", "b"})
    assert pool.is_busy
    spy.release.set()
    for thread in threads:
        thread.join(20)
    assert spy.most_working == 1


def test_a_preloaded_model_is_there_and_makes_room(pool: RecognizerPool, spy: Spy) -> None:
    pool.preload("a")
    wait_until(lambda: spy.loaded == {"a"})
    wait_until(lambda: pool.drop("a") or spy.events == ["+a", "-a"])
    pool.preload("broken")
    wait_until(lambda: pool.drop("broken") or pool.worker("broken") is None)
    assert spy.events == ["+a", "-a"]


def test_nothing_is_preloaded_over_models_in_use(pool: RecognizerPool, spy: Spy) -> None:
    with pool.lease("a") as first, pool.lease("b") as second:
        first.ready()
        second.ready()
        pool.preload("c")
        assert pool.worker("c") is None
    assert spy.loaded == {"a", "b"}


def test_a_dropped_model_is_unloaded_unless_it_is_used(pool: RecognizerPool, spy: Spy) -> None:
    use(pool, "a")
    pool.drop("a")
    assert (spy.events, pool.worker("a")) == (["+a", "-a"], None)
    with pool.lease("b") as worker:
        worker.ready()
        pool.drop("b")
        assert spy.loaded == {"b"}


def test_a_model_that_was_dropped_in_use_is_loaded_anew(pool: RecognizerPool, spy: Spy) -> None:
    with pool.lease("a") as worker:
        worker.ready()
        pool.drop("a")
        assert pool.worker("a") is None
        assert worker.ready().info.name == "a"
    use(pool, "a")
    assert spy.events == ["+a", "-a", "+a"]


def test_what_was_dropped_in_use_goes_with_the_next_lease(pool: RecognizerPool, spy: Spy) -> None:
    with pool.lease("a") as worker:
        worker.ready()
        pool.drop("a")
        use(pool, "b")
        assert spy.events == ["+a", "+b"]
    use(pool, "b")
    assert spy.events == ["+a", "+b", "-a"]


def test_who_wants_a_dropped_model_waits_for_those_who_use_it(
    pool: RecognizerPool, spy: Spy
) -> None:
    cancel = CancelToken()
    cancel.cancel()
    waiter = threading.Thread(target=use, args=(pool, "a"))
    with pool.lease("a") as worker:
        worker.ready()
        pool.drop("a")
        pool.preload("a")
        with pytest.raises(TranscriptionCancelled), pool.lease("a", cancel):
            pass
        waiter.start()
        assert spy.events == ["+a"]
    waiter.join(20)
    assert not waiter.is_alive()
    assert (spy.events, spy.most) == (["+a", "-a", "+a"], 1)


def test_closing_unloads_everything_and_refuses(pool: RecognizerPool, spy: Spy) -> None:
    use(pool, "a", "b")
    pool.close()
    assert spy.loaded == set()
    with pytest.raises(SessionClosedError), pool.lease("a"):
        pass
