"""The linearised network: f_0(x) + J_0(x) (theta - theta_0), trained in place of the network.

ntkexp train +exp=mlp_mnist transform=linearise

J_0 is the Jacobian of the outputs by the weights at the start theta_0 (George's thesis, equation
(5.2.3); Lee et al. 2019, https://arxiv.org/abs/1902.06720). It is what the alpha-scaled network
(transform=alpha_scale) comes to as alpha grows. Its tangent kernel is that of the network at
theta_0, at every step.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.autograd import forward_ad

from ntkexp.data.dataset import Dataset, Split
from ntkexp.errors import UserError, first_line
from ntkexp.models.base import BatchNorm
from ntkexp.options import option
from ntkexp.tangent.function import called_with
from ntkexp.transforms.alpha_scale import Offset, refuse_batch_statistics
from ntkexp.transforms.base import Transform, Transformed
from ntkexp.transforms.function import (
    OfNetwork,
    check_examples_independent,
    freeze_statistics,
)


class Route(StrEnum):
    """forward: by forward-mode differentiation. function: in function space, by the kernel of the
    training examples. disk: the same with a kernel larger than memory, in a file under
    `paths.outputs`. factors: by the gradients of all examples, kept in memory as factors of their
    layers. auto: function space where it fits into memory and updates outnumber training
    examples, else forward (ntkexp/training/function_space/routes.py)."""

    auto = "auto"
    forward = "forward"
    function = "function"
    disk = "disk"
    factors = "factors"


@dataclass
class Linearise(Transform):
    """`route` says how it is trained; up to rounding the outcome is the same, and it is no part of
    a run's id. A run that was begun goes on by the route of its checkpoint.

    `batch_norm: eval` has batch normalisation with its running statistics as they are at the start;
    with those of a minibatch the outputs are no function of one example, and are refused.
    """

    hides: ClassVar = frozenset({"layers", "activations"})
    how: ClassVar = frozenset({"route"})
    linear: ClassVar = True

    offset: Offset = option(Offset.f0, about="begins at the network's outputs (f0) or at 0")
    batch_norm: BatchNorm = option(BatchNorm.train, about="eval is with running statistics")
    route: Route = option(Route.auto, about="how it is computed; results agree up to rounding")

    def check(self, config: Any = None) -> None:
        refuse_batch_statistics(self.name, self.batch_norm, config)
        for name, probe in config.probe.items():
            if probe.sees_forward():
                raise UserError(
                    f"probe.{name}: looks at the forward of each minibatch, and a linearised "
                    "network has one of its own; expected probe.complexity.batch=fixed"
                )

    def build(self, network: nn.Module, train: Split) -> Transformed:
        if self.batch_norm is BatchNorm.eval:
            freeze_statistics(network)
        check_examples_independent(network, self.name)
        module = Linearised(network, keeps_start=self.offset is Offset.f0)
        return Transformed(module, kernel=module.start)

    def why_alone(self, dataset: Dataset) -> str:
        return "by forward mode has one network a run; expected another route"


@cache
def load_rules_of_duals() -> None:
    """PyTorch's first dual number loads rules written with its own deprecated torch.jit, which is a
    DeprecationWarning up to torch 2.13 and a FutureWarning since."""
    with warnings.catch_warnings(), forward_ad.dual_level():
        warnings.filterwarnings("ignore", "`torch.jit.script` is deprecated")
        forward_ad.make_dual(torch.zeros(1), torch.zeros(1))  # type: ignore[no-untyped-call]


class Linearised(OfNetwork):
    """f_0(x) + J_0(x) (theta - theta_0), theta the weights of `network`, by forward mode.

    The weights carry their tangent theta - theta_0 through one forward of the frozen copy, and
    gradients go back through the tangents alone: this costs two forwards and two backwards, where
    the network costs one and two.

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
            try:
                dual = called_with(self.start, duals, (inputs,))
            except NotImplementedError as error:
                raise UserError(
                    f"transform=linearise: a layer has no forward mode ({first_line(error)}); "
                    "expected transform.route=function or factors"
                ) from error
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
