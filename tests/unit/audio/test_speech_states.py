"""From probabilities to intervals of speech."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asr_core.audio.speech_states import SpeechState, SpeechTracker
from asr_core.audio.vad import WINDOW_SAMPLES
from tests.unit.audio.segments import MS, PROBABILITIES, SHORT, reference_speech, windows_of


def make_tracker(**changes) -> SpeechTracker:
    """Speech from two windows on, pauses of up to five belong to it."""
    options = {
        "threshold": 0.5,
        "neg_threshold": 0.35,
        "min_speech_samples": 64 * MS,
        "min_silence_samples": 192 * MS,
    }
    return SpeechTracker(**{**options, **changes})


def feed(tracker: SpeechTracker, probabilities) -> list[tuple[int, int]]:
    total = (tracker.windows + len(probabilities)) * WINDOW_SAMPLES
    return tracker.accept(np.array(probabilities, np.float32), total)


SILENCE, ONSET, LAPSE, SPEECH, HANGOVER = SpeechState


@pytest.mark.parametrize(
    ("probabilities", "states"),
    [
        ([0.0, 0.49, 0.1], [SILENCE] * 3),
        ([0.5, 0.36, 0.0], [ONSET, SPEECH, HANGOVER]),
        ([0.9, 0.34, 0.9], [ONSET, LAPSE, SPEECH]),
        ([0.9, 0.1, 0.4, 0.1, 0.1, 0.1, 0.1], [ONSET, *[LAPSE] * 5, SILENCE]),
        ([0.9, 0.9, 0.1, 0.4, 0.49, 0.5], [ONSET, SPEECH, HANGOVER, HANGOVER, HANGOVER, SPEECH]),
        (
            [0.9, 0.9, *[0.0] * 6, 0.4, 0.9],
            [ONSET, SPEECH, *[HANGOVER] * 5, SILENCE, SILENCE, ONSET],
        ),
    ],
)
def test_states_follow_the_windows(probabilities, states):
    tracker = make_tracker()
    seen = []
    for probability in probabilities:
        feed(tracker, [probability])
        seen.append(tracker.state)
    assert seen == states


def test_without_a_minimum_the_first_window_is_speech_and_without_a_hangover_it_ends_at_once():
    tracker = make_tracker(min_speech_samples=0, min_silence_samples=0)
    assert feed(tracker, [0.9]) == []
    assert tracker.state is SPEECH
    assert feed(tracker, [0.1, 0.9, 0.2]) == [(0, 512), (1024, 1536)]
    assert tracker.state is SILENCE


@settings(deadline=None)
@given(PROBABILITIES, st.integers(0, WINDOW_SAMPLES - 1), st.lists(st.integers(0, 400), max_size=5))
def test_intervals_are_those_of_the_definition_however_the_windows_come(
    probabilities, missing, cuts
):
    total = max(len(probabilities) * WINDOW_SAMPLES - missing, 0)
    tracker = SpeechTracker(
        threshold=SHORT.threshold,
        neg_threshold=SHORT.neg_threshold,
        min_speech_samples=SHORT.min_speech_ms * MS,
        min_silence_samples=SHORT.min_silence_ms * MS,
    )
    spans, told, first = [], [], 0
    for last in [*sorted(min(cut, len(probabilities)) for cut in cuts), len(probabilities)]:
        spans += tracker.accept(np.array(probabilities[first:last], np.float32), total)
        told.append((tracker.settled, len(spans), tracker.open_span))
        first = last
    spans += tracker.finish(total)

    assert spans == reference_speech(probabilities, total, SHORT)
    assert [settled for settled, _, _ in told] == sorted(settled for settled, _, _ in told)
    for settled, count, open_span in told:
        assert all(start >= settled for start, _ in spans[count:])
        if open_span:
            # What is open comes next, from the same start, and at least as long.
            assert open_span[0] == spans[count][0] == settled
            assert open_span[1] <= spans[count][1]


def test_speech_is_open_until_its_pause_is_long_enough():
    tracker = make_tracker()
    feed(tracker, windows_of((0.0, 320), (0.9, 32)))
    assert (tracker.open_span, tracker.settled) == (None, 320 * MS)
    feed(tracker, windows_of((0.9, 64)))
    assert (tracker.open_span, tracker.settled) == ((320 * MS, 416 * MS), 320 * MS)
    assert feed(tracker, windows_of((0.0, 160))) == []
    assert tracker.open_span == (320 * MS, 416 * MS)
    assert feed(tracker, windows_of((0.0, 32))) == [(320 * MS, 416 * MS)]
    assert (tracker.open_span, tracker.settled) == (None, 608 * MS)


def test_windows_without_a_probability_at_the_end_go_on_as_before():
    speech = make_tracker()
    feed(speech, [0.9] * 4)
    assert speech.finish(4 * WINDOW_SAMPLES + 100) == [(0, 4 * WINDOW_SAMPLES + 100)]
    onset = make_tracker()
    feed(onset, [0.9])
    assert onset.finish(2 * WINDOW_SAMPLES) == [(0, 2 * WINDOW_SAMPLES)]
    pause = make_tracker()
    feed(pause, [0.9, 0.9, 0.0])
    assert pause.finish(3 * WINDOW_SAMPLES + 100) == [(0, 2 * WINDOW_SAMPLES)]
