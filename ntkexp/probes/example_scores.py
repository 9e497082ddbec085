"""Difficulty scores of the training examples, for tables that name examples by their number.

ntkexp train +exp=lazy/left_out_scored --with-parents
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ntkexp.errors import UserError
from ntkexp.probes.base import Probe
from ntkexp.probes.view import View
from ntkexp.results.table import STEP, Rows, Table, float64, int64

EXAMPLE_SCORES = Table(
    "example_scores",
    "the difficulty score of one training example, as the data have it; of the first look alone",
    {
        "step": STEP,
        "example": int64("number of the example in the training split, from 0"),
        "score": float64("low for hard examples, such as a C-score"),
    },
)


@dataclass
class ExampleScores(Probe):
    """Written once, at step 0. Data without scores are refused."""

    tables = (EXAMPLE_SCORES,)
    needs = frozenset({"examples", "training"})
    looks_at = frozenset()

    def check(self, config: Any = None) -> None:
        if not config.data.has_scores:
            raise UserError(
                f"probe.example_scores: data={config.data.name} has no difficulty scores; expected "
                "data that have, such as scored_mnist"
            )

    def measure(self, view: View) -> Rows:
        if view.step > 0:
            return {}
        scores = view.examples("train").scores
        assert scores is not None, "checked before"
        values = scores.cpu().numpy()
        return {"example_scores": {"example": np.arange(len(values)), "score": values}}
