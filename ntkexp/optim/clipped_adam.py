"""Adam whose parameters stay in a box, |theta|_inf <= clip (Experiment 7 of "On the Spectral Bias
of Neural Networks").

ntkexp train -m +exp=spectral/delta_clip
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import Tensor

from ntkexp.optim.adam import Adam, AdamUpdate
from ntkexp.optim.update import Number, WeightUpdate
from ntkexp.options import option, positive


@dataclass
class ClippedAdam(Adam):
    """A step of Adam, then every parameter clamped to [-clip, clip]."""

    clip: float = option(10.0, positive(), "the largest magnitude of a parameter")

    def build(self, parameters: Iterable[Tensor]) -> WeightUpdate:
        return ClippedAdamUpdate(
            parameters,
            beta1=self.beta1,
            beta2=self.beta2,
            epsilon=self.epsilon,
            weight_decay=self.weight_decay,
            clip=self.clip,
        )


class ClippedAdamUpdate(AdamUpdate):
    """w <- clamp(w - eta m' / (sqrt(v') + eps), -K, K)."""

    hyperparameters = (*AdamUpdate.hyperparameters, "clip")
    alike = (*AdamUpdate.alike, "clip")
    clip: float

    @torch.no_grad()
    def apply(self, lr: Number) -> None:
        super().apply(lr)
        torch._foreach_clamp_min_(self.parameters, -self.clip)
        torch._foreach_clamp_max_(self.parameters, self.clip)

    @torch.no_grad()
    def change(self, lr: Number) -> list[Tensor]:
        changes = super().change(lr)
        return [
            (w + dw).clamp(-self.clip, self.clip) - w
            for w, dw in zip(self.parameters, changes, strict=True)
        ]
