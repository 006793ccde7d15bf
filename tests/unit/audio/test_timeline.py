"""Positions of segments laid end to end, in the recording and back."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asr_core.audio.timeline import Timeline
from asr_core.errors import UsageError


@st.composite
def span_lists(draw) -> list[tuple[int, int]]:
    """Segments of a recording; some touch."""
    spans, position = [], 0
    for pause, length in draw(
        st.lists(st.tuples(st.integers(0, 9), st.integers(1, 9)), min_size=1, max_size=8)
    ):
        spans.append((position + pause, position + pause + length))
        position = spans[-1][1]
    return spans


def speech_samples(spans: list[tuple[int, int]]) -> list[int]:
    """Every position of the recording that a segment holds, one by one."""
    return [position for start, end in spans for position in range(start, end)]


@settings(deadline=None)
@given(span_lists())
def test_every_sample_of_the_joined_waveform_is_at_its_place_in_the_recording(spans):
    timeline = Timeline(spans)
    assert timeline.samples == len(speech_samples(spans))
    assert [timeline.to_file(at) for at in range(timeline.samples)] == speech_samples(spans)


@settings(deadline=None)
@given(span_lists())
def test_the_way_back_is_the_inverse_on_speech_and_refused_elsewhere(spans):
    timeline = Timeline(spans)
    held = speech_samples(spans)
    assert [timeline.to_joined(at) for at in held] == list(range(timeline.samples))
    for position in set(range(-2, spans[-1][1] + 3)) - set(held):
        with pytest.raises(UsageError):
            timeline.to_joined(position)


@settings(deadline=None)
@given(span_lists())
def test_time_never_runs_backwards_and_jumps_by_the_pauses_alone(spans):
    timeline = Timeline(spans)
    placed = [timeline.to_file(at) for at in range(timeline.samples)]
    steps = [later - earlier for earlier, later in itertools.pairwise(placed)]
    assert all(step >= 1 for step in steps)
    pauses = [later[0] - earlier[1] for earlier, later in itertools.pairwise(spans)]
    assert [step - 1 for step in steps if step > 1] == [pause for pause in pauses if pause]


@settings(deadline=None)
@given(span_lists())
def test_the_segment_of_a_position_is_the_one_that_holds_it(spans):
    timeline = Timeline(spans)
    lengths = [end - start for start, end in spans]
    expected = [index for index, length in enumerate(lengths) for _ in range(length)]
    assert [timeline.index_at(at) for at in range(timeline.samples)] == expected


@settings(deadline=None)
@given(span_lists(), st.data())
def test_an_interval_stays_whole_inside_its_segment_and_is_clipped_outside(spans, data):
    timeline = Timeline(spans)
    start = data.draw(st.integers(0, timeline.samples))
    end = data.draw(st.integers(start, timeline.samples + 20))
    index = data.draw(st.integers(0, len(spans) - 1))

    placed = timeline.within(index, start, end)

    held = [
        timeline.to_file(at)
        for at in range(start, min(end, timeline.samples))
        if timeline.index_at(at) == index
    ]
    assert spans[index][0] <= placed[0] <= placed[1] <= spans[index][1]
    assert list(range(*placed)) == held


def test_an_interval_beside_its_segment_becomes_the_nearest_bound():
    timeline = Timeline([(10, 20), (50, 60)])
    assert timeline.within(0, 15, 19) == (20, 20)
    assert timeline.within(1, 2, 7) == (50, 50)


@pytest.mark.parametrize("position", [-1, 20, 1_000])
def test_a_position_outside_the_joined_waveform_is_refused(position):
    timeline = Timeline([(10, 20), (50, 60)])
    with pytest.raises(UsageError):
        timeline.to_file(position)
    with pytest.raises(UsageError):
        timeline.index_at(position)


@pytest.mark.parametrize(
    "spans",
    [
        [],
        [(5, 5)],
        [(7, 3)],
        [(-4, 3)],
        [(10, 20), (5, 8)],
        [(10, 20), (19, 30)],
    ],
)
def test_segments_that_no_recording_can_have_are_refused(spans):
    with pytest.raises(UsageError):
        Timeline(spans)
