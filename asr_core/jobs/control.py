"""What may be asked of a job, whichever runner it belongs to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from asr_core.errors import AudioDecodeError
from asr_core.events import Progress
from asr_core.jobs.model import Job
from asr_core.jobs.runner import JobRunner
from asr_core.store.history import History


@dataclass(frozen=True, slots=True)
class JobControl:
    """The jobs of this process; usable from any thread.

    Every method raises JobNotFoundError when no job has that id.

    Attributes:
        history: all jobs.
        runner_of: the runner that takes a job.
    """

    history: History
    runner_of: Callable[[Job], JobRunner]

    def cancel(self, job_id: str) -> Job:
        """See :meth:`JobRunner.cancel`."""
        return self._runner(job_id).cancel(job_id)

    def pause(self, job_id: str) -> Job:
        """See :meth:`JobRunner.pause`."""
        return self._runner(job_id).pause(job_id)

    def resume(self, job_id: str) -> Job:
        """See :meth:`JobRunner.resume`."""
        return self._runner(job_id).resume(job_id)

    def retry(self, job_id: str, queue: str) -> Job:
        """Queue a new job that goes on after the last segment that the old one recognized.

        Raises:
            JobStateError: the job cannot be tried again.
            AudioDecodeError: its recording is not kept or gone.
        """
        job = self.history.job(job_id)
        if self.history.recording_path(job.recording_id) is None:
            raise AudioDecodeError(
                f"{job.name} is not kept or gone", path=job.name, reason="missing"
            )
        again = self.history.retry(job_id, queue=queue)
        self.wake(again)
        return again

    def wake(self, job: Job) -> None:
        """Tell the runner of a job that waits."""
        self.runner_of(job).submit(job)

    def progress(self, job_id: str) -> Progress | None:
        """What a running job said last."""
        return self._runner(job_id).live(job_id)[0]

    def _runner(self, job_id: str) -> JobRunner:
        return self.runner_of(self.history.job(job_id))
