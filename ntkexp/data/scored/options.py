"""What images with a difficulty score have in common: their options."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from ntkexp.data.base import Data, Shape
from ntkexp.data.images.options import ImageKind
from ntkexp.errors import UserError
from ntkexp.options import count, option
from ntkexp.references import FromRun

if TYPE_CHECKING:
    import torch

    from ntkexp.data.dataset import Dataset


@dataclass
class Scored(Data):
    """Training images of a set in ten subsets by score, decile1 (lowest, hardest) to decile10.

    Scores exist for training images alone, so test examples are training images that are not
    trained on, and have deciles too. The scores are of a run (`score`, a study c_scores) or of a
    file as Jiang et al. publish it (`score_file`): .npz with `scores` and `labels` in the order of
    the official training file, which the labels must agree with.
    """

    small: ClassVar = {"train_examples": 2000, "test_examples": 1000}
    has_scores: ClassVar[bool] = True
    images: ClassVar[ImageKind]

    train_examples: int = option(40_000, count("examples"))
    test_examples: int = option(10_000, count("examples"))
    score: FromRun = field(default_factory=lambda: FromRun(file="c_scores.parquet"))
    score_file: str | None = None

    def check(self, config: Any = None) -> None:
        if (self.score.run is None) == (self.score_file is None):
            both = "both are given" if self.score_file is not None else "neither is given"
            raise UserError(
                f"data.score and data.score_file: {both}; expected data.score.run=EXPERIMENT or "
                "data.score_file=FILE.npz"
            )

    def shape(self) -> Shape:
        return Shape(self.images.shape, self.images.classes, self.train_examples)

    def files(self) -> Mapping[str, str]:
        from ntkexp.data.scored.scores import files_here

        return files_here(self)

    def build(self, seed: int, device: torch.device, *, progress: bool) -> Dataset:
        from ntkexp.data.scored.dataset import load_scored

        return load_scored(self, seed, device, progress=progress)
