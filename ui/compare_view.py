"""A comparison of two texts, as plain JSON values for the page.

The browser puts every text into the page as text, never as markup, so nothing is escaped here.
"""

from __future__ import annotations

from typing import Any

from asr_core.engine import Comparison, Engine
from ui.view import View

KINDS = {"equal": 0, "replace": 1, "delete": 2, "insert": 3}
"""Kinds of pieces as the script knows them."""


def compare_view(engine: Engine, comparison: Comparison) -> View:
    """Error counts, the aligned texts as ``[kind, said, recognized, marks after it]`` pieces,
    confusions with their places, and words to add to the hotwords."""
    counts = comparison.counts
    return {
        "rate": f"{100 * counts.rate:.2f}",
        "substitutions": counts.substitutions,
        "deletions": counts.deletions,
        "insertions": counts.insertions,
        "chars": counts.reference_chars,
        "empty": not comparison.hypothesis.text,
        "pieces": _pieces(comparison),
        "confusions": [
            [
                pair.reference,
                pair.hypothesis,
                pair.count,
                [[at.before, at.reference, at.hypothesis, at.after] for at in pair.contexts],
            ]
            for pair in engine.confusions(comparison)
        ],
        "suggestions": [
            [one.word, one.missed, one.total] for one in engine.hotword_suggestions(comparison)
        ],
    }


def _pieces(comparison: Comparison) -> list[list[Any]]:
    return [
        [
            KINDS[piece.kind.value],
            piece.reference,
            piece.hypothesis if piece.kind.value != "equal" else "",
            piece.after,
        ]
        for piece in comparison.pieces()
    ]
