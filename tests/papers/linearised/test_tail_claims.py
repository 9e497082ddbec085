"""Who is sooner at a loss is set beside the tail of the kernel."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from ntkexp.claims.ledger import ledger
from ntkexp.claims.verdict import Verdict, judge
from ntkexp.papers.linearised.claims.tail import PLACE
from ntkexp.results.record import Record
from tests.papers.linearised.made import record
from tests.papers.made import record as of_paper

(CLAIM,) = (claim for claim in ledger(["linearised"]) if claim.id == "linearised-tail")


def with_tail(net: str, value: float, *, linear_first: bool) -> list[Record]:
    steps = ([9.0, 9.0], [5.0, 5.0]) if linear_first else ([5.0, 5.0], [9.0, np.inf])
    pairs = pd.DataFrame({"index": [1, PLACE], "eigenvalue": [9.0, value], "residual": 0.0})
    return [
        of_paper(f"linearised/pairs_{net}", {"eigenpairs": pairs}),
        *(
            record(f"linearised/{net}{end}", [0.9, 0.8], js=(10, 100), steps=each)
            for end, each in zip(("", "_linear"), steps, strict=True)
        ),
    ]


@pytest.mark.parametrize("heavy", [True, False])
def test_a_heavy_tail_has_the_linearisation_first(heavy: bool) -> None:
    runs = [*with_tail("mlp", 0.1, linear_first=heavy),
            *with_tail("lenet", 0.001, linear_first=not heavy)]  # fmt: skip
    found = judge(CLAIM, runs)
    assert found.verdict is (Verdict.holds if heavy else Verdict.fails)
    assert found.cases[0].value == pytest.approx(100 if heavy else 0.01)
    assert {case.panel for case in found.also} == {"MLP, 0.1", "LeNet, 0.001"}
