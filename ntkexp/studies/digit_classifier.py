"""The classifier of digits by which generators are judged: the network of +exp=information/digits.

Studies on digits have it as two options, a network and the weights of a run, and their experiments
name both: `/model@study.network: cnn` and `weights: {run: information/digits}`.
"""

from __future__ import annotations

import torch
from torch import Tensor

from ntkexp import models
from ntkexp.data.images.dataset import moments
from ntkexp.data.images.sources import kind_of, read
from ntkexp.models import Model
from ntkexp.models.weights import start_from
from ntkexp.references import StartFrom

AT_ONCE = 2000


class Classifier:
    """Without weights of a run the network is as it was drawn."""

    def __init__(self, network: Model, weights: StartFrom, device: torch.device) -> None:
        kind, self.device = kind_of("mnist"), device
        (self.mean,), (self.std,) = moments(kind, read("mnist", "train"))
        built = models.build(network, kind.shape, kind.classes, seed=0)
        if weights.run is not None:
            start_from(built, weights)
        self.network = built.eval().requires_grad_(False).to(device)

    def classes(self, images: Tensor) -> Tensor:
        """(n,) int64: the digits of images (n, 28, 28) of [-1, 1], one channel each."""
        parts = torch.split(images.to(self.device), AT_ONCE)
        scores = [self.network(self.seen(part[:, None])) for part in parts]
        return torch.cat(scores).argmax(1).cpu()

    def seen(self, images: Tensor) -> Tensor:
        """Images of [-1, 1] as it was trained on them."""
        return ((images + 1) / 2 - self.mean) / self.std

    def accuracy(self) -> float:
        """The share of MNIST's test digits that it classifies rightly."""
        test = read("mnist", "test")
        images = torch.from_numpy(test.pixels)[:, 0].float() / 127.5 - 1
        return (self.classes(images) == torch.from_numpy(test.labels)).double().mean().item()
