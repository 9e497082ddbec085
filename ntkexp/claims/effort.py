"""The command that makes a missing run, and what it costs: "no runs" says what would change it.

Costs were measured on one thread of a machine of two shared cores (docs/reproduction.md).
"""

from __future__ import annotations

from ntkexp.claims.horizon import Horizon
from ntkexp.experiments import experiments

# Convolutional nets whose full size wants a GPU, made here with a quarter of the channels.
NARROW = ("vgg19_clean", "vgg19_noise20", "vgg19_noise50", "vgg19_clean_lr003",
          "vgg19_noise50_lr003", "resnet18_cifar10")  # fmt: skip
NARROW_WORDS = "model.base=16 evaluate.train_examples=5000 evaluate.test_examples=5000"
# With 16 channels, looks included: VGG19 does 4 to 5, ResNet18 did 5,000 in 76 minutes.
ITERATIONS_A_SECOND = {"vgg19": 4.5, "resnet18": 1.1}
# An iteration of VGG19 at full size, the same machine.
FULL_SECONDS = 2.8
# Images an epoch over the batch size of each recipe.
EPOCH = {"paper": 500, "released": 391}
DEFAULT_EPOCHS = 200
COSTS = {
    "disk": "a minute a seed",
    "mlp_mnist": "5 minutes a seed",
    "easy_difficult_noise": "3 minutes a seed",
    "easy_difficult_kmnist": "3 minutes a seed",
    "easy_difficult_depth": "an hour for twelve networks",
    "complexity_width": "20 to 45 minutes a seed",
    "complexity_noise": "hours, and not fitted at a constant rate of 0.05 from 20 % noise on",
    "complexity_channels": "hours on a GPU, not measured; scale=small: 8 minutes a seed",
    "vgg11_directions": "on a GPU, not measured; with model.base=16 22 minutes",
    "supernat": "3 seconds",
    "feature_scaling": "half a minute",
    "fourier_modes": "5 seconds",
    "rademacher": "5 seconds",
    "local_bias": "10 seconds",
    "linear_modes": "3 seconds",
}


def line(experiment: str) -> str:
    """What makes the runs of an experiment as it stands; `-m` where they are a sweep."""
    lines = {known.name: known.line for known in experiments()}
    return lines.get(experiment, f"ntkexp train +exp={experiment}")


def command(experiment: str, recipe: str, horizon: Horizon) -> str:
    """A command that leads to a claim's horizon, and its cost.

    >>> from ntkexp.claims.horizon import iteration
    >>> command("disk", "paper", iteration(2000))
    'ntkexp train +exp=disk  (a minute a seed)'
    """
    words = [line(experiment), *(["recipe=released"] if recipe == "released" else [])]
    if experiment in NARROW:
        needed = -(-(horizon.iterations or 0) // EPOCH[recipe])
        epochs = [f"optim.epochs={needed}"] if needed > DEFAULT_EPOCHS else []
        words += [NARROW_WORDS, *epochs]
    return f"{' '.join(words)}  ({_cost(experiment, horizon)})"


def _cost(experiment: str, horizon: Horizon) -> str:
    if experiment not in NARROW:
        return COSTS.get(experiment, "not measured")
    if horizon.iterations is None:
        return f"until {horizon.told}; how long that takes is not known"
    net = experiment.partition("_")[0]
    narrow = _duration(horizon.iterations / ITERATIONS_A_SECOND[net])
    told = f"to iteration {horizon.iterations:,}: {narrow} of a core"
    if net != "vgg19":
        return told
    full = _duration(horizon.iterations * FULL_SECONDS)
    return f"{told}; at full size, without model.base=16, {full}"


def _duration(seconds: float) -> str:
    return f"{seconds / 3600:.2g} hours" if seconds >= 3600 else f"{seconds / 60:.0f} minutes"
