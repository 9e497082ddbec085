"""Training images in ten subsets by a difficulty score, for the data sets scored_mnist and
scored_cifar10."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray

from ntkexp.data.base import Data, Shape
from ntkexp.data.dataset import Dataset, Split
from ntkexp.data.images.dataset import ImageKind, chosen_rows, moments, normalised
from ntkexp.data.images.files import Labels
from ntkexp.data.images.sources import files_here, read_images, remarks, sha256_of
from ntkexp.errors import UserError
from ntkexp.options import count, option
from ntkexp.references import FromRun

TENTHS = 10


@dataclass
class Scored(Data):
    """Training images of a set in ten subsets by score, decile1 (lowest, hardest) to decile10.

    Scores exist for training images alone, so test examples are training images that are not
    trained on, and have deciles too. The scores are of a run (`score`, a study c_scores) or of a
    file as Jiang et al. publish it (`score_file`): .npz with `scores` and `labels` in the order of
    the official training file, which the labels must agree with.
    """

    groups: ClassVar = frozenset(f"decile{number}" for number in range(1, 11))
    small: ClassVar = {"train_examples": 2000, "test_examples": 1000}
    tiny: ClassVar = {"train_examples": 40, "test_examples": 30}
    has_scores: ClassVar[bool] = True
    images: ClassVar[ImageKind]

    train_examples: int = option(40_000, count("examples"), "training images")
    test_examples: int = option(10_000, count("examples"), "training images to test on")
    score: FromRun = option(FromRun(file="c_scores.parquet"), about="the run that has the scores")
    score_file: str | None = option(None, about="a published file of scores (.npz) in its place")

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
        """File -> sha256 of the images and of a published file of scores."""
        checksums = files_here(self.images)
        path = Path(self.score_file or "").expanduser()
        if checksums and path.is_file():
            checksums[str(path)] = sha256_of(path)
        return checksums

    def build(self, seed: int, device: torch.device, *, progress: bool) -> Dataset:
        """The first images of the seed's order are trained on, the next are held out."""
        kind = self.images
        images = read_images(kind, "train", progress=progress)
        train, test = self.train_examples, self.test_examples
        scores = read_scores(self, images.labels, kind.name)
        if train + test > len(scores.score):
            raise UserError(
                f"data.train_examples={train:,} and data.test_examples={test:,}: "
                f"{kind.name} has {len(scores.score):,} scored training images for both"
            )
        mean, std = moments(kind, images)
        order = chosen_rows(seed, "subset", len(scores.score)).numpy()

        def split(rows: NDArray[np.int64]) -> Split:
            inputs = normalised(images.pixels[rows], mean, std, device)
            labels = torch.from_numpy(images.labels[rows]).to(device)
            return replace(
                Split.clean(inputs, labels),
                groups=deciles(scores, rows, device),
                scores=torch.from_numpy(scores.score[rows]).to(device),
            )

        return Dataset(
            name=self.name,
            train=split(order[:train]),
            test=split(order[train : train + test]),
            classes=kind.classes,
            input_shape=kind.shape,
            checksums=dict(self.files()),
            remarks=tuple(remarks(kind, "train", images)),
            mean=mean,
            std=std,
        )


@dataclass(frozen=True)
class Scores:
    """The scores of a file's images, or of its first ones, in their order. `further` decides
    between equal scores."""

    score: NDArray[np.float64]
    labels: Labels
    further: NDArray[np.float64]


def read_scores(config: Scored, labels: Labels, images: str) -> Scores:
    """Scores for images with these labels, in this order."""
    if config.score_file is None:
        columns = ("example", "label", "score", "probability")
        table = config.score.table(*columns).sort_values("example")
        where = f"{config.score.path}"
        scores = Scores(
            table["score"].to_numpy(float),
            table["label"].to_numpy(np.int64),
            table["probability"].to_numpy(float),
        )
        # A study may have scored the file's first images alone (study.examples).
        labels = labels[: len(scores.labels)]
    else:
        where = config.score_file
        scores = published(Path(config.score_file).expanduser())
    refuse_other_labels(scores.labels, labels, where, images)
    return scores


def published(path: Path) -> Scores:
    """The scores of a file as Jiang et al. 2021 (https://arxiv.org/abs/2002.03206) publish it."""
    try:
        with path.open("rb") as opened, np.load(opened, allow_pickle=False) as file:
            score, labels = (file[name].reshape(-1) for name in ("scores", "labels"))
        if len(score) != len(labels):
            raise ValueError(f"{len(score):,} scores of {len(labels):,} labels")
    except Exception as error:  # what is no such file raises nearly anything
        raise UserError(
            f"data.score_file={path}: cannot be read ({error}); expected a .npz file with scores "
            "and labels"
        ) from error
    return Scores(score.astype(float), labels.astype(np.int64), np.zeros(len(score)))


def refuse_other_labels(scored: Labels, labels: Labels, where: str, images: str) -> None:
    """Refuse scores in another order than the images: they would be other images' scores."""
    if len(scored) != len(labels):
        raise UserError(
            f"{where}: scores of {len(scored):,} images, {images} has {len(labels):,}; expected "
            "one for each, in the order of its training file"
        )
    if len(wrong := np.flatnonzero(scored != labels)):
        raise UserError(
            f"{where}, row {wrong[0]}: label {scored[wrong[0]]}, {images} has {labels[wrong[0]]} "
            f"there ({len(wrong):,} of {len(labels):,} differ); expected the images in the order "
            "of the file that was scored, and this copy has another"
        )


def tenths(scores: Scores, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """The tenth of these images that each of them is in by its score: 0 has the lowest.

    >>> scores = Scores(np.arange(20.0), np.zeros(20, int), np.zeros(20))
    >>> tenths(scores, np.array([19, 0, 5, 1, 18, 6, 7, 8, 9, 10]))
    array([9, 0, 2, 1, 8, 3, 4, 5, 6, 7])
    """
    order = np.lexsort((rows, scores.further[rows], scores.score[rows]))
    tenth = np.empty(len(rows), dtype=np.int64)
    tenth[order] = np.arange(len(rows)) * TENTHS // len(rows)
    return tenth


def deciles(
    scores: Scores, rows: NDArray[np.int64], device: torch.device
) -> dict[str, torch.Tensor]:
    """decile1 ... decile10 -> the mask of its images; decile1 has the lowest scores."""
    tenth_of_each = torch.from_numpy(tenths(scores, rows)).to(device)
    return {f"decile{tenth + 1}": tenth_of_each == tenth for tenth in range(TENTHS)}
