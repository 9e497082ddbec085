"""A DCGAN of three digits in three channels, whose code a statistics network can read off its
samples (section 5.1 and appendix C.1.3 of "Mutual Information Neural Estimation", Figure 5.5 and
Table 5.1).

ntkexp study -m +exp=information/stacked --with-parents

Which of the 1,000 triples a generator draws is told by a classifier of digits, channel by channel.
Tables C.1 to C.3 give the networks; G and D are normalised as in the code of PacGAN (Lin et al.
2018, https://arxiv.org/abs/1712.04086), whose set-up the text says is its own. c is all of z.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import torch
from omegaconf import MISSING
from torch import Tensor, nn

from ntkexp.data.batches import Batches
from ntkexp.data.images.sources import files_here, kind_of, read, remarks
from ntkexp.models import Model
from ntkexp.optim.adam import Adam
from ntkexp.options import SEED, count, not_negative, option, positive
from ntkexp.references import StartFrom
from ntkexp.results.table import STEP, Table, float64, int64
from ntkexp.seeds import generator
from ntkexp.studies import digit_networks
from ntkexp.studies.base import Study
from ntkexp.studies.digit_classifier import Classifier
from ntkexp.studies.two_gradients import Gan
from ntkexp.theory.information.stacked import CHANNELS, DIGITS, captured, divergence

if TYPE_CHECKING:
    from ntkexp.training.place import Place

LOOKS = Table(
    "stacked_looks",
    "which of 1,000 triples of digits a generator draws",
    {
        "step": STEP,
        "captured": int64("triples among its samples, by the classifier"),
        "divergence": float64("KL(samples || data) of the triples, nats"),
        "accuracy": float64("share of MNIST's test digits that the classifier has right"),
        "information": float64("bound of I(x; z) by the minibatch before, nats; nan if beta is 0"),
        "adversarial_norm": float64("|g_u| of the update before"),
        "information_norm": float64("beta |g_m| of the update before, not clipped"),
    },
)
SAMPLES = Table(
    "stacked_samples",
    "a pixel of an image, from 0 to 255",
    {
        "image": int64("of the last step's generator, from 0; or of the data, from -1 down"),
        "row": int64("of the pixel"),
        "column": int64("of the pixel"),
        "red": int64("of the pixel, the first digit"),
        "green": int64("of the pixel, the second"),
        "blue": int64("of the pixel, the third"),
    },
)
EXAMPLES, CODE, SHOWN, AT_ONCE = 128_000, 100, 25, 1000


@dataclass
class StackedDigits(Study):
    """128,000 triples of training digits; z is uniform on [-1, 1]^100. Without weights of a run
    the classifier is as it was drawn."""

    version: ClassVar = 2  # 1 looked with running averages of batches
    tables: ClassVar = (LOOKS, SAMPLES)
    small: ClassVar = {"base": 8, "steps": 50, "samples": 1000}
    tiny: ClassVar = {"base": 2, "steps": 2, "samples": 50, "batch_size": 10}

    seed: int = option(0, SEED, "the start of all random numbers")
    network: Model = option(MISSING, about="the network that classifies digits")
    weights: StartFrom = field(default_factory=StartFrom)
    beta: float = option(1.0, not_negative(), "the weight of the information; 0 is a DCGAN")
    base: int = option(16, count("channels"), "of G and D next to the image; the text has 64")
    steps: int = option(32_000, count("steps"), "updates of each network")
    batch_size: int = option(100, count("examples"), "examples of an update")
    lr: float = option(0.0002, positive(), "learning rate of Adam")
    samples: int = option(26_000, count("samples"), "samples that are classified at a look")

    def files(self) -> Mapping[str, str]:
        return files_here(kind_of("mnist"))

    def work(self, place: Place) -> Stacking:
        return Stacking(self, place)


class Stacking(Gan):
    def __init__(self, study: StackedDigits, place: Place) -> None:
        widths = [study.base * factor for factor in (1, 2, 4, 8)]
        makers = {
            "generator": lambda: digit_networks.generator(CODE, [*widths[::-1], CHANNELS]),
            "discriminator": lambda: discriminator([CHANNELS, *widths]),
            "statistics": lambda: digit_networks.DigitStatistics(
                CODE, [CHANNELS, 16, 32, 64], nn.ELU, [1024]
            ),
        }
        super().__init__(
            makers, last=study.steps, seed=study.seed, device=place.device, beta=study.beta,
            lr=study.lr, adam=Adam(beta1=0.5),
        )  # fmt: skip
        images = read("mnist", "train")
        self.remarks = tuple(remarks(kind_of("mnist"), "train", images))
        self.study, self.pixels = study, torch.from_numpy(images.pixels)[:, 0]
        self.chances = np.bincount(images.labels, minlength=DIGITS) / len(images)
        stream = generator(self.seed, "stacked.examples")
        self.triples = torch.randint(len(images), (EXAMPLES, CHANNELS), generator=stream)
        self.order = Batches(EXAMPLES, study.batch_size, self.seed)
        self.classifier = Classifier(study.network, study.weights, place.device)
        self.accuracy = self.classifier.accuracy()

    def real(self, step: int) -> Tensor:
        return self.stacked(self.order.indices(step)).to(self.device).float() / 127.5 - 1

    def stacked(self, rows: Tensor) -> Tensor:
        """(n, 3, 28, 28) of bytes: examples."""
        return self.pixels[self.triples[rows]]

    def prior(self, n: int, purpose: str, step: int) -> Tensor:
        drawn = torch.rand(n, CODE, generator=generator(self.seed, purpose, step))
        return (2 * drawn - 1).to(self.device)

    @torch.no_grad()
    def look(self) -> None:
        prior = self.prior(self.study.samples, "gan.look", self.step)
        digits = torch.cat([self.triples_of(part) for part in torch.split(prior, AT_ONCE)]).numpy()
        found = {
            "captured": captured(digits),
            "divergence": divergence(digits, self.chances),
            "accuracy": self.accuracy,
        }
        self.write(LOOKS.name, {"step": self.step, **found, **self.measures()})
        if self.over:
            drawn = (self.networks["generator"](prior[:SHOWN]).cpu() + 1) * 127.5
            self.show(drawn.round().long(), np.arange(len(drawn)))
            self.show(self.stacked(torch.arange(SHOWN)).long(), -1 - np.arange(SHOWN))

    def triples_of(self, prior: Tensor) -> Tensor:
        """(n, 3): the digits of samples."""
        images = self.networks["generator"](prior)
        return self.classifier.classes(images.flatten(0, 1)).view(-1, CHANNELS)

    def show(self, images: Tensor, numbers: np.ndarray) -> None:
        image, row, column = np.indices(images[:, 0].shape).reshape(3, -1)
        red, green, blue = images.transpose(0, 1).reshape(CHANNELS, -1).numpy()
        self.write(
            SAMPLES.name,
            {
                "image": numbers[image], "row": row, "column": column,
                "red": red, "green": green, "blue": blue,
            },
        )  # fmt: skip


def discriminator(channels: Sequence[int]) -> nn.Sequential:
    features = digit_networks.convolutions(channels, nn.ReLU)
    flat = channels[-1] * digit_networks.SIDES[len(channels) - 1] ** 2
    return nn.Sequential(features, nn.Flatten(), nn.Linear(flat, 1))
