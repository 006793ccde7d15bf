"""The training loop of the punctuation network: steps, averages, checkpoints, a log."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import mindspore as ms
import numpy as np
import numpy.typing as npt
from mindspore import Tensor, nn, ops

from asr_core.errors import UsageError
from asr_core.networks.punctuation import MARK_COUNT, PunctuationNetwork, TaggerShape
from asr_core.text.punctuation.vocabulary import PAUSE_CLASSES
from asr_core.training.corpus import Corpus
from asr_core.training.sampling import Batch, Sampler, SamplingOptions

logger = logging.getLogger(__name__)

Weights = dict[str, npt.NDArray[np.float32]]
Judge = Callable[[Weights], dict[str, float]]
"""Figures of weights; the one named ``target`` decides which are kept as the best."""

_AVERAGE = "average/"
_STATE = "state/"
_RATES = "learning_rate"


@dataclass(frozen=True, slots=True)
class TrainingOptions:
    """How to train.

    Attributes:
        steps: in all.
        warm_up: steps over which the learning rate rises at first.
        rate: the learning rate after that.
        fall: the part of all steps, the last ones, over which it falls to 0. Until they begin, a
            training can be resumed with another number of steps.
        decay: weight decay.
        clip: the largest norm of a step's gradient.
        average_every: steps after which the weights enter the running average.
        average_keep: the part of the average that stays each time.
        judge_every: steps between two looks at the validation texts, and two checkpoints.
        seed: of weights, batches and dropout.
    """

    steps: int = 6000
    warm_up: int = 200
    rate: float = 1.5e-3
    fall: float = 0.3
    decay: float = 0.01
    clip: float = 1.0
    average_every: int = 10
    average_keep: float = 0.96
    judge_every: int = 500
    seed: int = 1


class Trainer:
    """Trains a network in graph mode and goes on where an earlier call stopped.

    Args:
        corpus: texts.
        shape: sizes of the network; those of tables are taken from the corpus.
        sampling: how windows are drawn.
        options: how to train.
        work: folder for ``shape.json``, ``log.jsonl``, ``last.npz`` (all that is needed to go on),
            ``best.npz`` and, of the second half of the training, ``kept-<step>.npz``.
    """

    def __init__(
        self,
        corpus: Corpus,
        shape: TaggerShape,
        sampling: SamplingOptions,
        options: TrainingOptions,
        work: Path,
    ) -> None:
        ms.set_context(mode=ms.GRAPH_MODE)
        ms.set_seed(options.seed)
        self._options = options
        self._sampler = Sampler(corpus, sampling, options.seed)
        self._work = work
        chosen = asdict(options)
        chosen.pop("steps")
        self._setting = json.dumps([asdict(shape), asdict(sampling), chosen], sort_keys=True)
        self.network = PunctuationNetwork(shape, options.seed)
        self._step = _TrainingStep(self.network, options)
        self._step.set_train()
        self.done = 0
        self._average: Weights = {}
        self._best = -1.0
        work.mkdir(parents=True, exist_ok=True)
        (work / "shape.json").write_text(json.dumps(asdict(shape)), encoding="utf-8")
        if (work / "last.npz").is_file():
            self._resume()

    def weights(self) -> Weights:
        """The averaged weights; those of the last step before there is an average."""
        return self._average or self._now()

    def run(self, judge: Judge, *, until: int | None = None) -> list[float]:
        """Train up to a step, or to the end.

        Args:
            judge: looks at the weights now and then; ``best.npz`` holds the best so far.
            until: the step to stop after.

        Returns:
            The loss of each step that was done.
        """
        last = min(until or self._options.steps, self._options.steps)
        losses: list[float] = []
        started, first = time.monotonic(), self.done
        while self.done < last:
            losses.append(self._learn(self._sampler.batch(self.done)))
            self.done += 1
            if self.done % self._options.average_every == 0:
                self._take_average()
            if self.done % 50 == 0:
                pace = (time.monotonic() - started) / (self.done - first)
                self._say(losses[-50:], pace, last)
            if self.done % self._options.judge_every == 0 or self.done == last:
                self._judge(judge, losses[-self._options.judge_every :])
        return losses

    def _learn(self, batch: Batch) -> float:
        arrays = (batch.units, batch.pairs, batch.pauses, batch.labels, batch.weights)
        return float(self._step(*(Tensor(array) for array in arrays)).asnumpy())

    def _now(self) -> Weights:
        return {p.name: p.asnumpy().copy() for p in self.network.get_parameters()}

    def _take_average(self) -> None:
        keep = min(self._options.average_keep, self.done / (self.done + 100.0))
        now = self._now()
        if not self._average:
            self._average = now
            return
        for name, values in self._average.items():
            values *= keep
            values += (1.0 - keep) * now[name]

    def _say(self, losses: list[float], pace_s: float, last: int) -> None:
        logger.info(
            "step=%d/%d loss=%.4f step_s=%.3f left_min=%.1f",
            self.done,
            last,
            float(np.mean(losses)),
            pace_s,
            pace_s * (last - self.done) / 60,
        )

    def _judge(self, judge: Judge, losses: list[float]) -> None:
        figures = judge(self.weights())
        entry = {"step": self.done, "loss": round(float(np.mean(losses)), 5), **figures}
        with (self._work / "log.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry, ensure_ascii=False) + "\n")
        logger.info("validation %s", json.dumps(entry, ensure_ascii=False))
        if figures["target"] > self._best:
            self._best = figures["target"]
            save_arrays(self._work / "best.npz", self.weights())
        if 2 * self.done >= self._options.steps:
            save_arrays(self._work / f"kept-{self.done:06d}.npz", self.weights())
        self._save()

    def _state(self) -> Iterator[tuple[str, ms.Parameter]]:
        for parameter in self._step.optimizer.get_parameters():
            if parameter.name != _RATES:
                yield parameter.name, parameter

    def _save(self) -> None:
        arrays: dict[str, npt.NDArray[Any]] = {
            _STATE + name: parameter.asnumpy() for name, parameter in self._state()
        }
        arrays |= {_AVERAGE + name: values for name, values in self._average.items()}
        arrays["done"] = np.array(self.done)
        arrays["best"] = np.array(self._best)
        arrays["steps"] = np.array(self._options.steps)
        arrays["setting"] = np.array(self._setting)
        save_arrays(self._work / "last.npz", arrays)

    def _resume(self) -> None:
        with np.load(self._work / "last.npz") as arrays:
            if str(arrays["setting"]) != self._setting:
                raise UsageError(f"{self._work} holds a training with other options")
            self.done = int(arrays["done"])
            self._check_steps(int(arrays["steps"]))
            for name, parameter in self._state():
                parameter.set_data(Tensor(arrays[_STATE + name]))
            self._average = {
                key[len(_AVERAGE) :]: arrays[key] for key in arrays if key.startswith(_AVERAGE)
            }
            self._best = float(arrays["best"])
        logger.info("resumed step=%d", self.done)

    def _check_steps(self, before: int) -> None:
        """Other steps are allowed as long as the learning rate has not begun to fall."""
        now = self._options.steps
        if now != before and self.done > (1.0 - self._options.fall) * min(now, before):
            raise UsageError(f"Step {self.done} is too late to make {now} steps out of {before}")


class _Loss(nn.Cell):  # type: ignore[misc]
    def __init__(self, network: PunctuationNetwork) -> None:
        super().__init__(auto_prefix=False)
        self.network = network
        self.entropy = ops.SoftmaxCrossEntropyWithLogits()
        self.one_hot = ops.OneHot()
        self.on = Tensor(1.0, ms.float32)
        self.off = Tensor(0.0, ms.float32)

    def construct(
        self, units: Tensor, pairs: Tensor, pauses: Tensor, labels: Tensor, weights: Tensor
    ) -> Tensor:
        scores = self.network(units, pairs, pauses).reshape((-1, MARK_COUNT))
        wanted = self.one_hot(labels.reshape((-1,)), MARK_COUNT, self.on, self.off)
        losses, _ = self.entropy(scores, wanted)
        return (losses * weights.reshape((-1,))).sum() / weights.sum()


class _TrainingStep(nn.Cell):  # type: ignore[misc]
    def __init__(self, network: PunctuationNetwork, options: TrainingOptions) -> None:
        super().__init__(auto_prefix=False)
        self.loss = _Loss(network)
        self.optimizer = nn.AdamWeightDecay(
            network.trainable_params(), learning_rate=_rates(options), weight_decay=options.decay
        )
        self.clip = options.clip
        self.differentiate = ms.value_and_grad(self.loss, None, self.optimizer.parameters)

    def construct(
        self, units: Tensor, pairs: Tensor, pauses: Tensor, labels: Tensor, weights: Tensor
    ) -> Tensor:
        loss, gradients = self.differentiate(units, pairs, pauses, labels, weights)
        self.optimizer(ops.clip_by_global_norm(gradients, self.clip))
        return loss


def _rates(options: TrainingOptions) -> list[float]:
    """The learning rate of each step: a rise, a plain, a fall to 0."""
    steps = np.arange(options.steps)
    rise = np.minimum((steps + 1) / max(options.warm_up, 1), 1.0)
    fall = np.minimum((options.steps - steps) / max(options.fall * options.steps, 1.0), 1.0)
    rates = options.rate * rise * fall
    return [float(rate) for rate in rates]


def save_arrays(path: Path, arrays: dict[str, npt.NDArray[Any]]) -> None:
    """Write arrays into a file that appears whole or not at all."""
    part = path.with_suffix(".part.npz")
    np.savez(part, **arrays)
    part.replace(path)


def shape_for(corpus: Corpus, **sizes: Any) -> TaggerShape:
    """The shape of a network for a corpus; ``sizes`` as in :class:`TaggerShape`."""
    vocabulary = corpus.vocabulary
    return TaggerShape(len(vocabulary.units), len(vocabulary.pair_keys), PAUSE_CLASSES, **sizes)
