"""Training images of a set, cut into examples and held-out ones, in tenths by their score."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray

from ntkexp.data.dataset import Dataset, Split
from ntkexp.data.images.dataset import channel_moments, chosen_rows, normalised
from ntkexp.data.images.sources import read_images, remarks
from ntkexp.data.scored.options import Scored
from ntkexp.data.scored.scores import TENTHS, Scores, files_here, read_scores, tenths
from ntkexp.errors import UserError


def load_scored(config: Scored, seed: int, device: torch.device, *, progress: bool) -> Dataset:
    """The first images of the seed's order are trained on, the next are held out."""
    kind = config.images
    images = read_images(kind, "train", progress=progress)
    train, test = config.train_examples, config.test_examples
    if train + test > len(images):
        raise UserError(
            f"data.train_examples={train:,} and data.test_examples={test:,}: "
            f"{kind.name} has {len(images):,} training images for both"
        )
    scores = read_scores(config, images.labels, kind.name)
    mean, std = (kind.mean, kind.std) if kind.mean and kind.std else channel_moments(images.pixels)
    order = chosen_rows(seed, "subset", len(images)).numpy()

    def split(rows: NDArray[np.int64]) -> Split:
        inputs = normalised(images.pixels[rows], mean, std, device)
        labels = torch.from_numpy(images.labels[rows]).to(device)
        return replace(
            Split.clean(inputs, labels),
            groups=deciles(scores, rows, device),
            scores=torch.from_numpy(scores.score[rows]).to(device),
        )

    return Dataset(
        name=config.name,
        train=split(order[:train]),
        test=split(order[train : train + test]),
        classes=kind.classes,
        input_shape=kind.shape,
        checksums=dict(files_here(config)),
        remarks=tuple(remarks(kind, "train", images)),
        mean=mean,
        std=std,
        pad_value=-torch.tensor(mean, device=device) / torch.tensor(std, device=device),
    )


def deciles(
    scores: Scores, rows: NDArray[np.int64], device: torch.device
) -> dict[str, torch.Tensor]:
    """decile1 ... decile10 -> who belongs to it; decile1 has the lowest scores."""
    found = torch.from_numpy(tenths(scores, rows)).to(device)
    return {f"decile{tenth + 1}": found == tenth for tenth in range(TENTHS)}
