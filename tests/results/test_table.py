"""Rows of a table from columns, typed and of one length."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import pytest
import torch

from ntkexp.results.table import STEP, Table, float64, string

TABLE = Table("losses", "a loss", {"step": STEP, "split": string("whose"), "loss": float64("nats")})


def test_arrays_give_rows_and_scalars_are_repeated() -> None:
    frame = TABLE.frame({"loss": [0.5, 1], "step": np.array([3, 4], np.int32), "split": "test"})
    assert frame.to_dict("list") == {"step": [3, 4], "split": ["test"] * 2, "loss": [0.5, 1.0]}
    assert [*frame] == ["step", "split", "loss"]
    assert frame["step"].dtype == np.int64 and frame["loss"].dtype == np.float64


def test_scalars_alone_are_one_row_and_empty_arrays_none() -> None:
    assert len(TABLE.frame({"step": 1, "split": "test", "loss": 0.5})) == 1
    assert len(TABLE.frame({"step": [], "split": "test", "loss": pd.Series([], dtype=float)})) == 0


@pytest.mark.parametrize("losses", [(0.5, 1.0), range(2), torch.tensor([0.5, 1.0])])
def test_columns_may_come_as_whatever_has_values(losses: Sequence[float]) -> None:
    frame = TABLE.frame({"step": 3, "split": np.array("test"), "loss": losses})
    assert frame["step"].tolist() == [3, 3] and frame["step"].dtype == np.int64
    assert frame["split"].tolist() == ["test"] * 2
    assert frame["loss"].tolist() == [float(loss) for loss in losses]


@pytest.mark.parametrize(
    ("columns", "told"),
    [
        ({"step": [1, 2, 3], "split": "a", "loss": torch.ones(2)}, r"columns of lengths \[2, 3\]"),
        ({"step": 1, "loss": 0.5}, r"losses: columns \['loss', 'step'\], expected"),
        ({"step": [1, 2], "split": "a", "loss": [1.0]}, r"losses: columns of lengths \[1, 2\]"),
    ],
)
def test_other_columns_or_lengths_are_refused(columns: dict[str, object], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        TABLE.frame(columns)
