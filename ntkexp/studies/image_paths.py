"""Paths between images that a network takes for one class, within that class (Experiment 9 of "On
the Spectral Bias of Neural Networks").

ntkexp study +exp=spectral/paths --with-parents

The ends are training images of the class and adversarials, images of other classes that were
changed until they pass for it. AutoNEB (ntkexp/studies/elastic_band.py) bends the straight line
between two of them so that the least score of the class along it rises. As in its authors' code,
points are images with pixels in [0, 1], and energy is the score with its sign turned.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from omegaconf import MISSING
from torch import Tensor
from torch.nn import functional

from ntkexp import models
from ntkexp.data.images.dataset import chosen_rows
from ntkexp.data.images.sources import files_here, kind_of, read, remarks
from ntkexp.models import Model
from ntkexp.models.weights import start_from
from ntkexp.options import BELOW_ONE, SEED, count, option, positive
from ntkexp.references import StartFrom
from ntkexp.results.table import Column, Table, boolean, float64, int64, string
from ntkexp.seeds import generator
from ntkexp.studies.base import Study
from ntkexp.studies.elastic_band import Band, at, auto_neb, filled, length
from ntkexp.studies.stepped import Row, SteppedWork

if TYPE_CHECKING:
    from ntkexp.training.place import Place

KINDS = ("images", "image and adversarial", "adversarials")
ENDS: dict[str, Column] = {
    "class": int64("that both ends are taken for"),
    "pair": int64("of the class, from 0"),
    "ends": string("the kinds of both", choices=KINDS),
}
IMAGE_PATHS = Table(
    "image_paths",
    "a path between two images, beside the straight line",
    ENDS
    | {
        "first": int64("row of an end's image in the training file"),
        "second": int64("row of the other's"),
        "first_label": int64("class of that image in the file"),
        "second_label": int64("class of that image in the file"),
        "line_stays": boolean("every point of the straight line is taken for the class"),
        "path_stays": boolean("every point of the path is"),
        "line_certainty": float64("least softmax probability of the class on the line"),
        "path_certainty": float64("least softmax probability of the class on the path"),
        "length": float64("of the path over that of the line"),
    },
)
PATH_STRIPS = Table(
    "path_strips",
    "a pixel of an image along one of the first paths of airplanes, from 0 to 255",
    ENDS
    | {
        "place": int64("of the image along the path, evenly, from 0 at one end"),
        "certainty": float64("softmax probability of the class of that image"),
        "row": int64("of the pixel"),
        "column": int64("of the pixel"),
        "red": int64("of the pixel"),
        "green": int64("of the pixel"),
        "blue": int64("of the pixel"),
    },
)
# Pairs whose paths are bent together, and points of a line between its ends.
AT_ONCE, LINE = 10, 99
# Paths of airplanes that are kept as images, of each kind with an adversarial, and their images.
SHOWN, STRIP = 3, 7
# So many times `ends` images are tried until `ends` of them are taken for the class.
TRIED = 4


@dataclass
class ImagePaths(Study):
    """Images and adversarials are as many; pairs are drawn from all of them, `first_pairs` of
    class 0. Without weights of a run the network is as it was drawn."""

    tables: ClassVar = (IMAGE_PATHS, PATH_STRIPS)
    small: ClassVar = {"ends": 8, "pairs": 4, "first_pairs": 20}
    tiny: ClassVar = {"ends": 3, "pairs": 3, "first_pairs": 6, "attack_steps": 4, "steps": 2}

    seed: int = option(0, SEED, "the start of all random numbers")
    network: Model = option(MISSING, about="the network that classifies CIFAR-10")
    weights: StartFrom = field(default_factory=StartFrom)
    ends: int = option(50, count("images"), "images of a class, and adversarials that pass for it")
    pairs: int | None = option(None, count("pairs", null="for all"), "of each other class")
    first_pairs: int | None = option(None, count("pairs", null="for all"), "of class 0, airplanes")
    radius: float = option(8.0, positive(255), "most that the attack changes a pixel, of 255")
    attack_steps: int = option(40, count("steps"), "of the attack")
    cycles: int = option(4, count("cycles"), "of AutoNEB")
    steps: int = option(10, count("steps"), "of gradient descent in a cycle")
    lr: float = option(0.001, positive(), "learning rate")
    momentum: float = option(0.9, BELOW_ONE, "what is left of the last change in the next")

    def files(self) -> Mapping[str, str]:
        return files_here(kind_of("cifar10"), ("train",))

    def work(self, place: Place) -> PathFinder:
        return PathFinder(self, place.device)

    def most_pairs(self, label: int) -> int:
        all_pairs = self.ends * (2 * self.ends - 1)
        return min(all_pairs, (self.pairs if label else self.first_pairs) or all_pairs)

    @property
    def band(self) -> Band:
        return Band(self.cycles, self.steps, self.lr, self.momentum, low=0.0, high=1.0)


class PathFinder(SteppedWork):
    """A step bends the paths of a few pairs; what it finds depends on the options alone."""

    offers: frozenset[str] = frozenset()

    def __init__(self, study: ImagePaths, device: torch.device) -> None:
        kind, images = kind_of("cifar10"), read("cifar10", "train")
        self.remarks = tuple(remarks(kind, "train", images))
        self.study, self.device, self.shape = study, device, kind.shape
        self.pixels, self.labels = images.pixels, torch.from_numpy(images.labels)
        self.order = chosen_rows(study.seed, "paths", len(images))
        self.mean = torch.tensor(kind.mean, device=device)[:, None, None]
        self.std = torch.tensor(kind.std, device=device)[:, None, None]
        network = models.build(study.network, kind.shape, kind.classes, study.seed)
        if study.weights.run is not None:
            start_from(network, study.weights)
        self.network = network.eval().requires_grad_(False).to(device)
        self.blocks = [
            (label, first)
            for label in range(kind.classes)
            for first in range(0, study.most_pairs(label), AT_ONCE)
        ]
        self._ends: dict[int, tuple[Tensor, Tensor, Tensor]] = {}
        super().__init__(last=len(self.blocks), seed=study.seed)

    def update(self, step: int) -> Row:
        label, start = self.blocks[step]
        rows, points, adversarial = self.ends(label)
        all_pairs = self.pairs(label, len(rows))
        pairs = all_pairs[start : start + AT_ONCE]
        if not len(pairs):
            return {}
        ends = points[pairs.to(self.device)]  # (B, 2, pixels)
        path = auto_neb(lambda images: -self.scores(images)[:, label], ends, self.study.band)
        line_is, line_chance = self.classified(filled(ends, LINE), label)
        path_is, path_chance = self.classified(filled(path), label)
        first, second = rows[pairs].T
        kinds = adversarial[all_pairs].sum(1)
        self.write(
            IMAGE_PATHS.name,
            {
                "class": label,
                "pair": np.arange(start, start + len(pairs)),
                "ends": [KINDS[kind] for kind in kinds[start : start + AT_ONCE]],
                "first": first.numpy(),
                "second": second.numpy(),
                "first_label": self.labels[first].numpy(),
                "second_label": self.labels[second].numpy(),
                "line_stays": line_is.all(1),
                "path_stays": path_is.all(1),
                "line_certainty": line_chance.min(1),
                "path_certainty": path_chance.min(1),
                "length": (length(path) / length(ends)).double().cpu().numpy(),
            },
        )
        for kind in (1, 2) if label == 0 else ():
            for number in (kinds == kind).nonzero()[:SHOWN, 0].tolist():
                if start <= number < start + len(pairs):
                    self.write_strip(path[[number - start]], label, number, KINDS[kind])
        return {"stay": float(path_is.all(1).mean())}

    def write_strip(self, path: Tensor, label: int, number: int, kind: str) -> None:
        images = at(path, torch.linspace(0, 1, STRIP).to(path)[None])
        levels = (255 * images[0]).round().long().cpu().view(STRIP, *self.shape).numpy()
        place, row, column = np.indices(levels[:, 0].shape).reshape(3, -1)
        red, green, blue = levels.transpose(1, 0, 2, 3).reshape(3, -1)
        self.write(
            PATH_STRIPS.name,
            {
                "class": label,
                "pair": number,
                "ends": kind,
                "place": place,
                "certainty": self.classified(images, label)[1][0, place],
                "row": row,
                "column": column,
                "red": red,
                "green": green,
                "blue": blue,
            },
        )

    def ends(self, label: int) -> tuple[Tensor, Tensor, Tensor]:
        """The ends of a class: rows in the training file, points (n, pixels), which of them are
        adversarials. Fewer than asked for, of a network that hardly takes an image for it."""
        if label not in self._ends:
            of_class = self.labels[self.order] == label
            images = self.taken_for(label, self.order[of_class], lambda points: points)
            others = self.taken_for(
                label, self.order[~of_class], lambda points: self.attacked(points, label)
            )
            rows, points = (torch.cat(both) for both in zip(images, others, strict=True))
            self._ends[label] = rows, points, torch.arange(len(rows)) >= len(images[0])
        return self._ends[label]

    def taken_for(
        self, label: int, rows: Tensor, made: Callable[[Tensor], Tensor]
    ) -> tuple[Tensor, Tensor]:
        """The first of these rows whose images, made into what they are to be, are taken for the
        class, and the points that they were made into."""
        wanted, taken, points = self.study.ends, rows[:0], self.images(rows[:0])
        for start in range(0, TRIED * wanted, wanted):
            if len(taken) < wanted:
                batch = rows[start : start + wanted]
                images = made(self.images(batch))
                right = self.scores(images).argmax(1) == label
                taken = torch.cat([taken, batch[right.cpu()]])[:wanted]
                points = torch.cat([points, images[right]])[:wanted]
        return taken, points

    def pairs(self, label: int, ends: int) -> Tensor:
        """(pairs, 2): the pairs of a class, in the seed's order."""
        all_pairs = torch.triu_indices(ends, ends, 1).T
        order = torch.randperm(len(all_pairs), generator=generator(self.seed, "pairs", label))
        return all_pairs[order[: self.study.most_pairs(label)]]

    def images(self, rows: Tensor) -> Tensor:
        """(n, pixels): images of the training file."""
        return torch.from_numpy(self.pixels[rows.numpy()]).to(self.device).flatten(1) / 255

    def scores(self, points: Tensor) -> Tensor:
        """(n, classes): the outputs of the network for images."""
        images = (points.view(-1, *self.shape) - self.mean) / self.std
        # As a CPU's convolutions want them, which takes a tenth less time.
        scores: Tensor = self.network(images.contiguous(memory_format=torch.channels_last))
        return scores

    def classified(self, path: Tensor, label: int) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
        """(B, m) both: True where points of paths are taken for the class, and its probability."""
        scores = self.scores(path.flatten(0, 1)).double().cpu()
        right, chance = scores.argmax(1) == label, scores.softmax(1)[:, label]
        return right.view(path.shape[:2]).numpy(), chance.view(path.shape[:2]).numpy()

    def attacked(self, images: Tensor, label: int) -> Tensor:
        """Adversarials by projected gradient descent on the cross entropy of the class (Madry et
        al. 2018, https://arxiv.org/abs/1706.06083, towards a class): no pixel moves by more than
        the radius, nor out of [0, 1]."""
        radius, steps = self.study.radius / 255, self.study.attack_steps
        low, high = (images - radius).clamp(min=0), (images + radius).clamp(max=1)
        wanted = torch.full((len(images),), label, device=self.device)
        for _ in range(steps):
            images = images.detach().requires_grad_()
            loss = functional.cross_entropy(self.scores(images), wanted, reduction="sum")
            (slope,) = torch.autograd.grad(loss, images)
            images = (images - 2.5 * radius / steps * slope.sign()).clamp(low, high)
        return images.detach()
