"""C-scores: how often networks that were trained without an image have it right (5.3.2 of George's
thesis, chapter 5, "Lazy vs hasty"), estimated on the images at hand.

ntkexp study +exp=lazy/c_scores
"""

from __future__ import annotations

import io
import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from ntkexp import models
from ntkexp.data.images.dataset import channel_moments, normalised
from ntkexp.data.images.sources import files_here, kind_of, read, remarks
from ntkexp.errors import Diverged, UserError
from ntkexp.machine import on_gpu, sent
from ntkexp.models import Model
from ntkexp.models.cnn import Cnn
from ntkexp.models.mlp import Mlp
from ntkexp.models.stack import StackedNetworks
from ntkexp.optim.sgd import SgdUpdate
from ntkexp.options import (
    MANY,
    SEED,
    Rule,
    count,
    each,
    one_of,
    option,
    positive,
    share,
    whole,
)
from ntkexp.results.table import Table, float64, int64
from ntkexp.seeds import derived_seed, generator
from ntkexp.studies.base import Study
from ntkexp.studies.stepped import Row, SteppedWork
from ntkexp.theory.lazy.c_scores import TENTHS, consistency, tenths_seen

if TYPE_CHECKING:
    from ntkexp.training.place import Place
    from ntkexp.training.work import Kept

TENS = Rule(lambda number: number >= 10 and number % 10 == 0, "a multiple of ten")

C_SCORES = Table(
    "c_scores",
    "one image of the training file: how often networks that did not see it have it right, from "
    "0 to 1, mean over the ratios",
    {
        "example": int64("its row in the training file, from 0"),
        "label": int64("its class in that file"),
        "score": float64("share of right answers, mean over the ratios"),
        "error": float64("standard error of the score"),
        "probability": float64("that such networks give the right class, mean over the ratios"),
    },
)
C_SCORE_NETS = Table(
    "c_score_nets",
    "one of the networks behind the scores",
    {
        "repetition": int64("ten networks of every ratio, from 0"),
        "ratio": float64("share of the images that it was trained on"),
        "net": int64("from 0 to 9"),
        "train_accuracy": float64("on the images that it was trained on"),
        "held_out_accuracy": float64("on the others"),
    },
)


class Network(StrEnum):
    """mlp: hidden ReLU layers of `width` units. cnn: three convolutions of `width`, 2 `width` and
    4 `width` channels (model=cnn)."""

    mlp = "mlp"
    cnn = "cnn"


# Images whose outputs are computed at a time; those of convolutions stay near a core.
AT_ONCE = {Network.mlp: 2000, Network.cnn: 250}


@dataclass
class CScores(Study):
    """A permutation cuts the images into tenths; ten networks of ratio k / 10 train on k tenths
    each, so that every image is left out 10 - k times. `nets` / 10 such permutations a ratio.

    All networks make equally many updates, by SGD with a rate that falls to 0 along a cosine.
    """

    tables: ClassVar = (C_SCORES, C_SCORE_NETS)
    small: ClassVar = {"examples": 3000, "nets": 20, "updates": 30}
    tiny: ClassVar = {"examples": 200, "updates": 2, "width": 4}

    seed: int = option(0, SEED, "the start of all random numbers")
    images: str = option("mnist", one_of("mnist", "kmnist", "cifar10"), "images to score")
    examples: int | None = option(
        None, whole(TENTHS, MANY, "examples", "for all"), "how many of them"
    )
    ratios: list[int] = option(
        [*range(1, 10)], each(whole(1, 9, "tenths"), 1, once=True), "trained on, of ten"
    )
    nets: int = option(200, TENS, "networks of each ratio")
    network: Network = option(Network.mlp, about="a perceptron or a convolutional network")
    depth: int = option(1, count("hidden layers", most=100), "hidden layers of an mlp")
    width: int = option(256, count("units or channels", most=100_000), "units, or channels")
    lr: float = option(0.1, positive(), "learning rate at the start")
    momentum: float = option(0.9, share("a momentum"), "share of the last change in the next")
    batch_size: int = option(128, count("examples"), "images of an update")
    updates: int = option(1000, whole(1, MANY, "updates"), "updates of each network")

    def check(self, config: Any = None) -> None:
        if self.left_out_least < 2:
            raise UserError(
                f"study.nets={self.nets}: with study.ratios={self.ratios} an image is left out "
                "once in ten networks; expected 20 networks or more, or no ratio of 9"
            )

    @property
    def left_out_least(self) -> int:
        """The number of networks that leave an image out at the largest ratio."""
        return self.nets // 10 * (10 - max(self.ratios))

    @property
    def model(self) -> Model:
        if self.network is Network.cnn:
            return Cnn(base=self.width)
        return Mlp(depth=self.depth, width=self.width)

    def files(self) -> Mapping[str, str]:
        return files_here(kind_of(self.images))

    def work(self, place: Place) -> HeldOut:
        return HeldOut(self, place.device)


@dataclass(frozen=True)
class Group:
    """Networks that train side by side: some of the ten of a ratio and a permutation."""

    repetition: int
    ratio: int
    nets: range


class HeldOut(SteppedWork):
    """One step is an update of the networks of a group; after the last they answer for all images.

    Repetitions come one after the other, so that a run with fewer networks begins alike.
    """

    offers: frozenset[str] = frozenset()

    def __init__(self, config: CScores, device: torch.device) -> None:
        self.config = config
        kind, images = kind_of(config.images), read(config.images, "train")
        if config.examples is not None and config.examples > len(images):
            raise UserError(
                f"study.examples={config.examples:,}: {kind.name} has {len(images):,} images"
            )
        self.remarks = tuple(remarks(kind, "train", images))
        chosen = slice(config.examples)
        mean, std = channel_moments(images.pixels)
        self.inputs = normalised(images.pixels[chosen], mean, std, device)
        self.labels = torch.from_numpy(images.labels[chosen]).to(device)
        self.shape, self.classes, self.device = kind.shape, kind.classes, device
        # Small matrix products gain by being asked for together, convolutions do not.
        together = 1 if config.network is Network.cnn else TENTHS
        self.groups = [
            Group(repetition, ratio, range(first, first + together))
            for repetition in range(config.nets // TENTHS)
            for ratio in config.ratios
            for first in range(0, TENTHS, together)
        ]
        super().__init__(last=len(self.groups) * config.updates, seed=config.seed)
        size = len(config.ratios), len(self.labels)
        self.memory = {
            "right": torch.zeros(size, dtype=torch.int32),
            "left_out": torch.zeros(size, dtype=torch.int32),
            "probability": torch.zeros(size, dtype=torch.float64),
            "finite_loss": math.nan,
        }

    def update(self, step: int) -> Row:
        group, update = divmod(step, self.config.updates)
        if update == 0:
            self._begin(self.groups[group])
        loss = self._nets.update(update)
        if math.isfinite(loss):
            self.memory["finite_loss"] = loss
        if update == self.config.updates - 1:
            if not math.isfinite(loss):
                raise Diverged(step + 1, self.memory["finite_loss"])
            self._take_answers(self._nets)
            self.networks, self.updates = {}, {}
        if step == self.last - 1:
            self.write(C_SCORES.name, self.scores())
        return {"loss": loss}

    def _begin(self, group: Group) -> None:
        self._nets = Nets(self, group)
        self.networks = {str(index): net for index, net in enumerate(self._nets.stack.models)}
        self.updates = {"all": self._nets.sgd}
        self.memory["finite_loss"] = math.nan

    def restore(self, state: dict[str, Any], kept: Kept) -> None:
        group, update = divmod(state["step"], self.config.updates)
        if update:
            self._begin(self.groups[group])
        super().restore(state, kept)

    def _take_answers(self, nets: Nets) -> None:
        row = self.config.ratios.index(nets.group.ratio)
        right, probability = nets.answers()
        outside = ~nets.seen
        self.memory["right"][row] += (right & outside).sum(0).int()
        self.memory["left_out"][row] += outside.sum(0).int()
        self.memory["probability"][row] += torch.where(outside, probability.double(), 0).sum(0)
        accuracies = {
            "train_accuracy": _share(right & nets.seen, nets.seen),
            "held_out_accuracy": _share(right & outside, outside),
        }
        facts = {"repetition": nets.group.repetition, "ratio": nets.group.ratio / TENTHS}
        self.write(C_SCORE_NETS.name, {**facts, "net": np.array(nets.group.nets), **accuracies})

    def scores(self) -> dict[str, Any]:
        left_out = self.memory["left_out"].numpy()
        score, error = consistency(self.memory["right"].numpy(), left_out)
        return {
            "example": np.arange(len(self.labels)),
            "label": self.labels.cpu().numpy(),
            "score": score,
            "error": error,
            "probability": (self.memory["probability"].numpy() / left_out).mean(0),
        }

    def files(self) -> Mapping[str, bytes]:
        """The scores as Jiang et al. publish theirs: fields `scores` and `labels`, in the order of
        the training file."""
        if not self.over:
            return {}
        scores, file = self.scores(), io.BytesIO()
        np.savez(file, scores=scores["score"].astype(np.float32), labels=scores["label"])
        return {"c_scores.npz": file.getvalue()}


class Nets:
    """The networks of a group, trained by SGD with momentum, each on its own images."""

    def __init__(self, work: HeldOut, group: Group) -> None:
        self.work, self.group, self.config = work, group, work.config
        config, n = self.config, len(work.labels)
        counters = (group.repetition, group.ratio)
        order = torch.randperm(n, generator=generator(config.seed, "c_scores.order", *counters))
        tenth = torch.empty(n, dtype=torch.int64)
        tenth[order] = torch.arange(n) * TENTHS // n
        seen = [np.isin(tenth.numpy(), tenths_seen(net, group.ratio)) for net in group.nets]
        self.seen = torch.from_numpy(np.stack(seen))  # (M, n)
        self._rows = [mask.nonzero()[:, 0] for mask in self.seen]
        drawn = [
            models.build(
                config.model,
                work.shape,
                work.classes,
                derived_seed(config.seed, "c_scores.weights", *counters, net),
            ).to(work.device)
            for net in group.nets
        ]
        self.stack = StackedNetworks(drawn)
        self.sgd = SgdUpdate(
            self.stack.parameters.values(), momentum=config.momentum, weight_decay=0.0
        )
        self._epochs: dict[int, tuple[int, Tensor]] = {}

    def update(self, update: int) -> float:
        """Make an update of every network; their mean loss."""
        config = self.config
        rows = torch.stack([self._batch(index, update) for index in range(len(self.group.nets))])
        rows = sent(rows, self.work.device)
        outputs = self._outputs(self.work.inputs[rows])  # (M, b, c)
        losses = nn.functional.cross_entropy(
            outputs.flatten(0, 1), self.work.labels[rows].flatten(), reduction="none"
        ).view(rows.shape)
        # No network takes part in another's loss: the gradient of the sum has each one's own.
        loss = losses.mean(1).sum()
        self.sgd.descend(loss)
        self.sgd.apply(config.lr * (1 + math.cos(math.pi * update / config.updates)) / 2)
        return loss.item() / len(self.group.nets)

    def answers(self) -> tuple[Tensor, Tensor]:
        """(M, n) both: True where a network has an image right; the probability of its class."""
        right, probability = [], []
        with torch.no_grad():
            at_once = AT_ONCE[self.config.network]
            for first in range(0, len(self.work.labels), at_once):
                part = slice(first, first + at_once)
                inputs, labels = self.work.inputs[part], self.work.labels[part]
                outputs = self._outputs(inputs.expand(len(self.group.nets), *inputs.shape))
                right.append((outputs.argmax(2) == labels).cpu())
                chances = outputs.softmax(2)
                probability.append(chances[:, torch.arange(len(labels)), labels].cpu())
        return torch.cat(right, 1), torch.cat(probability, 1)

    def _outputs(self, inputs: Tensor) -> Tensor:
        """(M, b, c) for inputs (M, b, ...)."""
        if len(self.group.nets) > 1:
            return self.stack(inputs)
        batch = inputs[0]
        if batch.dim() == 4 and not on_gpu(batch.device):
            # A third of a convolution's time on a CPU goes into another order of the numbers.
            batch = batch.contiguous(memory_format=torch.channels_last)
        only = {name: w[0] for name, w in self.stack.parameters.items()}
        return self.stack.one(only, {}, batch)[None]

    def _batch(self, index: int, update: int) -> Tensor:
        """Rows of a minibatch of one network: a function of seed, network and update."""
        images = self._rows[index]
        # One size for all of a group, of which some may have an image more.
        size = min(self.config.batch_size, *map(len, self._rows))
        epoch, place = divmod(update, len(images) // size)
        if self._epochs.get(index, (-1,))[0] != epoch:
            counters = (self.group.repetition, self.group.ratio, self.group.nets[index], epoch)
            drawn = torch.randperm(
                len(images), generator=generator(self.config.seed, "c_scores.batches", *counters)
            )
            self._epochs[index] = epoch, images[drawn]
        return self._epochs[index][1][place * size : (place + 1) * size]


def _share(right: Tensor, of: Tensor) -> np.ndarray:
    shares: np.ndarray = (right.sum(1).double() / of.sum(1)).numpy()
    return shares
