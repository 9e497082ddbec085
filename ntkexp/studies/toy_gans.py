"""A generator in the plane whose code a statistics network can read off its samples (section 5.1 of
"Mutual Information Neural Estimation", Figures 5.3 and 5.4).

ntkexp study +exp=information/toys

The game is that of ntkexp/studies/two_gradients.py; an input of G is noise e and a code c:

    G raises  E log D(G(e, c)) + beta I(G(e, c); c)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import torch
from torch import Tensor, nn

from ntkexp.data.batches import Batches
from ntkexp.information.mine import together_and_apart
from ntkexp.options import SEED, STEPS, count, not_negative, one_of, option, positive
from ntkexp.results.table import STEP, Table, float32, float64, int64
from ntkexp.seeds import generator
from ntkexp.studies.base import Study
from ntkexp.studies.two_gradients import Gan
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


class Game(Gan):
    def __init__(self, study: ToyGans, place: Place) -> None:
        makers = {
            "discriminator": lambda: layers(2, 400, 3, 1),
            "statistics": lambda: layers(2 + CODE, 400, 3, 1),
            "generator": lambda: layers(NOISE + CODE, 500, 2, 2, norm=nn.BatchNorm1d),
        }
        super().__init__(
            makers, last=study.steps, seed=study.seed, device=place.device, beta=study.beta,
            lr=study.lr, clip=study.clip,
        )  # fmt: skip
        self.study, self.toy = study, TOYS[study.toy]()
        examples = drawn(self.toy, EXAMPLES, generator(self.seed, "gan.examples"))
        self.examples = examples.to(self.device)
        self.order = Batches(EXAMPLES, study.batch_size, self.seed, self.device)

    def real(self, step: int) -> Tensor:
        (real,) = self.order.take(step, self.examples)
        return real

    def prior(self, n: int, purpose: str, step: int) -> Tensor:
        """(n, 10): noise, then the code."""
        drawn = torch.randn(n, NOISE + CODE, generator=generator(self.seed, purpose, step))
        return drawn.to(self.device)

    def code(self, prior: Tensor) -> Tensor:
        return prior[:, NOISE:]

    def statistics(self, x: Tensor, z: Tensor) -> Tensor:
        outputs: Tensor = self.networks["statistics"](together_and_apart(x, z))[:, 0]
        return outputs

    @torch.no_grad()
    def look(self) -> None:
        samples = self.samples(JUDGED, "gan.look").cpu()
        captured, near = self.toy.captured(samples.numpy())
        found = {"captured": captured, "modes": self.toy.count, "near": near}
        self.write(LOOKS.name, {"step": self.step, **found, **self.measures()})
        if self.over or self.step in self.study.shown:
            x, y = samples[:SHOWN].T.numpy()
            self.write(SAMPLES.name, {"step": self.step, "x": x, "y": y})


def layers(
    inputs: int,
    width: int,
    depth: int,
    outputs: int,
    *,
    norm: Callable[[int], nn.Module] | None = None,
) -> nn.Sequential:
    """A perceptron with leaky ReLUs, and before each the norm that `norm` makes."""
    modules: list[nn.Module] = []
    for _ in range(depth):
        modules += [nn.Linear(inputs, width), *([norm(width)] if norm else []),
                    nn.LeakyReLU(SLOPE)]  # fmt: skip
        inputs = width
    return nn.Sequential(*modules, nn.Linear(inputs, outputs))
