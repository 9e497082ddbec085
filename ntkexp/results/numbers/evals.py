"""A run's numbers as its table `evals` has them: losses and accuracies of a split and subset."""

from __future__ import annotations

import pandas as pd

from ntkexp.results.numbers.once import once

# Accuracies are taken on 5,000 examples or more; batches are seldom all right at once.
FITTED = 0.999
# The share of its fall by which a training loss rises again: such a network has forgotten its
# training. Rises of the loss while a network learns are far smaller.
LOST = 0.9


@once
def rows(evals: pd.DataFrame, split: str, subset: str = "all") -> pd.DataFrame:
    """The rows of a split and subset, in order of their steps."""
    chosen = evals[(evals["split"] == split) & (evals["subset"] == subset)]
    return chosen.sort_values("step", kind="stable")


@once
def curve(
    evals: pd.DataFrame, split: str, subset: str = "all", column: str = "accuracy"
) -> pd.Series:
    """By step, the accuracy or loss of one network."""
    return rows(evals, split, subset).drop_duplicates("step").set_index("step")[column]


def last(evals: pd.DataFrame, split: str = "test", column: str = "accuracy") -> float:
    """Of one network, at the last look."""
    return float(curve(evals, split, column=column).iloc[-1])


def fitted_step(evals: pd.DataFrame) -> int:
    """The first look at which the training accuracy is 100 %; an error where it never is."""
    accuracy = curve(evals, "train")
    if not (accuracy >= FITTED).any():
        raise ValueError("the training set is not fitted")
    return int(accuracy.index[accuracy >= FITTED].min())


def has_fitted(evals: pd.DataFrame) -> bool:
    """True if the training accuracy came to 100 %."""
    return best_of_training(evals) >= FITTED


def best_of_training(evals: pd.DataFrame) -> float:
    """The highest training accuracy; nan without one."""
    return float(curve(evals, "train").max())


def best_step(evals: pd.DataFrame) -> int:
    """The look at which the test accuracy is highest: learning ends, overfitting begins."""
    accuracy = curve(evals, "test")
    return int(accuracy.index.to_numpy()[accuracy.to_numpy().argmax()])


def has_collapsed(evals: pd.DataFrame) -> bool:
    """True if a network lost what it had learned: nine tenths of what its training loss had
    come down, as when all ReLUs of a layer die."""
    return lost(evals) >= LOST


@once
def lost(evals: pd.DataFrame) -> float:
    """The share of its fall by which the training loss rose again; 0 where it never fell."""
    if not {"split", "subset", "loss"} <= {*evals}:
        return 0.0
    loss = rows(evals, "train").groupby("step")["loss"].mean()
    if len(loss) < 2:
        return 0.0
    gained = float(loss.iloc[0] - loss.min())
    return float(loss.iloc[-1] - loss.min()) / gained if gained > 0 else 0.0
