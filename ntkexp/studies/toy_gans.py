"""A generator in the plane whose code a statistics network can read off its samples (section 5.1 of
"Mutual Information Neural Estimation", Figures 5.3 and 5.4).

ntkexp study +exp=information/toys

    D raises  E log D(x) + E log(1 - D(G(e, c)))
    T raises  the bound of I(G(e, c); c)
    G raises  E log D(G(e, c)) + beta I(G(e, c); c)

G follows the gradient of its first term and, clipped by it, that of its second.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import torch
from torch import Tensor, nn
from torch.nn.functional import softplus

from ntkexp.data.batches import Batches
from ntkexp.information.clip import clipped, norm
from ntkexp.information.mine import Objective, lowered, together_and_apart
from ntkexp.optim.adam import Adam
from ntkexp.options import SEED, STEPS, count, not_negative, one_of, option, positive
from ntkexp.probes.view import View
from ntkexp.results.table import STEP, Table, float32, float64, int64
from ntkexp.seeds import derived_seed, generator
from ntkexp.studies.base import Study
from ntkexp.studies.stepped import Row, SteppedWork
from ntkexp.theory.information.toys import SIGMA, TOYS, Toy

if TYPE_CHECKING:
    from ntkexp.training.place import Place

LOOKS = Table(
    "gan_looks",
    "what 10,000 samples of a generator capture",
    {
        "step": STEP,
        "captured": int64("modes, or stretches of the spiral, with samples enough"),
        "modes": int64("how many there are"),
        "near": float64("share of samples within three standard deviations of one"),
        "information": float64("bound of I(x; c) by the minibatch before, nats; nan if beta is 0"),
        "adversarial_norm": float64("|g_u| of the update before"),
        "information_norm": float64("beta |g_m| of the update before, not clipped"),
    },
)
SAMPLES = Table(
    "gan_samples",
    "a sample of a generator",
    {"step": STEP, "x": float32("first coordinate"), "y": float32("second coordinate")},
)
JUDGED, SHOWN = 10_000, 2000
EXAMPLES, NOISE, CODE, SLOPE = 100_000, 8, 2, 0.2


def drawn(toy: Toy, n: int, stream: torch.Generator) -> Tensor:
    """(n, 2): points that are drawn evenly, with noise."""
    chosen = torch.randint(len(toy.points), (n,), generator=stream)
    noise = torch.randn(n, 2, generator=stream)
    return torch.from_numpy(toy.points).float()[chosen] + SIGMA * noise


@dataclass
class ToyGans(Study):
    """Generator of 2 x 500 units with batch normalisation, discriminator and statistics network of
    3 x 400; leaky ReLU of slope .2; 100,000 examples, noise of 8 numbers, code of 2."""

    tables: ClassVar = (LOOKS, SAMPLES)
    small: ClassVar = {"steps": 500}
    tiny: ClassVar = {"steps": 5}

    seed: int = option(0, SEED, "the start of all random numbers")
    toy: str = option("gaussians", one_of(*TOYS), "gaussians (25 of them) or spiral")
    beta: float = option(1.0, not_negative(), "the weight of the information; 0 is a GAN")
    clip: bool = option(True, about="clip the information's gradient by the other one")
    steps: int = option(5000, count("steps"), "updates of each network")
    batch_size: int = option(100, count("examples"), "examples of an update")
    lr: float = option(0.0001, positive(), "learning rate of Adam")
    shown: list[int] = option([5000], STEPS, "steps whose samples are kept, beside the last")

    def work(self, place: Place) -> Game:
        return Game(self, place)


class Game(SteppedWork):
    def __init__(self, study: ToyGans, place: Place) -> None:
        super().__init__(last=study.steps, seed=study.seed)
        self.study, self.device, self.toy = study, place.device, TOYS[study.toy]()
        examples = drawn(self.toy, EXAMPLES, generator(self.seed, "gan.examples"))
        self.examples = examples.to(self.device)
        self.order = Batches(EXAMPLES, study.batch_size, self.seed, self.device)
        makers = {
            "discriminator": lambda: layers(2, 400, 3, 1),
            "statistics": lambda: layers(2 + CODE, 400, 3, 1),
            "generator": lambda: layers(NOISE + CODE, 500, 2, 2, normed=True),
        }
        if study.beta == 0:
            del makers["statistics"]
        self.networks = {
            name: drawn_by(self.seed, name, make).to(self.device) for name, make in makers.items()
        }
        self.updates = {
            name: Adam().build(network.parameters()) for name, network in self.networks.items()
        }
        self.memory = {
            "log_mean": torch.zeros((), device=self.device),
            "norms": torch.zeros(2, device=self.device),
            "information": torch.tensor(torch.nan),
        }

    def update(self, step: int) -> Row:
        (real,) = self.order.take(step, self.examples)
        prior = self.prior(len(real), "gan.prior", step)
        fake = self.networks["generator"](prior)
        row = dict(self.descended("discriminator", self.against(real, fake.detach())))
        code = prior[:, NOISE:]
        if self.study.beta > 0:
            loss, self.memory["log_mean"] = self.told_apart(fake.detach(), code)
            row |= self.descended("statistics", loss)
        self.generate(fake, code)
        return row

    def against(self, real: Tensor, fake: Tensor) -> Tensor:
        discriminator = self.networks["discriminator"]
        return softplus(-discriminator(real)).mean() + softplus(discriminator(fake)).mean()

    def told_apart(self, samples: Tensor, code: Tensor) -> tuple[Tensor, Tensor]:
        """What T lowers, and the moving average."""
        outputs = self.networks["statistics"](together_and_apart(samples, code))[:, 0]
        joint, apart = outputs.chunk(2)
        self.memory["information"] = torch.tensor(Objective.mine.bound(joint, apart))
        return lowered(Objective.mine, joint, apart, self.memory["log_mean"])

    def descended(self, name: str, loss: Tensor) -> Row:
        update = self.updates[name]
        update.descend(loss)
        update.apply(self.study.lr)
        return self.learnt(name, loss.item(), {})

    def generate(self, fake: Tensor, code: Tensor) -> None:
        """The generator's update, along two gradients."""
        update, beta = self.updates["generator"], self.study.beta
        weights = update.parameters
        loss = softplus(-self.networks["discriminator"](fake)).mean()
        gradients = [*torch.autograd.grad(loss, weights, retain_graph=beta > 0)]
        norms = [norm(gradients), torch.zeros((), device=self.device)]
        if beta > 0:
            information, _ = self.told_apart(fake, code)
            more = torch.autograd.grad(beta * information, weights)
            norms[1] = norm(more)
            added = clipped(more, by=gradients) if self.study.clip else more
            gradients = [*torch._foreach_add(gradients, list(added))]
        self.memory["norms"] = torch.stack(norms).detach()
        update.take(gradients)
        update.apply(self.study.lr)

    def prior(self, n: int, purpose: str, step: int) -> Tensor:
        """(n, 10): noise, then the code."""
        drawn = torch.randn(n, NOISE + CODE, generator=generator(self.seed, purpose, step))
        return drawn.to(self.device)

    @contextmanager
    def looked_at(self, event: str | None, *, scheduled: bool) -> Iterator[Sequence[View]]:
        with super().looked_at(event, scheduled=scheduled) as views:
            self.look()
            yield views

    @torch.no_grad()
    def look(self) -> None:
        samples = self.networks["generator"](self.prior(JUDGED, "gan.look", self.step)).cpu()
        captured, near = self.toy.captured(samples.numpy())
        adversarial, information = self.memory["norms"].tolist()
        self.write(
            LOOKS.name,
            {
                "step": self.step, "captured": captured, "modes": self.toy.count, "near": near,
                "information": self.memory["information"].item(),
                "adversarial_norm": adversarial, "information_norm": information,
            },
        )  # fmt: skip
        if self.over or self.step in self.study.shown:
            x, y = samples[:SHOWN].T.numpy()
            self.write(SAMPLES.name, {"step": self.step, "x": x, "y": y})


def layers(
    inputs: int, width: int, depth: int, outputs: int, *, normed: bool = False
) -> nn.Sequential:
    """A perceptron with leaky ReLUs; `normed`: batch normalisation before each."""
    modules: list[nn.Module] = []
    for _ in range(depth):
        modules += [nn.Linear(inputs, width), *([nn.BatchNorm1d(width)] * normed),
                    nn.LeakyReLU(SLOPE)]  # fmt: skip
        inputs = width
    return nn.Sequential(*modules, nn.Linear(inputs, outputs))


def drawn_by(seed: int, name: str, make: Any) -> nn.Module:
    """A network whose weights depend on the seed and its name alone, as PyTorch draws them."""
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(derived_seed(seed, f"gan.{name}"))
        network: nn.Module = make()
    return network
