from collections.abc import Iterator
from pathlib import Path

import pytest

from asr_core.recognizers.whisper import WhisperRecognizer
from asr_core.text.itn.normalizer import RuleNormalizer
from asr_core.transcription.pipeline import Stages
from asr_core.transcription.scheduler import RecognizerWorker


@pytest.fixture(scope="package")
def stages(model_folder: Path) -> Iterator[Stages]:
    def load() -> WhisperRecognizer:
        return WhisperRecognizer(model_folder, name="whisper-base", threads=2, batch_windows=2)

    worker = RecognizerWorker(load)
    yield Stages(worker, RuleNormalizer(), "silero")
    worker.close()
