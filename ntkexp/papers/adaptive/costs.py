"""The cost of each experiment: time of one core, on a busy machine of four."""

from __future__ import annotations

from collections.abc import Callable

from ntkexp.claims.effort import Cost
from ntkexp.claims.horizon import Horizon


def unit_variance(_: str, horizon: Horizon) -> Cost:
    """The cost of the runs that a figure draws; no claim is decided by them."""
    if horizon.iterations is None:
        why = "he, lecun and torch_default diverge, and no pair of ntk_he fits its targets"
        return Cost(why, reached=False)
    return Cost("seconds for three runs, which diverge, a minute for ntk_he")


COSTS: dict[str, str | Callable[[str, Horizon], Cost]] = {
    "adaptive/label_kernel": "6 minutes for twenty networks",
    "adaptive/label_kernel_sgd": "4 minutes for twenty networks",
    "adaptive/robustness": "a minute for each of four runs",
    "adaptive/full_batch": "1.5 minutes for each of four runs",
    "adaptive/unit_variance": unit_variance,
    "adaptive/ntk_unit_variance": "1.2 minutes",
    "adaptive/mlp_mnist": "8 minutes for ten networks",
    "adaptive/vgg19": "8 minutes a network, up to an hour on a busy machine",
    "adaptive/low_rank": "3 minutes",
    "adaptive/relaxed": "5 minutes",
    "adaptive/relaxed_large": "100 minutes for ten seeds",
    "adaptive/penalties": "2 seconds",
    "adaptive/targets": "4 seconds",
}
