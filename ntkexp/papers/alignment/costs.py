"""The cost of the main paper's experiments.

Measured on one thread of a machine of two shared cores (docs/reproduction.md).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from ntkexp.claims.effort import Cost, duration
from ntkexp.claims.horizon import FITTED_TRAINING, Horizon

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
# On all images nets of this size do not fit: without noise one dies on the way.
FEW_IMAGES = (
    "model.base=16 data.train_examples=2000 evaluate.test_examples=2000 optim.epochs=1000 "
    "probing.growth=1.4 probe.spectrum.uncentred=true optim.stop_loss=0.002"
)
FEW_IMAGES_TIME = "2,780 to 5,260 iterations, ten to twenty minutes of an idle core"


def narrow(net: str, recipe: str, horizon: Horizon) -> Cost:
    """The cost of a net with 16 channels until the horizon, and that of VGG19 at full size."""
    # Where no number of iterations is the horizon, nobody knows it before: the run's whole length.
    iterations = horizon.iterations or DEFAULT_EPOCHS * EPOCH[recipe]
    needed = -(-iterations // EPOCH[recipe])
    epochs = f"optim.epochs={needed}" if needed > DEFAULT_EPOCHS else ""
    if FITTED_TRAINING.description in horizon.description:
        return _fitted(recipe)
    if horizon.memorised:
        full = duration(iterations * FULL_SECONDS)
        return Cost(
            f"{full}; with model.base=16 half of the labels are not memorised by then", epochs
        )
    time = _time_of(net, iterations)
    return Cost(time, " ".join(filter(None, (NARROW_WORDS, epochs))))


def _fitted(recipe: str) -> Cost:
    """The way to 100 % training accuracy: on few images, by the paper's recipe."""
    if recipe == "released":
        return Cost(
            "with weight decay, crops and flips nets of 16 channels stop at 92 % of the training "
            "labels; at full size it was not tried",
            reached=False,
        )
    return Cost(FEW_IMAGES_TIME, FEW_IMAGES)


def _time_of(net: str, iterations: int) -> str:
    seconds = iterations / ITERATIONS_A_SECOND[net]
    words = f"to iteration {iterations:,}: {duration(seconds)} of a core"
    if net != "vgg19":
        return words
    full = duration(iterations * FULL_SECONDS)
    return f"{words}; at full size, without model.base=16, {full}"


COSTS: dict[str, str | Callable[[str, Horizon], Cost]] = {
    "disk": "a minute a seed",
    "disk_uncentred": "a minute a seed",
    "mlp_mnist": "5 minutes a seed",
    "easy_difficult_noise": "3 minutes a seed",
    "easy_difficult_kmnist": "3 minutes a seed",
    "easy_difficult_depth": "an hour for twelve networks",
    "complexity_width": "20 to 45 minutes a seed",
    "complexity_width_lr001": "25 minutes a seed",
    # All 60,000 digits with noise are not fitted at this rate (docs/reproduction.md, Figure 6).
    "complexity_noise": lambda recipe, horizon: Cost(
        "6 to 11 minutes a network", "data.train_examples=10000"
    ),
    "complexity_channels": lambda recipe, horizon: Cost(
        "4 to 10 minutes a network; at scale=paper hours on a GPU, not measured",
        "scale=small model.base=8,12,16,24,28 seed=0,1,2,3,4 data.test_examples=10000",
    ),
    "vgg11_directions": "on a GPU, not measured; with model.base=16 22 minutes",
    "supernat": "3 seconds",
    "feature_scaling": "half a minute",
    "fourier_modes": "5 seconds",
    "rademacher": "5 seconds",
    "local_bias": "10 seconds",
    "linear_modes": "3 seconds",
    **{name: partial(narrow, name.partition("_")[0]) for name in NARROW},
}
