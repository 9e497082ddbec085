"""Digits through a bottleneck whose information about the image is kept low (section 5.3 of "Mutual
Information Neural Estimation", Table 5.3).

ntkexp study -m +exp=information/bottleneck

An encoder sends an image x, 2 x - 1, to a code z of 256 numbers, a linear decoder reads the class
off it. What is lowered is the cross-entropy, and beta times

    dvb                KL(q(z | x) || N(0, 1)), a bound of I(x, z) (Alemi et al. 2016)
    mine_...           the bound of a statistics network, which raises it meanwhile

Rates and weights are those of Alemi et al. (2016): weights are averaged along training, and classes
are the mean of 12 predictions where z is random.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, log_softmax, softplus

from ntkexp.data.batches import Batches
from ntkexp.data.images.options import SplitName
from ntkexp.data.images.sources import SPLITS, files_here, kind_of, read, remarks
from ntkexp.information.mine import Objective, lowered, together_and_apart
from ntkexp.optim.adam import Adam
from ntkexp.options import MANY, SEED, count, not_negative, option, positive, whole
from ntkexp.probes.view import View
from ntkexp.results.table import STEP, Table, float64
from ntkexp.seeds import derived_seed, generator
from ntkexp.studies.base import Study
from ntkexp.studies.bottleneck_networks import CODE, UNITS, Encoder, Statistics, Variant
from ntkexp.studies.stepped import Row, SteppedWork
from ntkexp.theory.information import mixture

if TYPE_CHECKING:
    from ntkexp.training.place import Place

LOOKS = Table(
    "bottleneck",
    "a classifier at a look",
    {
        "step": STEP,
        "error": float64("share of test images that are wrong, with averaged weights"),
        "cross_entropy": float64("of the minibatch before, nats"),
        "information": float64(
            "what is lowered for I(x, z), of the minibatch before, nats; or nan"
        ),
    },
)
INFORMATION = Table(
    "bottleneck_information",
    "the information between images and codes at the end, nats",
    {
        "step": STEP,
        "mine": float64("the bound of the statistics network on all training images, or nan"),
        "truth": float64("of a Gaussian encoder, as that of a mixture over them, or nan"),
    },
)
BATCH, PREDICTIONS, AVERAGED, SHRINK = 100, 12, 0.999, 0.97
SMOOTHING, CONFIDENCE, DROPPED = 0.1, 0.3, 0.5
MEASURED = 1000  # codes by which the mixture's information is sampled
AT_ONCE = 2000


@dataclass
class Bottleneck(Study):
    tables: ClassVar = (LOOKS, INFORMATION)
    small: ClassVar = {"steps": 300, "examples": 3000}
    tiny: ClassVar = {"steps": 3, "examples": 200}

    seed: int = option(0, SEED, "the start of all random numbers")
    variant: Variant = option(Variant.mine_gaussian, about="what keeps it from overfitting")
    beta: float = option(0.001, not_negative(), "the weight of the information")
    sigma: float = option(0.3, positive(), "standard deviation of noise on the image")
    examples: int | None = option(None, whole(2, MANY, "images", "for all"), "training images")
    steps: int = option(36_000, count("steps"), "updates; 600 are an epoch")
    lr: float = option(0.0001, positive(), "learning rate of Adam at the start")
    shrink_every: int = option(360, count("steps"), "updates after which the rate falls by 3 %")

    def files(self) -> Mapping[str, str]:
        return files_here(kind_of("mnist"))

    def work(self, place: Place) -> Training:
        return Training(self, place)


class Training(SteppedWork):
    def __init__(self, study: Bottleneck, place: Place) -> None:
        super().__init__(last=study.steps, seed=study.seed)
        self.study, self.variant, self.device = study, study.variant, place.device
        images = {split: read("mnist", split) for split in SPLITS}
        self.remarks = tuple(remarks(kind_of("mnist"), "train", images["train"]))
        chosen = {"train": study.examples, "test": study.examples}
        self.pixels = {
            split: torch.from_numpy(part.pixels[: chosen[split]]).flatten(1)
            for split, part in images.items()
        }
        self.labels = {
            split: torch.from_numpy(part.labels[: chosen[split]]).to(self.device)
            for split, part in images.items()
        }
        self.order = Batches(len(self.pixels["train"]), BATCH, self.seed, drop_last=True)
        size = self.pixels["train"].shape[1]
        more = CODE if self.variant is Variant.mine_propagated else 0
        with torch.random.fork_rng(devices=[]):
            torch.default_generator.manual_seed(derived_seed(self.seed, "bottleneck.init"))
            encoder = Encoder(size + more, CODE * (2 if self.variant.gaussian else 1))
            decoder, statistics = nn.Linear(CODE, 10), Statistics(size + CODE)
        classifier = nn.ModuleDict({"encoder": encoder, "decoder": decoder})
        self.networks = {"classifier": classifier, "averaged": copy.deepcopy(classifier)}
        if self.variant.measured:
            self.networks["statistics"] = statistics
        self.networks = {name: part.to(self.device) for name, part in self.networks.items()}
        self.updates = {
            name: Adam(beta1=0.5).build(self.networks[name].parameters())
            for name in ("classifier", "statistics")
            if name in self.networks
        }
        self.memory = {
            "log_mean": torch.zeros((), device=self.device),
            "latest": torch.full((2,), math.nan),
        }

    def images(self, split: SplitName, rows: Tensor | slice) -> Tensor:
        return self.pixels[split][rows].to(self.device).float() / 127.5 - 1

    def codes(
        self, network: nn.ModuleDict, x: Tensor, stream: torch.Generator, *, training: bool
    ) -> tuple[Tensor, Tensor | None, Tensor | None]:
        """z, and mean and sigma of a Gaussian one."""
        encoder, variant = network["encoder"], self.variant
        if variant.noisy and (training or variant is Variant.mine_additive):
            x = x + self.study.sigma * self.normal(x.shape, stream)
        if variant is Variant.mine_propagated:
            x = torch.cat([x, self.normal((len(x), CODE), stream)], 1)
        masks = None
        if variant is Variant.dropout and training:
            kept = torch.rand(2, len(x), UNITS, generator=stream) >= DROPPED
            masks = kept.to(self.device) / (1 - DROPPED)
        outputs = encoder(x, masks)
        if not variant.gaussian:
            return outputs, None, None
        mean, rho = outputs.chunk(2, 1)
        sigma = softplus(rho - 5)
        return mean + sigma * self.normal(mean.shape, stream), mean, sigma

    def normal(self, shape: Sequence[int], stream: torch.Generator) -> Tensor:
        return torch.randn(*shape, generator=stream).to(self.device)

    def update(self, step: int) -> Row:
        stream = generator(self.seed, "bottleneck.step", step)
        rows = self.order.indices(step)
        x, y = self.images("train", rows), self.labels["train"][rows.to(self.device)]
        classifier = self.networks["classifier"]
        assert isinstance(classifier, nn.ModuleDict)
        z, mean, sigma = self.codes(classifier, x, stream, training=True)
        noise: list[Tensor] = []
        if self.variant.measured:
            widths = (x.shape[1] + CODE, Statistics.WIDTH, Statistics.WIDTH)
            noise = [self.normal((2 * len(x), width), stream) for width in widths]
            loss, self.memory["log_mean"], _ = self.told_apart(x, z.detach(), noise)
            self.updates["statistics"].descend(loss)
            self.updates["statistics"].apply(self.rate("statistics", step))
        logits = classifier["decoder"](z)
        right = cross_entropy(logits, y, label_smoothing=self.smoothing)
        penalty, information = self.penalty(x, z, mean, sigma, logits, noise)
        row = self.learnt("classifier", (right + penalty).item(), {})
        self.memory["latest"] = torch.tensor([right.item(), information])
        self.updates["classifier"].descend(right + penalty)
        self.updates["classifier"].apply(self.rate("classifier", step))
        self.average()
        return row

    @property
    def smoothing(self) -> float:
        return SMOOTHING if self.variant is Variant.smoothing else 0.0

    def penalty(
        self, x: Tensor, z: Tensor, mean: Tensor | None, sigma: Tensor | None, logits: Tensor,
        noise: Sequence[Tensor],
    ) -> tuple[Tensor, float]:  # fmt: skip
        """What is added to the cross-entropy, and the information in it."""
        if self.variant is Variant.confidence:
            logs = log_softmax(logits, 1)
            return CONFIDENCE * (logs.exp() * logs).sum(1).mean(), math.nan
        if self.variant.measured:
            loss, _, bound = self.told_apart(x, z, noise)
            return -self.study.beta * loss, bound
        if mean is None or sigma is None:
            return torch.zeros((), device=self.device), math.nan
        kl = (mean**2 + sigma**2 - 1 - 2 * sigma.log()).sum(1).mean() / 2
        return self.study.beta * kl, kl.item()

    def told_apart(
        self, x: Tensor, z: Tensor, noise: Sequence[Tensor]
    ) -> tuple[Tensor, Tensor, float]:
        """What the statistics network lowers, its moving average, and the bound."""
        joint, apart = self.networks["statistics"](together_and_apart(x, z), noise).chunk(2)
        loss, log_mean = lowered(Objective.mine, joint, apart, self.memory["log_mean"])
        return loss, log_mean, Objective.mine.bound(joint.detach(), apart.detach())

    def rate(self, name: str, step: int) -> float:
        return self.study.lr * SHRINK ** (step // self.study.shrink_every)

    @torch.no_grad()
    def average(self) -> None:
        now = self.networks["classifier"].parameters()
        for mean, weights in zip(self.networks["averaged"].parameters(), now, strict=True):
            mean.lerp_(weights, 1 - AVERAGED)

    @contextmanager
    def looked_at(self, event: str | None, *, scheduled: bool) -> Iterator[Sequence[View]]:
        with super().looked_at(event, scheduled=scheduled) as views:
            entropy, information = self.memory["latest"].tolist()
            numbers = {"cross_entropy": entropy, "information": information}
            self.write(LOOKS.name, {"step": self.step, "error": self.error(), **numbers})
            if self.over:
                self.write(INFORMATION.name, {"step": self.step, **self.information()})
            yield views

    @torch.no_grad()
    def error(self) -> float:
        """Of the test images, by the mean of predictions."""
        averaged = self.networks["averaged"]
        assert isinstance(averaged, nn.ModuleDict)
        stream = generator(self.seed, "bottleneck.test", self.step)
        wrong, repeats = 0, PREDICTIONS if self.variant.random else 1
        for first in range(0, len(self.labels["test"]), AT_ONCE):
            part = slice(first, first + AT_ONCE)
            x = self.images("test", part)
            chances = sum(
                averaged["decoder"](self.codes(averaged, x, stream, training=False)[0]).softmax(1)
                for _ in range(repeats)
            )
            assert isinstance(chances, Tensor)
            wrong += int((chances.argmax(1) != self.labels["test"][part]).sum())
        return wrong / len(self.labels["test"])

    @torch.no_grad()
    def information(self) -> dict[str, float]:
        """Of the averaged encoder: MINE's bound, and what is true of a Gaussian one."""
        averaged = self.networks["averaged"]
        assert isinstance(averaged, nn.ModuleDict)
        stream = generator(self.seed, "bottleneck.information")
        count = len(self.pixels["train"])
        joint, apart, gaussians = [], [], []
        for first in range(0, count, AT_ONCE):
            x = self.images("train", slice(first, first + AT_ONCE))
            z, mean, sigma = self.codes(averaged, x, stream, training=False)
            if self.variant.measured:
                both = self.networks["statistics"](together_and_apart(x, z)).chunk(2)
                joint.append(both[0])
                apart.append(both[1])
            if mean is not None and sigma is not None:
                gaussians.append((z, mean, sigma))
        found = {"mine": math.nan, "truth": math.nan}
        if joint:
            found["mine"] = Objective.mine.bound(torch.cat(joint), torch.cat(apart))
        if gaussians:
            z, mean, sigma = (torch.cat(part).cpu() for part in zip(*gaussians, strict=True))
            chosen = torch.randperm(count, generator=stream)[:MEASURED]
            found["truth"] = mixture.information(
                mean.numpy(), sigma.numpy(), z[chosen].numpy(), chosen.numpy()
            )
        return found
