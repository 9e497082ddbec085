"""Adversarial games in which a mutual information is raised, too (sections 5.1 and 5.2 of "Mutual
Information Neural Estimation").

    D raises  its side of the game
    T raises  the bound of I(x, z)
    G raises  its own side of the game + beta I(x, z)

G follows the gradient of its first term and, clipped by it, that of its second. `Players` have the
networks and the three kinds of update; `Gan` is the game of section 5.1, with z a code in G's
input.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor, nn
from torch.nn.functional import softplus

from ntkexp.information.clip import clipped, norm
from ntkexp.information.mine import Objective, lowered
from ntkexp.optim.adam import Adam
from ntkexp.probes.view import View
from ntkexp.seeds import derived_seed
from ntkexp.studies.stepped import Row, SteppedWork

Makers = Mapping[str, Callable[[], nn.Module]]


class Players(SteppedWork):
    """Networks by name, each with an Adam of its own: "generator", "discriminator" and, where beta
    is above 0, "statistics".

    `memory` has the norms of the generator's two gradients and the bound, as they were in the
    update before.
    """

    def __init__(
        self, makers: Makers, *, last: int, seed: int, device: torch.device, beta: float,
        lr: float, clip: bool = True, adam: Adam | None = None,
    ) -> None:  # fmt: skip
        super().__init__(last=last, seed=seed)
        self.device, self.beta, self.lr, self.clip = device, beta, lr, clip
        self.networks = {
            name: drawn_by(seed, name, make).to(device)
            for name, make in makers.items()
            if beta > 0 or name != "statistics"
        }
        self.updates = {
            name: (adam or Adam()).build(network.parameters())
            for name, network in self.networks.items()
        }
        self.memory = {
            "log_mean": torch.zeros((), device=device),
            "norms": torch.zeros(2, device=device),
            "information": torch.tensor(torch.nan),
        }

    @contextmanager
    def looked_at(self, event: str | None, *, scheduled: bool) -> Iterator[Sequence[View]]:
        with super().looked_at(event, scheduled=scheduled) as views:
            self.look()
            yield views

    def look(self) -> None:
        """Write down what the players have come to."""
        raise NotImplementedError

    def measures(self) -> dict[str, float]:
        """The bound and both norms, as they were in the update before."""
        adversarial, information = self.memory["norms"].tolist()
        return {
            "information": self.memory["information"].item(),
            "adversarial_norm": adversarial,
            "information_norm": information,
        }

    def statistics(self, x: Tensor, z: Tensor) -> Tensor:
        """(2n,): T(x, z) of the pairs, then of x and z apart."""
        both = torch.cat([x, x]), torch.cat([z, z.roll(1, 0)])
        outputs: Tensor = self.networks["statistics"](*both)
        return outputs.flatten()

    def told_apart(self, x: Tensor, z: Tensor) -> tuple[Tensor, Tensor]:
        """What T lowers, and the moving average."""
        joint, apart = self.statistics(x, z).chunk(2)
        self.memory["information"] = torch.tensor(Objective.mine.bound(joint, apart))
        return lowered(Objective.mine, joint, apart, self.memory["log_mean"])

    def measured(self, x: Tensor, z: Tensor) -> Row:
        """The update of T."""
        loss, self.memory["log_mean"] = self.told_apart(x, z)
        return self.descended("statistics", loss)

    def descended(self, name: str, loss: Tensor) -> Row:
        """The update of a player that lowers one loss."""
        update = self.updates[name]
        update.descend(loss)
        update.apply(self.lr)
        return self.learnt(name, loss.item(), {})

    def follow(
        self, own: Tensor, pairs: tuple[Tensor, Tensor], reached: nn.Module | None = None
    ) -> None:
        """The generator's update: it lowers `own`, and raises beta times the bound of I of pairs
        (x, z), whose gradient reaches the first of its parameters alone, those of `reached`."""
        update = self.updates["generator"]
        weights = update.parameters
        gradients = [*torch.autograd.grad(own, weights, retain_graph=self.beta > 0)]
        first = len(weights if reached is None else [*reached.parameters()])
        by = gradients[:first]
        norms = [norm(by), torch.zeros((), device=self.device)]
        if self.beta > 0:
            information, _ = self.told_apart(*pairs)
            more = torch.autograd.grad(self.beta * information, weights[:first])
            norms[1] = norm(more)
            added = clipped(more, by=by) if self.clip else more
            gradients[:first] = torch._foreach_add(by, list(added))
        self.memory["norms"] = torch.stack(norms).detach()
        update.take(gradients)
        update.apply(self.lr)


class Gan(Players):
    """D raises  E log D(x) + E log(1 - D(G(z))),  G raises  E log D(G(z)) + beta I(G(z), code)."""

    def real(self, step: int) -> Tensor:
        """A minibatch."""
        raise NotImplementedError

    def prior(self, n: int, purpose: str, step: int) -> Tensor:
        """(n, d): inputs of the generator."""
        raise NotImplementedError

    def code(self, prior: Tensor) -> Tensor:
        """(n, d_z): that part of an input whose information is raised; here all of it."""
        return prior

    def update(self, step: int) -> Row:
        real = self.real(step)
        prior = self.prior(len(real), "gan.prior", step)
        fake, code = self.networks["generator"](prior), self.code(prior)
        row = dict(self.descended("discriminator", self.against(real, fake.detach())))
        if self.beta > 0:
            row |= self.measured(fake.detach(), code)
        self.generate(fake, code)
        return row

    def against(self, real: Tensor, fake: Tensor) -> Tensor:
        discriminator = self.networks["discriminator"]
        return told(discriminator(real), discriminator(fake))

    def generate(self, fake: Tensor, code: Tensor) -> None:
        self.follow(softplus(-self.networks["discriminator"](fake)).mean(), (fake, code))

    def samples(self, n: int, purpose: str) -> Tensor:
        """n samples of the generator at this step."""
        samples: Tensor = self.networks["generator"](self.prior(n, purpose, self.step))
        return samples


def told(real: Tensor, fake: Tensor) -> Tensor:
    """- E log D(real) - E log(1 - D(fake)), by D's logits."""
    return softplus(-real).mean() + softplus(fake).mean()


def drawn_by(seed: int, name: str, make: Callable[[], nn.Module]) -> nn.Module:
    """A network whose weights depend on the seed and its name alone, as PyTorch draws them."""
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(derived_seed(seed, f"gan.{name}"))
        return make()
