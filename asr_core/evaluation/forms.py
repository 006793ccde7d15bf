"""How many characters two forms of a model get wrong, on the same recordings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from asr_core.evaluation.comparison import compare_texts
from asr_core.evaluation.manifest import Sample
from asr_core.parity.material import MAX_SECONDS, batches
from asr_core.parity.sources import Source
from asr_core.recognizers.tokenizer import ParaformerTokenizer
from asr_core.text.scoring import NO_ERRORS, ErrorRate

MOST_POINTS = 0.3
"""By how much the error rate may grow, in percent of the characters."""

_ROUNDING = 1e-9
_FRAME_SECONDS = 0.06


@dataclass(frozen=True, slots=True)
class RateChange:
    """Errors of two forms.

    Attributes:
        reference: of the form that is right.
        other: of the one that is compared with it.
        recordings: how many were heard.
    """

    reference: ErrorRate
    other: ErrorRate
    recordings: int

    @property
    def points(self) -> float:
        """By how much the error rate grows, in percent of the characters."""
        return 100 * (self.other.rate - self.reference.rate)

    @property
    def passed(self) -> bool:
        return self.recordings > 0 and self.points <= MOST_POINTS + _ROUNDING


def rate_change(
    samples: Sequence[Sample],
    reference: Source,
    other: Source,
    done: Callable[[int], None] | None = None,
) -> RateChange:
    """Recognize recordings with both forms, without hotwords, and count the errors.

    Args:
        samples: recordings and what was said; the spoken form counts where it is given.
        reference: the form that is right.
        other: what is compared with it.
        done: is told how many recordings are done.

    Raises:
        AudioDecodeError: a recording cannot be read.
        DeviceError: a graph failed.
    """
    sums = [NO_ERRORS, NO_ERRORS]
    for number, sample in enumerate(samples, start=1):
        for place, text in enumerate(_texts(sample, reference, other)):
            sums[place] += compare_texts(sample.spoken or sample.reference, text).counts
        if done is not None:
            done(number)
    return RateChange(sums[0], sums[1], len(samples))


def _texts(sample: Sample, reference: Source, other: Source) -> tuple[str, str]:
    folder = reference.folder
    tokenizer = ParaformerTokenizer(folder.tokens, folder.segmentation)
    limits = [one.max_frames * _FRAME_SECONDS for one in (reference, other) if one.max_frames]
    seconds = min([MAX_SECONDS, *limits])
    parts: tuple[list[str], list[str]] = ([], [])
    # Parts of one recording stay in their order only by themselves.
    for inputs in batches([sample.path], folder, (), batch=1, max_seconds=seconds):
        for texts, form in zip(parts, (reference, other), strict=True):
            for numbers in form.probe.run(inputs).tokens:
                spoken = [(one, 0, 0, 1.0) for one in numbers if tokenizer.is_spoken(one)]
                texts.append("".join(piece.text for piece in tokenizer.pieces(spoken)))
    first, second = ("".join(texts) for texts in parts)
    return first, second
