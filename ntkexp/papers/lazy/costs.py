"""The cost of each experiment: time of one core, on a busy machine of four."""

from __future__ import annotations

from collections.abc import Callable

from ntkexp.claims.effort import Cost
from ntkexp.claims.horizon import Horizon

NARROW = "model.base=8"


def narrow(time: str) -> Callable[[str, Horizon], Cost]:
    """Measured with 8 channels for 64."""
    return lambda recipe, horizon: Cost(time, NARROW)


def short_of(
    end: str, why: str, cost: Callable[[str, Horizon], Cost]
) -> Callable[[str, Horizon], Cost]:
    """That cost, unless a horizon's description ends with `end`: the run is known to stop short of
    it, and `why` says where."""
    return lambda recipe, horizon: (
        Cost(why, reached=False) if horizon.description.endswith(end) else cost(recipe, horizon)
    )


COSTS: dict[str, str | Callable[[str, Horizon], Cost]] = {
    "lazy/c_scores": "23 minutes",
    "lazy/c_scores_cifar": "2.6 hours of an idle core",
    "lazy/c_scores_mlp": "12 minutes, after the scores",
    "lazy/c_scores_vgg11": narrow("half an hour of an idle core, after the scores"),
    "lazy/c_scores_vgg11_lazy": short_of(
        "a loss below 1.5",
        "with 8 channels it ends at 1.62, after 320,000 steps",
        narrow("1.5 hours of an idle core, after the scores"),
    ),
    "lazy/celeba": "hours on a GPU, not run",
    "lazy/celeba_kind": "27 minutes, a quarter of a core",
    "lazy/cifar_eight_classes": "16 minutes",
    "lazy/continuum": "75 minutes",
    "lazy/dense_examples": "10 seconds an example",
    "lazy/normal_distributions": "a second",
    "lazy/group_alignment_mlp": "15 minutes",
    "lazy/kernel_after": "12 minutes, with the networks before it",
    "lazy/left_out": "half a minute a seed",
    "lazy/left_out_scored": "12 seconds a seed, after the scores",
    "lazy/noise_cnn": "12 minutes a seed",
    "lazy/noise_cnn_lazy": "13 minutes a seed",
    "lazy/noise_mlp": "half an hour",
    "lazy/noise_mlp_lazy": "20 minutes of an idle core",
    "lazy/noise_resnet18": narrow("3 hours"),
    "lazy/noise_resnet18_lazy": narrow("14 hours"),
    "lazy/noise_vgg11": narrow("20 minutes of an idle core"),
    "lazy/noise_vgg11_lazy": short_of(
        "a loss below 1.5",
        "with 8 channels it ends at 1.90, after 320,000 steps",
        narrow("1.5 hours of an idle core"),
    ),
    "lazy/quadratic_constants": "3 seconds",
    "lazy/quadratic_examples": "3 seconds",
    "lazy/rates_vgg11": narrow("20 minutes a rate; for 1e-4 with 320,000 steps 1.5 hours"),
    "lazy/rates_mlp": "6 minutes a rate; for 1e-6 with 1,000,000 steps 1.6 hours",
    "lazy/spurious_cifar": short_of(
        "99 % training accuracy of all three networks",
        "its 4,000 steps end at 85 to 96 %",
        lambda recipe, horizon: Cost("half an hour a seed"),
    ),
    "lazy/spurious_linear": "1.5 minutes",
    "lazy/spurious_linear_long": "5.5 minutes a seed",
    "lazy/spurious_mlp": "30 minutes",
    "lazy/spurious_plain": "a minute a seed",
    "lazy/waterbirds": "hours on a GPU, not run",
    "lazy/waterbirds_kind": "70 minutes, with the network before it",
    "lazy/yin_yang": "1 minute",
    "lazy/yin_yang_linearised": "1 minute",
    "lazy/yin_yang_maps": "5 seconds, after two runs of a minute",
}
