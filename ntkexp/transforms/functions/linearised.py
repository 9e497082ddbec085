"""A network linearised in its weights, by forward-mode differentiation.

Formulas: ntkexp/transforms/linearise.py.
"""

from __future__ import annotations

import warnings
from functools import cache

import torch
from torch import Tensor, nn
from torch.autograd import forward_ad
from torch.func import functional_call

from ntkexp.transforms.functions.of_network import OfNetwork


@cache
def load_rules_of_duals() -> None:
    """PyTorch's first dual number loads rules written with its own deprecated torch.jit, which is a
    DeprecationWarning up to torch 2.13 and a FutureWarning since."""
    with warnings.catch_warnings(), forward_ad.dual_level():
        warnings.filterwarnings("ignore", "`torch.jit.script` is deprecated")
        forward_ad.make_dual(torch.zeros(1), torch.zeros(1))  # type: ignore[no-untyped-call]


class Linearised(OfNetwork):
    """f_0(x) + J_0(x) (theta - theta_0), theta the weights of `network`.

    The weights carry their tangent theta - theta_0 through one forward of the frozen copy, and
    gradients go back through the tangents alone: two forwards and two backwards for one and two.

    >>> net = nn.Sequential(nn.Linear(1, 1, bias=False), nn.Linear(1, 1, bias=False))
    >>> for layer in net: _ = nn.init.ones_(layer.weight)
    >>> linear = Linearised(net)
    >>> _ = nn.init.constant_(net[0].weight, 3.0), nn.init.constant_(net[1].weight, 5.0)
    >>> linear(torch.ones(1, 1)).item()    # not 15, but 1 + 2 + 4
    7.0
    """

    def __init__(self, network: nn.Module, *, keeps_start: bool = True) -> None:
        load_rules_of_duals()
        super().__init__(network)
        self.keeps_start = keeps_start
        # For its kernel; no gradient of training goes there.
        for copied, w in zip(self.start.parameters(), network.parameters(), strict=True):
            copied.requires_grad_(w.requires_grad)
        trained = {name for name, w in network.named_parameters() if w.requires_grad}
        self._first = {n: w.detach() for n, w in self.start.named_parameters() if n in trained}

    def forward(self, inputs: Tensor) -> Tensor:
        weights = dict(self.network.named_parameters())
        first = list(self._first.values())
        tangents = torch._foreach_sub([weights[name] for name in self._first], first)
        with forward_ad.dual_level():
            duals = {
                name: forward_ad.make_dual(w, tangent)  # type: ignore[no-untyped-call]
                for name, w, tangent in zip(self._first, first, tangents, strict=True)
            }
            dual = functional_call(self.start, duals, (inputs,))
            outputs: Tensor
            change: Tensor
            outputs, change = forward_ad.unpack_dual(dual)  # type: ignore[no-untyped-call]
        return outputs + change if self.keeps_start else change

    @torch.no_grad()
    def move_to(self, change: dict[str, Tensor]) -> None:
        """Put theta at theta_0 + change."""
        for name, w in self.network.named_parameters():
            if name in change:
                w.copy_(self._first[name] + change[name])
