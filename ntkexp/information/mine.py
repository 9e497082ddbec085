"""What a statistics network lowers in a minibatch, and what its bound is (Algorithm 1 of "Mutual
Information Neural Estimation").

The gradient of the Donsker-Varadhan bound of a minibatch is biased (12): its denominator E_B e^T
is a mean over few. MINE divides by a moving average of such means instead; MINE-f raises the
NWJ bound, whose gradient has no bias.

x and z are drawn apart by shifting the z of a batch by one place. A random permutation leaves one
pair together on average, and where the information is large that one pair makes the mean.
"""

from __future__ import annotations

from enum import StrEnum

import torch
from torch import Tensor, nn

from ntkexp.information.bounds import donsker_varadhan, log_mean_exp, nwj
from ntkexp.models.activations import Activation
from ntkexp.models.base import Init
from ntkexp.models.mlp import Mlp

ROWS_AT_ONCE = 20_000
AVERAGE = 0.99  # the share of the past in the moving average
Pairs = tuple[Tensor, Tensor]  # x (n, d_x) and z (n, d_z)


class Objective(StrEnum):
    """mine: Donsker-Varadhan, its gradient by a moving average. naive: by the minibatch alone.
    mine_f: NWJ."""

    mine = "mine"
    naive = "naive"
    mine_f = "mine_f"

    def bound(self, joint: Tensor, apart: Tensor) -> float:
        """The bound of this name by T of pairs and T of what was drawn apart."""
        by = nwj if self is Objective.mine_f else donsker_varadhan
        return by(joint.double(), apart.double()).item()


def statistics_network() -> Mlp:
    """The network of section 4, as far as it is chosen here: the text does not give it."""
    return Mlp(depth=2, width=256, activation=Activation.elu, init=Init.default)


def together_and_apart(x: Tensor, z: Tensor) -> Tensor:
    """(2n, d): the pairs, then each x with the z of the pair before it."""
    return torch.cat([torch.cat([x, z], dim=1), torch.cat([x, z.roll(1, 0)], dim=1)])


def lowered(
    objective: Objective, joint: Tensor, apart: Tensor, log_mean: Tensor, average: float = AVERAGE
) -> tuple[Tensor, Tensor]:
    """A loss whose gradient is that of the bound with its sign turned, and the moving average.

    Args:
        joint, apart: T of pairs and of what was drawn apart, (b,) each.
        log_mean: log of the moving average of E_B e^T, as it was.
        average: the share of the past in it.
    """
    if objective is Objective.mine_f:
        return -nwj(joint, apart), log_mean
    log_of_batch = log_mean_exp(apart)
    if objective is Objective.naive:
        return log_of_batch - joint.mean(), log_mean
    past, now = joint.new_tensor([average, 1 - average]).log()
    log_mean = torch.logaddexp(past + log_mean, now + log_of_batch.detach())
    return (log_of_batch - log_mean).exp() - joint.mean(), log_mean


@torch.no_grad()
def statistics(network: nn.Module, x: Tensor, z: Tensor) -> tuple[Tensor, Tensor]:
    """T of pairs (n,) and of x and z apart (n,)."""
    rows = torch.split(together_and_apart(x, z), ROWS_AT_ONCE)
    joint, apart = torch.cat([network(part)[:, 0] for part in rows]).chunk(2)
    return joint, apart
