"""C-scores: how often networks that were trained without an image have it right (5.3.2 of George's
thesis, chapter 5, "Lazy vs hasty"), estimated on the images at hand.

ntkexp study +exp=lazy/c_scores
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, ClassVar

from ntkexp.errors import UserError
from ntkexp.options import MANY, SEED, Rule, count, each, one_of, option, positive, share, whole
from ntkexp.results.table import Table, float64, int64
from ntkexp.studies.base import Study

if TYPE_CHECKING:
    import torch

    from ntkexp.models import Model
    from ntkexp.training.work import Work

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


@dataclass
class CScores(Study):
    """A permutation cuts the images into tenths; ten networks of ratio k / 10 train on k tenths
    each, so that every image is left out 10 - k times. `nets` / 10 such permutations a ratio.

    All networks make equally many updates, by SGD with a rate that falls to 0 along a cosine.
    """

    tables: ClassVar = (C_SCORES, C_SCORE_NETS)
    small: ClassVar = {"examples": 1000, "nets": 20, "updates": 30}

    seed: int = option(0, SEED)
    images: str = option("mnist", one_of("mnist", "kmnist", "cifar10"))
    examples: int | None = option(None, count("examples", null="for all"))  # the file's first
    ratios: list[int] = option(list(range(1, 10)), each(whole(1, 9, "tenths")))
    nets: int = option(200, TENS)  # of each ratio
    network: Network = Network.mlp
    depth: int = option(1, count("hidden layers", most=100))  # of the mlp
    width: int = option(256, count("units or channels", most=100_000))
    lr: float = option(0.1, positive())
    momentum: float = option(0.9, share("a momentum"))
    batch_size: int = option(128, count("examples"))
    updates: int = option(1000, whole(1, MANY, "updates"))

    def check(self, config: Any = None) -> None:
        if not self.ratios or len(set(self.ratios)) < len(self.ratios):
            raise UserError(
                f"study.ratios={self.ratios}: expected one or more tenths that differ, such as "
                "[1,5,9]"
            )
        if self.left_out_least < 2:
            raise UserError(
                f"study.nets={self.nets}: with study.ratios={self.ratios} an image is left out "
                "once in ten networks; expected 20 networks or more, or no ratio of 9"
            )

    @property
    def left_out_least(self) -> int:
        """How often every image is left out at the largest ratio."""
        return self.nets // 10 * (10 - max(self.ratios))

    @property
    def model(self) -> Model:
        from ntkexp.models.cnn import Cnn
        from ntkexp.models.mlp import Mlp

        if self.network is Network.cnn:
            return Cnn(base=self.width)
        return Mlp(depth=self.depth, width=self.width)

    def work(self, device: torch.device) -> Work:
        from ntkexp.studies.computations.c_scores import HeldOut

        return HeldOut(self, device)
