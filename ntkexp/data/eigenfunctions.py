"""A task that a network's own kernel makes: the sign of an eigenfunction of its tangent kernel.

ntkexp train +exp=linearised/mlp data.index=20

The label of an image x is sign phi_j(x), phi_j the eigenfunction with the j-th largest eigenvalue
of the kernel of a run of study=eigenpairs, on that run's images (Ortiz-Jimenez et al. 2021,
section 3.1). The images are the same for every j.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import torch

from ntkexp.data.base import Data, Shape
from ntkexp.data.dataset import Dataset, Split
from ntkexp.data.images.first import first_images
from ntkexp.data.images.options import SplitName, Standardise
from ntkexp.data.images.sources import SPLITS, files_here, kind_of
from ntkexp.errors import UserError
from ntkexp.options import FOR_ALL, count, one_of, option
from ntkexp.references import FromRun


@dataclass
class Eigenfunctions(Data):
    """Training and test examples are the first images of both files. How many they are, and how
    they are standardised, must be as in the run `pairs`. None is all."""

    groups: ClassVar = frozenset()

    images: str = option("cifar10", one_of("cifar10", "mnist"), "the images")
    pairs: FromRun = option(FromRun(file="vectors.npy"), about="the run of study=eigenpairs")
    index: int = option(1, count("as the place of an eigenfunction"), "which one, from the largest")
    train_examples: int | None = option(None, FOR_ALL, "training images, as many as that run has")
    test_examples: int | None = option(None, FOR_ALL, "test images, as many as that run has")
    standardise: Standardise = option(Standardise.published, about="by whose mean and deviation")

    small: ClassVar = {"train_examples": 2000, "test_examples": 1000}
    tiny: ClassVar = {"train_examples": 40, "test_examples": 30}

    def check(self, config: object = None) -> None:
        if self.pairs.run is None:
            raise UserError("data.pairs.run: has no value; expected a run of study=eigenpairs")

    def shape(self) -> Shape:
        kind = kind_of(self.images)
        return Shape(kind.shape, 1, self.train_examples or kind.examples["train"])

    def files(self) -> Mapping[str, str]:
        return files_here(kind_of(self.images))

    def build(self, seed: int, device: torch.device, *, progress: bool) -> Dataset:
        counts: dict[SplitName, int | None]
        counts = {"train": self.train_examples, "test": self.test_examples}
        images = first_images(self.images, counts, device, self.standardise, progress=progress)
        self.pairs.refuse_other_data(images.checksums)
        count = len(images.train)
        positive = torch.from_numpy(self.signs(count, len(images.test)) > 0).long().to(device)
        train = Split.clean(images.train.inputs, positive[:count])
        test = Split.clean(images.test.inputs, positive[count:])
        return replace(images, name=self.name, train=train, test=test, classes=2)

    def signs(self, train: int, test: int) -> np.ndarray:
        """phi_j of all images, training images first."""
        vectors, path = self.pairs.array(), self.pairs.path
        # Runs from before there was the option have its neutral value.
        seen = self.pairs.config.get("study.standardise", Standardise.published)
        if seen != self.standardise:
            raise UserError(
                f"data.standardise={self.standardise}: {path} is about images with "
                f"study.standardise={seen}; expected the same"
            )
        kept = [self.pairs.config.get(f"study.{split}_examples") for split in SPLITS]
        if vectors.shape[1] != train + test or kept != [self.train_examples, self.test_examples]:
            raise UserError(
                f"{path} is about {vectors.shape[1]:,} images; expected {train:,} training and "
                f"{test:,} test images (data.train_examples, data.test_examples)"
            )
        if self.index > len(vectors):
            raise UserError(f"data.index={self.index}: {path} has {len(vectors)} eigenfunctions")
        return np.asarray(vectors[self.index - 1])
