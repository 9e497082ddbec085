"""The linearised network: f_0(x) + J_0(x) (theta - theta_0), trained in place of the network.

ntkexp train +exp=mlp_mnist transform=linearise

J_0 is the Jacobian of the outputs by the weights at the start theta_0 (George's thesis, equation
(5.2.3); Lee et al. 2019, https://arxiv.org/abs/1902.06720). It is what the alpha-scaled network
(transform=alpha_scale) comes to as alpha grows. Its tangent kernel is that of the network at
theta_0, at every step.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, ClassVar

from ntkexp.errors import UserError
from ntkexp.models.base import BatchNorm
from ntkexp.transforms.alpha_scale import Offset, refuse_batch_statistics
from ntkexp.transforms.base import Transform, Transformed

if TYPE_CHECKING:
    from torch import nn

    from ntkexp.data import Split


class Route(StrEnum):
    """forward: by forward-mode differentiation. function: in function space, by the kernel of the
    training examples. disk: the same with a kernel larger than memory, in a file under
    `paths.outputs`. auto: what is estimated to be quickest
    (ntkexp/training/function_space/routes.py)."""

    auto = "auto"
    forward = "forward"
    function = "function"
    disk = "disk"


@dataclass
class Linearise(Transform):
    """`offset: none` leaves f_0 out: the function starts at zero.

    `route` says how it is trained; up to rounding the outcome is the same, and it is no part of a
    run's id. A run that was begun goes on by the route of its checkpoint.

    `batch_norm: eval` has batch normalisation with its running statistics as they are at the start;
    with those of a minibatch the outputs are no function of one example, and that is refused.
    """

    hides: ClassVar = frozenset({"layers", "activations"})
    how: ClassVar = frozenset({"route"})

    offset: Offset = Offset.f0
    batch_norm: BatchNorm = BatchNorm.train
    route: Route = Route.auto

    def check(self, config: Any = None) -> None:
        refuse_batch_statistics(self.name, self.batch_norm, config)
        for name, probe in config.probe.items():
            if probe.sees_forward():
                raise UserError(
                    f"probe.{name}: looks at the forward of each minibatch, and a linearised "
                    "network has one of its own; expected probe.complexity.batch=fixed"
                )

    def build(self, network: nn.Module, train: Split) -> Transformed:
        from ntkexp.transforms.functions.linearised import Linearised
        from ntkexp.transforms.functions.of_network import (
            check_examples_independent,
            freeze_statistics,
        )

        if self.batch_norm is BatchNorm.eval:
            freeze_statistics(network)
        check_examples_independent(network, self.name)
        module = Linearised(network, keeps_start=self.offset is Offset.f0)
        return Transformed(module, kernel=module.start)
