"""An encoder and a decoder that play against one discriminator of pairs (section 5.2 of "Mutual
Information Neural Estimation"; adversarially learned inference, Dumoulin et al. 2016).

    q(x, z): x of the data, z = F(x, e)        p(x, z): z ~ N(0, 1), x = G(z)

    D raises     E_q log D + E_p log(1 - D)
    F, G raise   E_q log(1 - D) + E_p log D, and for the sake of x' = G(F(x, e))

        ali           nothing
        l2            - E |x - x'|^2 / 2
        adversarial   E log C(x, x'), where C raises E log C(x, x) + E log(1 - C(x, x'))
        mine          I_q(x, z), clipped, which reaches the encoder alone

l2 and adversarial are ALICE (Li et al. 2017, https://arxiv.org/abs/1709.01215). The weight of each
is 1: with a decoder of unit variance that of l2 is -log p(x | z).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.nn.functional import softplus

from ntkexp.optim.adam import Adam
from ntkexp.options import SEED, count, option, positive
from ntkexp.results.table import Column, float64
from ntkexp.seeds import generator
from ntkexp.studies.base import Study
from ntkexp.studies.stepped import Row
from ntkexp.studies.two_gradients import Players, told

if TYPE_CHECKING:
    from ntkexp.training.place import Place

MEASURES: dict[str, Column] = {
    "information": float64("bound of I(x; z) by the minibatch before, nats; nan without MINE"),
    "adversarial_norm": float64("|g_u| of the update before, of the encoder"),
    "information_norm": float64("|g_m| of the update before, not clipped"),
}


class Variant(StrEnum):
    """ali: adversarially learned inference. l2, adversarial: ALICE. mine: ALI + MINE."""

    ali = "ali"
    l2 = "l2"
    adversarial = "adversarial"
    mine = "mine"


@dataclass
class Inference(Study):
    """The base of studies of the four models."""

    seed: int = option(0, SEED, "the start of all random numbers")
    variant: Variant = option(Variant.mine, about="ali, l2, adversarial or mine")
    steps: int = option(30_000, count("steps"), "updates of each network")
    batch_size: int = option(100, count("examples"), "examples of an update")
    lr: float = option(0.001, positive(), "learning rate of Adam")


class EncoderDecoder(Players):
    """Every network takes two arguments, but the decoder, which takes z: encoder(x, e),
    discriminator(x, z), statistics(x, z), critic(x, x')."""

    def __init__(
        self,
        makers: Mapping[str, Callable[[], nn.Module]],
        study: Inference,
        code: int,
        place: Place,
    ) -> None:
        chosen = {
            "generator": lambda: nn.ModuleDict(
                {part: makers[part]() for part in ("encoder", "decoder")}
            ),
            "discriminator": makers["discriminator"],
            "statistics": makers["statistics"],
        }
        if study.variant is Variant.adversarial:
            chosen["critic"] = makers["critic"]
        super().__init__(
            chosen, last=study.steps, seed=study.seed, device=place.device, lr=study.lr,
            adam=Adam(beta1=0.5), beta=float(study.variant is Variant.mine),
        )  # fmt: skip
        self.variant, self.width = study.variant, code
        both = self.networks["generator"]
        assert isinstance(both, nn.ModuleDict)
        self.encoder, self.decoder = both["encoder"], both["decoder"]

    def real(self, step: int) -> Tensor:
        """A minibatch."""
        raise NotImplementedError

    def normal(self, n: int, purpose: str, step: int) -> tuple[Tensor, Tensor]:
        """(n, d_z) twice: noise of the encoder, and z of the prior."""
        drawn = torch.randn(2, n, self.width, generator=generator(self.seed, purpose, step))
        noise, prior = drawn.to(self.device)
        return noise, prior

    def update(self, step: int) -> Row:
        x = self.real(step)
        noise, prior = self.normal(len(x), "inference.update", step)
        z, fake = self.encoder(x, noise), self.decoder(prior)
        discriminator = self.networks["discriminator"]
        of_data, of_prior = discriminator(x, z.detach()), discriminator(fake.detach(), prior)
        row = dict(self.descended("discriminator", told(of_data, of_prior)))
        beside, more = self.beside(x, z)
        own = told(discriminator(fake, prior), discriminator(x, z)) + beside
        self.follow(own, (x, z), self.encoder)
        return row | dict(more)

    def beside(self, x: Tensor, z: Tensor) -> tuple[Tensor | float, Row]:
        """What encoder and decoder lower beside their game, and the update of who measures it."""
        if self.variant is Variant.mine:
            return 0.0, self.measured(x, z.detach())
        if self.variant is Variant.ali:
            return 0.0, {}
        again = self.decoder(z)
        if self.variant is Variant.l2:
            return ((x - again) ** 2).flatten(1).sum(1).mean() / 2, {}
        critic = self.networks["critic"]
        row = self.descended("critic", told(critic(x, x), critic(x, again.detach())))
        return softplus(-critic(x, again)).mean(), row

    def reconstructed(self, x: Tensor, noise: Tensor) -> tuple[Tensor, Tensor]:
        """Codes of x, and what the decoder makes of them."""
        z = self.encoder(x, noise)
        return z, self.decoder(z)
