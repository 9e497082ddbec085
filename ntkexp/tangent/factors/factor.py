"""The features (per-example gradients) of one parameter, in the form that is cheap to multiply."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeAlias

import torch
from torch import Tensor

from ntkexp.tangent.factors.positions import Positions, everything, side_by_side


@dataclass
class Direct:
    """The gradients themselves, (n, k, p): biases, scales, and whatever has no structure."""

    values: Tensor

    @property
    def examples(self) -> int:
        return self.values.shape[0]

    @property
    def parameters(self) -> int:
        return self.values.shape[2]

    def jacobian(self) -> Tensor:
        return self.values

    def pulled_back(self, cotangent: Tensor) -> Tensor:
        """sum_ic u_ic grad f_ic, flat, from the cotangent u (n, k)."""
        return torch.einsum("nk,nkp->p", cotangent, self.values)

    def part(self, examples: slice) -> Direct:
        return replace(self, values=self.values[examples])


@dataclass
class Outer:
    """Gradients that are sums of outer products over the D positions of a layer's output,

        grad f_ic = sum_d v_icd u_id^T   (one O x K block for each of G groups),

    with v (n, k, G, O, D) the gradients of the outputs and u (n, G, K, D) the inputs. A weight
    stored with the inputs' axis first (transposed convolutions) is `swapped`. `bias` names the
    parameter whose gradient is sum_d v_icd, as if the inputs had one more feature, always 1.
    """

    u: Positions
    v: Tensor
    swapped: bool = False
    bias: str = ""

    @property
    def examples(self) -> int:
        return self.v.shape[0]

    @property
    def parameters(self) -> int:
        return self.u.groups * self.v.shape[3] * self.u.features

    def jacobian(self) -> Tensor:
        """(n, k, p) in the order of the flattened weight."""
        n, k = self.v.shape[:2]
        order = "ngfd,nkgod->nkgfo" if self.swapped else "ngfd,nkgod->nkgof"
        return torch.einsum(order, everything(self.u), self.v).reshape(n, k, -1)

    def pulled_back(self, cotangent: Tensor) -> Tensor:
        """sum_ic u_ic grad f_ic, flat, from the cotangent u (n, k)."""
        weighted = torch.einsum("nk,nkgod->ngod", cotangent, self.v)
        order = "ngfd,ngod->gfo" if self.swapped else "ngfd,ngod->gof"
        return torch.einsum(order, everything(self.u), weighted).flatten()

    def part(self, examples: slice) -> Outer:
        return replace(self, u=self.u.part(examples), v=self.v[examples])


Factor: TypeAlias = Direct | Outer


def merged(uses: list[Factor]) -> Factor:
    """One factor for a parameter that was used several times (shared module, tied weight).

    The gradient is the sum over the uses, so its Gram matrix has cross terms. That is why the uses
    are joined before anything is multiplied. Outer products of one layout get more positions;
    anything else is summed as plain gradients.
    """
    if len(uses) == 1:
        return uses[0]
    outers = [use for use in uses if isinstance(use, Outer)]
    shapes = {(use.swapped, use.u.groups, use.u.features, use.v.shape[3]) for use in outers}
    if len(outers) == len(uses) and len(shapes) == 1:
        v = torch.cat([use.v for use in outers], dim=4)
        return Outer(side_by_side([use.u for use in outers]), v, outers[0].swapped)
    total = uses[0].jacobian()
    for use in uses[1:]:
        total = total + use.jacobian()
    return Direct(total)
