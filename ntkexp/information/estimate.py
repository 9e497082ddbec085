"""The mutual information of two arrays, with what says how far it can be trusted.

The pairs are put in a random order and cut into five folds. Each fold is judged by a network that
never saw it: of the other four, three train it and one chooses when it is best. The same is done
with z in another order, where the truth is 0. Beside it stands the estimate by nearest neighbours.

No lower bound that can be trusted exceeds log n by much (McAllester and Stratos, 2020), and the
Donsker-Varadhan bound on n pairs is too high from about half of that on: there it warns.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor, nn

from ntkexp.data.batches import Batches
from ntkexp.errors import UserError
from ntkexp.information.ksg import ksg
from ntkexp.information.mine import (
    Objective,
    Pairs,
    lowered,
    statistics,
    statistics_network,
    together_and_apart,
)
from ntkexp.models import build
from ntkexp.optim.adam import Adam
from ntkexp.seeds import derived_seed, generator

FOLDS, FEWEST = 5, 50
STEPS, BATCH, RATE, LOOK_EVERY = 3000, 500, 5e-4, 50


@dataclass(frozen=True)
class Estimate:
    """Mean and standard error over folds, in nats; the same of shuffled pairs, near 0; by nearest
    neighbours; and how many pairs there are."""

    value: float
    error: float
    shuffled: float
    shuffled_error: float
    ksg: float
    pairs: int

    @property
    def limit(self) -> float:
        """Half of log n, n being the pairs of a fold."""
        return math.log(self.pairs // FOLDS) / 2

    @property
    def warning(self) -> str:
        """Why it cannot be trusted; empty where that is not known."""
        if self.value <= self.limit:
            return ""
        return (
            f"{self.value:.2f} nats are above half of log n, {self.limit:.2f}: from "
            f"{self.pairs:,} pairs, of which a fifth judges, so much cannot be told from more"
        )

    def __str__(self) -> str:
        return (
            f"{self.value:.3f} ± {self.error:.3f} nats; shuffled {self.shuffled:.3f} ± "
            f"{self.shuffled_error:.3f}; by nearest neighbours {self.ksg:.3f}"
        )


def estimate(x: ArrayLike, z: ArrayLike, *, steps: int = STEPS, seed: int = 0) -> Estimate:
    """The mutual information of the rows of x and z, two minutes on a core.

    >>> import numpy as np
    >>> x = np.random.default_rng(0).normal(size=(200, 1))
    >>> estimate(x, x**2, steps=20).pairs
    200

    Args:
        x, z: (n,) or (n, d) each; columns of any scale.
        steps: updates of each of the ten networks.
    """
    pairs = scaled("x", x), scaled("z", z)
    refuse(*pairs)
    values = [value(pairs, number, steps, seed) for number in range(2 * FOLDS)]
    found = summary(values, pairs)
    if found.warning:
        warnings.warn(found.warning, stacklevel=2)
    return found


def scaled(name: str, values: ArrayLike) -> Tensor:
    """(n, d) in float32, each column with mean 0 and variance 1; a constant one is 0."""
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise UserError(f"{name}: {error}; expected numbers") from error
    if array.ndim not in (1, 2) or not array.size:
        raise UserError(f"{name} has the shape {array.shape}; expected (n,) or (n, d)")
    if not np.isfinite(array).all():
        raise UserError(f"{name} has values that are no numbers; expected finite ones")
    columns = array.reshape(len(array), -1)
    spread = columns.std(0)
    centred = (columns - columns.mean(0)) / np.where(spread > 0, spread, 1)
    return torch.from_numpy(centred).float()


def refuse(x: Tensor, z: Tensor) -> None:
    if len(x) != len(z):
        raise UserError(f"x has {len(x):,} rows and z {len(z):,}; expected pairs")
    if len(x) < FEWEST:
        raise UserError(f"x and z have {len(x):,} rows; expected {FEWEST} pairs or more")


def value(pairs: Pairs, number: int, steps: int, seed: int) -> float:
    """The bound of network `number` on its fold: the first five see the pairs, the others them
    shuffled."""
    shuffled, fold = divmod(number, FOLDS)
    x, z = pairs
    order = torch.randperm(len(x), generator=generator(seed, "estimate.order"))
    x, z = x[order], z[order]
    if shuffled:
        z = z[torch.randperm(len(z), generator=generator(seed, "estimate.shuffled"))]
    folds = [*zip(x.tensor_split(FOLDS), z.tensor_split(FOLDS), strict=True)]
    judged, choosing, *others = folds[fold:] + folds[:fold]
    training = tuple(torch.cat(parts) for parts in zip(*others, strict=True))
    network = trained(
        (training[0], training[1]), choosing, steps, derived_seed(seed, "fold", number)
    )
    return bound(network, judged)


def trained(training: Pairs, choosing: Pairs, steps: int, seed: int) -> nn.Module:
    """A network as it was when its bound on `choosing` was best."""
    inputs = training[0].shape[1] + training[1].shape[1]
    network = build(statistics_network(), (inputs,), 1, seed)
    update = Adam().build(network.parameters())
    batches = Batches(len(training[0]), min(BATCH, len(training[0])), seed, drop_last=True)
    log_mean, best, weights = torch.zeros(()), -math.inf, network.state_dict()
    for step in range(steps + 1):
        looks = step % LOOK_EVERY == 0 or step == steps
        if looks and (now := bound(network, choosing)) > best:
            best = now
            weights = {name: w.clone() for name, w in network.state_dict().items()}
        x, z = batches.take(step, *training)
        joint, apart = network(together_and_apart(x, z))[:, 0].chunk(2)
        loss, log_mean = lowered(Objective.mine, joint, apart, log_mean)
        update.descend(loss)
        update.apply(RATE)
    network.load_state_dict(weights)
    return network


def bound(network: nn.Module, pairs: Pairs) -> float:
    return Objective.mine.bound(*statistics(network, *pairs))


def summary(values: list[float], pairs: Pairs) -> Estimate:
    """What the values of all ten networks say."""
    of_pairs, shuffled = np.array(values[:FOLDS]), np.array(values[FOLDS:])
    return Estimate(
        value=float(of_pairs.mean()),
        error=float(of_pairs.std(ddof=1) / math.sqrt(FOLDS)),
        shuffled=float(shuffled.mean()),
        shuffled_error=float(shuffled.std(ddof=1) / math.sqrt(FOLDS)),
        ksg=ksg(*pairs),
        pairs=len(pairs[0]),
    )
