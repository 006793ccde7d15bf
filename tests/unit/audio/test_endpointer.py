"""Endpoints: exact frames of made-up voices, and rules that hold for any."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asr_core.audio.endpointer import Endpointer, EndpointOptions
from asr_core.errors import UsageError

SHORT = EndpointOptions(
    window=4, onset=3, offset=1, lookback=6, end_silence=5, end_lookback=3, max_utterance=20
)

runs = st.lists(st.tuples(st.booleans(), st.integers(1, 140)), max_size=40)


def frames_of(*lengths: int) -> np.ndarray:
    """Voiceless and voiced frames in turn, the voiceless ones first."""
    return np.concatenate(
        [np.full(length, bool(place % 2)) for place, length in enumerate(lengths)]
    )


def detect(voiced: np.ndarray, options: EndpointOptions, cuts=()) -> list[tuple[int, int]]:
    endpointer = Endpointer(options)
    pieces = np.split(voiced, sorted(min(cut, len(voiced)) for cut in cuts))
    found = [utterance for piece in pieces for utterance in endpointer.accept(piece)]
    return found + endpointer.finish()


@pytest.mark.parametrize(
    ("lengths", "utterances"),
    [
        ((0,), []),
        ((300,), []),
        ((100, 14, 100), []),
        # The onset is noticed at frame 114 and lies 40 frames before; the window falls silent at
        # frame 204, five frames after the voice; 65 frames later the end is 54 frames back.
        ((100, 100, 300), [(74, 216)]),
        ((0, 100, 300), [(0, 116)]),
        ((10, 100), [(0, 110)]),
        # The second onset is noticed at frame 269, right in time, or one frame too late.
        ((100, 100, 55, 100, 300), [(74, 371)]),
        ((100, 100, 56, 100, 300), [(74, 216), (244, 372)]),
        # The recording ends inside the silence that would have ended the utterance.
        ((100, 100, 69), [(74, 269)]),
    ],
)
def test_the_ends_of_utterances(lengths, utterances):
    assert detect(frames_of(*lengths), EndpointOptions()) == utterances


def test_long_speech_is_cut_at_a_minute_and_goes_on_right_there():
    utterances = detect(np.ones(15_000, bool), EndpointOptions())
    assert utterances == [(0, 6_001), (6_001, 12_002), (12_002, 15_000)]


def test_an_utterance_never_reaches_into_the_one_before():
    # The second onset is noticed at frame 25, and its lookback would begin at frame 19.
    assert detect(frames_of(10, 5, 7, 5, 20), SHORT) == [(6, 20), (20, 32)]


def test_a_wavering_window_breaks_the_silence():
    # Fifteen voiced frames of twenty are onset and offset at once: the speaker starts and stops
    # with every frame, and no silence is counted.
    voice = np.tile([True, True, True, False], 200)
    assert detect(voice, EndpointOptions()) == [(0, 800)]


@settings(max_examples=200, deadline=None)
@given(runs, st.lists(st.integers(0, 4_000), max_size=12), st.sampled_from([SHORT, None]))
def test_utterances_are_ordered_bounded_and_the_same_for_any_division(runs, cuts, options):
    options = options or EndpointOptions()
    voiced = np.array([value for value, length in runs for _ in range(length)], bool)

    utterances = detect(voiced, options)

    assert detect(voiced, options, cuts) == utterances
    edges = [edge for utterance in utterances for edge in utterance]
    assert edges == sorted(edges)
    assert all(start < end for start, end in utterances)
    assert all(end - start <= options.max_utterance + 1 for start, end in utterances)
    assert not edges or 0 <= edges[0] <= edges[-1] <= len(voiced)


@settings(max_examples=100, deadline=None)
@given(runs, st.sampled_from([SHORT, None]))
def test_what_is_settled_and_open_comes_true(runs, options):
    voiced = [value for value, length in runs for _ in range(length)]
    endpointer = Endpointer(options or EndpointOptions())
    promises, found = [], []
    for is_voiced in voiced:
        found += endpointer.accept(np.array([is_voiced]))
        promises.append((endpointer.settled, endpointer.open_utterance, len(found)))
    found += endpointer.finish()

    assert [settled for settled, _, _ in promises] == sorted(settled for settled, _, _ in promises)
    for settled, open_utterance, count in promises:
        assert all(start >= settled for start, _ in found[count:])
        if open_utterance:
            start, certain = open_utterance
            assert found[count][0] == start < certain <= found[count][1]


def test_every_long_voice_is_inside_an_utterance():
    voiced = frames_of(100, 30, 200, 15, 200, 500, 90, 25, 400)
    utterances = detect(voiced, EndpointOptions())
    covered = np.zeros(len(voiced), bool)
    for start, end in utterances:
        covered[start:end] = True
    assert covered[voiced].all()


@pytest.mark.parametrize(
    "options",
    [
        {"onset": 0},
        {"onset": 21},
        {"offset": 20},
        {"offset": -1},
        {"lookback": -1},
        {"end_lookback": 66},
        {"end_silence": 0, "end_lookback": 0},
        {"max_utterance": 0},
    ],
)
def test_impossible_options_are_refused(options):
    with pytest.raises(UsageError):
        EndpointOptions(**options)
