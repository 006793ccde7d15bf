"""What the golden intervals of FSMN-VAD are made from; the same for the reference and for us."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from asr_core.audio.decode import open_audio

MEETING = "meeting/public_meeting.flac"
_TIMES_FOR_HALF_AN_HOUR = 15
_SUFFIXES = {".flac", ".wav", ".m4a", ".opus", ".ogg", ".mp3", ".webm"}


def read(path: Path) -> np.ndarray:
    """The whole recording, float32 mono 16 kHz."""
    with open_audio(path) as source:
        return np.concatenate(list(source.blocks()))


def recording_names(speech: Path) -> list[str]:
    """Every recording, relative to the folder."""
    return sorted(
        path.relative_to(speech).as_posix()
        for path in speech.rglob("*")
        if path.suffix in _SUFFIXES
    )


def variants(meeting: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    """The meeting as microphones and editors might spoil it."""
    hiss = np.random.default_rng(1).random(len(meeting), np.float32) - np.float32(0.5)
    yield "very quiet", meeting * np.float32(0.003)
    yield "over hiss", np.clip(meeting * np.float32(0.3) + np.float32(0.02) * hiss, -1, 1)
    yield "overdriven", np.clip(meeting * np.float32(20), -1, 1)
    yield "with holes", _with_holes(meeting)
    yield "without pauses", np.tile(_loud(meeting), 2)


def for_half_an_hour(meeting: np.ndarray) -> np.ndarray:
    """The meeting over and over."""
    return np.tile(meeting, _TIMES_FOR_HALF_AN_HOUR)


def _with_holes(meeting: np.ndarray) -> np.ndarray:
    """Digital silence of 50 ms to 1.55 s at 40 places."""
    pieces = np.array_split(meeting, 40)
    holes = [np.zeros(800 * (1 + place * 7 % 31), np.float32) for place in range(40)]
    return np.concatenate([part for pair in zip(pieces, holes, strict=True) for part in pair])


def _loud(meeting: np.ndarray) -> np.ndarray:
    """The blocks of 20 ms that are not quiet, joined: speech that never pauses."""
    blocks = meeting[: len(meeting) // 320 * 320].reshape(-1, 320)
    return blocks[np.square(blocks).mean(axis=1) > 1e-4].reshape(-1)


@dataclass(frozen=True)
class Case:
    """Frames made up from a seed, and settings for which they matter.

    Attributes:
        seed: of the random numbers.
        frames: how many.
        model_conf: settings of the model that differ from the default.
    """

    seed: int
    frames: int = 2_500
    model_conf: dict[str, float] = field(default_factory=dict)

    def scores(self) -> np.ndarray:
        """Probabilities of silence and of all else, float32, shape (frames, 2)."""
        rng = np.random.default_rng(self.seed)
        silence = np.empty(self.frames)
        begin, is_voiced = 0, False
        while begin < self.frames:
            length = 1 + int(90 * rng.random() ** 2 if is_voiced else 150 * rng.random() ** 3)
            level = 0.1 * rng.random(length)
            silence[begin : begin + length] = (level if is_voiced else 1 - level)[
                : self.frames - begin
            ]
            begin, is_voiced = begin + length, not is_voiced
        flipped = rng.random(self.frames) < 0.1
        silence[flipped] = rng.random(int(flipped.sum()))
        return np.stack([silence, 1 - silence], axis=1).astype(np.float32)

    def waveform(self) -> np.ndarray:
        """Noise of changing loudness for all frames, float32 mono 16 kHz."""
        rng = np.random.default_rng(self.seed + 1)
        loudness = np.repeat(10 ** (-3 + 2.5 * rng.random(self.frames + 2)), 160)
        samples = (self.frames - 1) * 160 + 400
        return (loudness[:samples] * (rng.random(samples) - 0.5)).astype(np.float32)


_SETTINGS: tuple[dict[str, float], ...] = (
    {},
    {"max_end_silence_time": 500},
    {"max_end_silence_time": 300, "lookahead_time_end_point": 0},
    {"max_end_silence_time": 1_500},
    {"window_size_ms": 300, "sil_to_speech_time_thres": 200, "speech_to_sil_time_thres": 100},
    {"max_single_segment_time": 3_000},
    {"lookback_time_start_point": 700},
    {"do_extend": 0},
    {"speech_2_noise_ratio": 1.5, "speech_noise_thres": 0.3},
    {"snr_thres": -8, "noise_frame_num_used_for_snr": 20},
)
CASES = tuple(
    Case(seed, model_conf=model_conf)
    for seed, model_conf in enumerate([settings for settings in _SETTINGS for _ in range(3)])
)
