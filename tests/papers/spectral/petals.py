"""Tables of the experiments on curves with petals."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from tests.papers.spectral.made import SEEDS, rows

L = "data.petals"
MAPS = ("probability", "class")
CURVE = {L: 20, "probe.decision_map.half_width": 1.6}


def tables(experiment: str, holds: bool) -> Mapping[str, pd.DataFrame] | None:
    """What a run would have left; None for experiments without petals."""
    sign = 1 if holds else -1
    match experiment.removeprefix("spectral/"):
        case "petals":
            return {"evals": losses(sign), "fourier": spectrum(sign)}
        case "classes":
            return {"evals": accuracies(sign)}
        case "decision_maps":
            return {"evals": on_curve(holds), "decision_map": decisions(holds)}
        case "smoothness":
            zeta = {"step": (10,), "map": MAPS, "k": range(1, 129)}
            return {
                "radial_spectrum": rows(
                    zeta, zeta=lambda step, map, k: (1.0 if holds else 2.0) * k ** (-2.0 * sign)
                )
            }
        case "neighbours":
            return neighbours(holds)
    return None


def losses(sign: int) -> pd.DataFrame:
    axes = {L: (0, 4, 10), "seed": SEEDS, "step": (0, 100), "split": ("train", "test"),
            "subset": ("all",)}  # fmt: skip
    return rows(axes, loss=lambda **one: 1.0 if one["step"] == 0 else 0.5 - sign * one[L] / 50)


def spectrum(sign: int) -> pd.DataFrame:
    """Low frequencies are reached at step 100; the more petals, the more (or less) of the others
    is there by then."""
    axes = {L: (0, 4, 10), "seed": SEEDS, "step": (0, 100, 200), "k": range(20, 201, 20)}

    def magnitude(**one: int) -> float:
        if one["k"] <= 100:
            return 0.1 if one["step"] == 0 else 1.0
        return 0.5 + sign * one[L] / 50 if one["step"] == 100 else 0.3

    return rows(axes, magnitude=magnitude, target=lambda **one: 1.0)


def accuracies(sign: int) -> pd.DataFrame:
    axes = {"data.frequency": (50, 100, 200), L: (0, 10, 20), "seed": SEEDS,
            "step": (2000, 2600, 3000), "split": ("train", "test"), "subset": ("all",)}  # fmt: skip

    def accuracy(**one: object) -> float:
        late = one["split"] == "train" and int(str(one["step"])) > 2500
        return 0.75 + sign * (int(str(one[L])) - 10) / 100 if late else 0.5

    return rows(axes, accuracy=accuracy)


def on_curve(holds: bool) -> pd.DataFrame:
    """Of the last four looks one has an accuracy of its own."""
    axes = {"seed": SEEDS, "step": range(0, 51, 10), "split": ("train",), "subset": ("all",)}
    late, odd = (1.0, 0.9) if holds else (0.9, 1.0)
    return rows(axes, accuracy=lambda **one: odd if one["step"] in (0, 10, 50) else late)


def decisions(holds: bool) -> pd.DataFrame:
    """A map of 16 x 16 points, of which two networks answer some differently: all in one quarter
    far from the curve, or none."""
    axes = {"step": (10,), "seed": SEEDS, "row": range(16), "column": range(16)}
    odd = SEEDS[1] if holds else None

    def logit(step: int, seed: int, row: int, column: int) -> float:
        return -1.0 if seed == odd and row < 8 and column < 8 else 1.0

    return rows(axes, logit=logit)


def neighbours(holds: bool) -> Mapping[str, pd.DataFrame]:
    falls = -1 if holds else 1
    accuracy = {"seed": SEEDS, "neighbours": (1, 3, 9), "frequency": (50, 100),
                "petals": (0, 10, 20), "points": ("train", "between")}  # fmt: skip
    zeta = {"seed": SEEDS, "neighbours": (1, 3), "map": MAPS, "k": range(1, 129)}
    right = rows(accuracy, accuracy=lambda **one: 0.7 + falls * one["petals"] / 100)
    return {
        "neighbour_accuracy": right,
        "neighbour_spectrum": rows(
            zeta,
            zeta=lambda seed, neighbours, map, k: k ** (-2.0 if k <= 12 else -1.0 / neighbours),
        ),
    }
