"""Errors of linearisations, made up: by images, by epochs; and where linearisations end."""

from __future__ import annotations

import pytest

from ntkexp.claims.verdict import Verdict, judge
from ntkexp.papers.linearised.claims.error import CLAIMS, ERROR
from ntkexp.results.record import Record
from tests.papers.linearised.made import ALL, of_paper, record
from tests.papers.made import rows

LEDGER = {claim.id.removeprefix("linearised-sec4-"): claim for claim in CLAIMS}
IMAGES = (256, 1024, 4096, None)


def runs(sign: int) -> list[Record]:
    """The error grows with images and falls with the step; agreement the other way round."""
    found = []
    for place, images in enumerate(IMAGES):
        by_step = [0.1 * 2.0 ** (sign * (place - step)) for step in range(3)]
        table = rows({"start": (0, 390, 3900)}, step=9, error=by_step,
                     agreement=[0.9 * 2.0 ** (sign * (step - 3)) for step in range(3)])  # fmt: skip
        tables = {"linearisation_error": table}
        found.append(of_paper(ERROR, tables, **{"data.train_examples": images}))
    return found


@pytest.mark.parametrize("name", ["error-grows", "error-falls", "agreement"])
def test_the_sign_of_each_step_decides(name: str) -> None:
    assert judge(LEDGER[name], runs(1)).verdict is Verdict.holds
    assert judge(LEDGER[name], runs(-1)).verdict is Verdict.fails
    assert len(judge(LEDGER[name], runs(1)).cases) == (3 if name == "error-grows" else 2)


def test_linearisations_of_later_eigenfunctions_end_farther_away() -> None:
    linear = record("linearised/mlp_linear", [0.9] * len(ALL))
    assert judge(LEDGER["closer"], [linear]).verdict is Verdict.holds
    table = linear.tables["distance"]
    table["distance"] = -table["distance"]
    assert judge(LEDGER["closer"], [linear]).verdict is Verdict.fails
