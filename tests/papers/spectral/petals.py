"""Tables of the experiments on curves with petals."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from tests.papers.made import rows
from tests.papers.spectral.made import SEEDS

L = "data.petals"
MAPS = ("probability", "class")
CURVE = {L: 20, "probe.decision_map.half_width": 1.6}


def tables(experiment: str, holds: bool) -> Mapping[str, pd.DataFrame] | None:
    """What a run would have left; None for experiments without petals."""
    sign = 1 if holds else -1
    match experiment.removeprefix("spectral/"):
        case "petals":
            return {"evals": losses(sign), "fourier": spectrum(sign)}
        case "petal_maps":
            return {"radial_spectrum": plane(sign)}
        case "classes":
            return {"evals": accuracies(sign)}
        case "decision_maps":
            return {"evals": on_curve(holds), "decision_map": decisions(holds)}
        case "smoothness":
            zeta = {"step": (10,), "map": MAPS, "k": range(1, 257)}
            return {
                "radial_spectrum": rows(
                    zeta, zeta=lambda step, map, k: (1.0 if holds else 2.0) * k ** (-2.0 * sign)
                )
            }
        case "neighbours":
            return neighbours(holds)
    return None


def plane(sign: int) -> pd.DataFrame:
    """Two frequencies, the higher one the weaker (or the stronger) the more petals."""
    axes = {L: (0, 4, 10), "seed": SEEDS, "k": (10, 20)}
    return rows(axes, map="output", zeta=lambda **one: 1.0 if one["k"] < 12 else
                0.5 - sign * one[L] / 50)  # fmt: skip


def losses(sign: int) -> pd.DataFrame:
    axes = {"split": ("train", "test"), "seed": SEEDS, L: (0, 4, 10), "step": (0, 100)}
    ends = [[1.0, 0.5 - sign * petals / 50] for petals in axes[L]]
    return rows(axes, subset="all", loss=ends)


def spectrum(sign: int) -> pd.DataFrame:
    """Low frequencies are reached at step 100; the more petals, the more (or less) of the others
    is there by then."""
    axes = {L: (0, 4, 10), "seed": SEEDS, "step": (0, 100, 200), "k": range(20, 201, 20)}

    def magnitude(**one: int) -> float:
        if one["k"] <= 100:
            return 0.1 if one["step"] == 0 else 1.0
        return 0.5 + sign * one[L] / 50 if one["step"] == 100 else 0.3

    return rows(axes, magnitude=magnitude, target=1.0)


def accuracies(sign: int) -> pd.DataFrame:
    axes = {"data.frequency": (50, 100, 200), L: (0, 10, 20), "seed": SEEDS,
            "step": (2000, 2600, 3000), "split": ("train", "test")}  # fmt: skip

    def accuracy(**one: object) -> float:
        late = one["split"] == "train" and int(str(one["step"])) > 2500
        return 0.75 + sign * (int(str(one[L])) - 10) / 100 if late else 0.5

    return rows(axes, subset="all", accuracy=accuracy)


def on_curve(holds: bool) -> pd.DataFrame:
    """Of the last four looks one has an accuracy of its own."""
    axes = {"seed": SEEDS, "step": range(0, 51, 10)}
    late, odd = (1.0, 0.9) if holds else (0.9, 1.0)
    accuracy = (odd, odd, late, late, late, odd)
    return rows(axes, split="train", subset="all", accuracy=accuracy)


def decisions(holds: bool) -> pd.DataFrame:
    """A map of 16 x 16 points, of which two networks answer some differently: all in one quarter
    far from the curve, or none."""
    axes = {"step": [10], "seed": SEEDS, "row": range(16), "column": range(16)}
    logits = np.ones((2, 16, 16))
    logits[1, :8, :8] = -1.0 if holds else 1.0
    return rows(axes, logit=logits)


def neighbours(holds: bool) -> Mapping[str, pd.DataFrame]:
    falls = -1 if holds else 1
    accuracy = {"seed": SEEDS, "neighbours": (1, 3, 9), "frequency": (50, 100, 200),
                "petals": (0, 10, 20), "points": ("train", "between")}  # fmt: skip
    zeta = {"seed": SEEDS, "neighbours": (1, 3, 9), "map": MAPS, "k": range(1, 257)}
    right = rows(accuracy, accuracy=lambda **one: 0.7 + falls * one["petals"] / 100)
    return {
        "neighbour_accuracy": right,
        "neighbour_spectrum": rows(
            zeta,
            zeta=lambda seed, neighbours, map, k: k ** (-2.0 if k <= 25 else -1.0 / neighbours),
        ),
    }
