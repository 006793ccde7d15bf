"""Weights of a small network, without MindSpore."""

from __future__ import annotations

import numpy as np

STEPS = (1, 2, 4)
"""Of its layers: a word sees the seven words on either side of it."""


def random_weights(
    *, units: int, pairs: int, pause_classes: int, seed: int = 0
) -> dict[str, np.ndarray]:
    """By the names that the network gives its parameters; 10 features a word, 6 a pair."""
    random = np.random.default_rng(seed)
    width = 16
    weights = {
        "units": random.normal(0, 1, (units, 10)),
        "pairs": random.normal(0, 1, (pairs + 1, 6)),
        "pauses": random.normal(0, 1, (pause_classes, width)),
        "head": random.normal(0, 0.3, (width, 8)),
        "head_bias": random.normal(0, 1, 8),
    }
    for layer in range(len(STEPS)):
        weights[f"layers.{layer}.matrix"] = random.normal(0, 0.2, (3 * width, 2 * width))
        weights[f"layers.{layer}.bias"] = random.normal(0, 0.3, 2 * width)
    return {name: values.astype(np.float32) for name, values in weights.items()}
