"""Voice activity: the probability that a short window of a recording is speech."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np

from asr_core.errors import ModelFileMissingError, UsageError
from asr_core.runtime.onnx import OnnxSession
from asr_core.runtime.session import Float32, Session

WINDOW_SAMPLES = 512
"""Samples of one probability: 32 ms at 16 kHz."""

_CONTEXT_SAMPLES = 64  # end of the window before, which the network sees first
_STATE_SHAPE = (1, 1, 128)
_BATCH_WINDOWS = 1_024  # bounds the memory of one call; the state goes from batch to batch
_MODEL_FILE = "assets/silero_vad_v6.onnx"


class SileroVad:
    """Silero VAD v6 in the batched form that faster-whisper carries.

    Used by one thread at a time; streams share the network and nothing else.

    Args:
        session: network with inputs ``input`` (windows, 576), ``h`` and ``c`` (1, 1, 128) and
            outputs ``speech_probs`` (windows,), ``hn`` and ``cn``.
    """

    def __init__(self, session: Session) -> None:
        self._session = session

    def stream(self) -> VadStream:
        """A fresh stream for one recording."""
        return VadStream(self._session)

    def close(self) -> None:
        self._session.close()


class VadStream:
    """The probabilities of one recording that arrives in pieces of any length."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._h = np.zeros(_STATE_SHAPE, np.float32)
        self._c = np.zeros(_STATE_SHAPE, np.float32)
        # The context of the next window, then the samples of it that have arrived.
        self._rest: Float32 = np.zeros(_CONTEXT_SAMPLES, np.float32)
        self._finished = False

    def accept(self, waveform: Float32) -> Float32:
        """Feed the next piece.

        Args:
            waveform: float32 mono 16 kHz, shape (samples,).

        Returns:
            One probability in [0, 1] per window of 512 samples that became complete, float32,
            shape (windows,).
        """
        if self._finished:
            raise UsageError("The voice activity stream is finished")
        samples = np.concatenate([self._rest, waveform]).astype(np.float32, copy=False)
        windows = (len(samples) - _CONTEXT_SAMPLES) // WINDOW_SAMPLES
        self._rest = samples[windows * WINDOW_SAMPLES :].copy()
        if not windows:
            return np.zeros(0, np.float32)
        framed = np.lib.stride_tricks.sliding_window_view(
            samples, _CONTEXT_SAMPLES + WINDOW_SAMPLES
        )[::WINDOW_SAMPLES][:windows]
        return np.concatenate(
            [
                self._run(framed[start : start + _BATCH_WINDOWS])
                for start in range(0, windows, _BATCH_WINDOWS)
            ]
        )

    def finish(self) -> Float32:
        """End of the recording: the last window, padded with zeros; none if nothing is left.

        Returns:
            float32, shape (0,) or (1,).
        """
        left = len(self._rest) - _CONTEXT_SAMPLES
        padding = WINDOW_SAMPLES - left if left else 0
        tail = self.accept(np.zeros(padding, np.float32))
        self._finished = True
        return tail

    def _run(self, framed: Float32) -> Float32:
        outputs = self._session.run(
            {"input": np.ascontiguousarray(framed), "h": self._h, "c": self._c}
        )
        self._h, self._c = outputs["hn"], outputs["cn"]
        probabilities: Float32 = outputs["speech_probs"].reshape(-1)
        return probabilities


def load_silero_vad() -> SileroVad:
    """The network from faster-whisper's package data, on one CPU thread.

    Raises:
        ModelFileMissingError: faster-whisper is not installed or lacks the file.
    """
    spec = importlib.util.find_spec("faster_whisper")
    folders = list(spec.submodule_search_locations or []) if spec else []
    if not folders:
        raise ModelFileMissingError(
            "The speech detector is missing; install the faster-whisper package",
            name="silero-vad",
            path=f"faster_whisper/{_MODEL_FILE}",
        )
    return SileroVad(OnnxSession(Path(folders[0]) / _MODEL_FILE, threads=1))
