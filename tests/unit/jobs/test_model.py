from hypothesis import given
from hypothesis import strategies as st

from asr_core.jobs.model import NEXT_STATES, JobState


@given(st.lists(st.sampled_from(JobState), max_size=12))
def test_a_final_state_is_never_left(wanted: list[JobState]) -> None:
    state = JobState.QUEUED
    for step in wanted:
        if step in NEXT_STATES[state]:
            assert not state.is_final
            state = step


def test_the_final_states_are_the_ones_that_users_see_as_ended() -> None:
    final = {JobState.DONE, JobState.PARTIAL, JobState.FAILED, JobState.CANCELLED}
    assert {state for state in JobState if state.is_final} == final


def test_every_state_can_be_reached_and_every_job_can_end() -> None:
    assert set(NEXT_STATES) == set(JobState)
    reached = {JobState.QUEUED}.union(*NEXT_STATES.values())
    assert reached == set(JobState)
