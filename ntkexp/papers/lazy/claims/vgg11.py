"""Figures C.3 and C.4: the statements of Figure 5.2, of VGG11.

Its pair tells of two regimes only where alpha = 100 is lazy still at the first loss at which both
are compared: the control of what is compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from ntkexp.claims.claim import Claim, Control, above
from ntkexp.claims.statistics import Group, by
from ntkexp.papers.lazy.claims import noise, scores
from ntkexp.papers.lazy.claims.noise import CLEAN, LAZY, NEAR_1, PLAIN, PREMISE, title
from ntkexp.papers.lazy.curves import BY_SCORE, MEASURES, WRONG_LABELS, Columns, looks, pairs
from ntkexp.results.record import Record

SEEN = "VGG11 was judged apart from the networks of Figure 5.2"


def of_vgg11(
    claims: Sequence[Claim], start: str, figure: str, network: str, compared: dict[str, Any]
) -> Iterator[Claim]:
    """The claims of Figure 5.2 whose names begin so, of VGG11; `compared`: those on two regimes,
    with what gives their cases and control."""
    for claim in claims:
        name = claim.id.removeprefix(start)
        if claim.id != name:
            yield replace(
                claim,
                id=f"lazy-fig{figure.lower().replace('.', '')}-{name}",
                figure=figure,
                number=claim.number.removesuffix(PREMISE),
                experiments=(network, f"{network}_lazy"),
                seen=SEEN,
                **compared.get(name, {}),
            )


def both(columns: Columns, loss: str) -> Callable[..., dict[str, Any]]:
    """A number of both regimes, lazy or not, and the control."""

    def groups(records: Sequence[Record]) -> Iterator[Group]:
        for name, seed, *frames in pairs(looks(records, columns), LAZY, PLAIN):
            yield title(name), seed, *frames

    def least(lazy: pd.DataFrame, plain: pd.DataFrame) -> float:
        compared = lazy[lazy[loss] <= CLEAN[0]]
        return float(compared[[*MEASURES]].head(1).to_numpy().min(initial=1.0))

    def whole(records: Sequence[Record]) -> Iterator[Group]:
        return (("", *group[1:]) for group in groups(records))

    def fields(number: Callable[..., Any]) -> dict[str, Any]:
        words = f"least measure of alpha = 100 at the first look at a loss of {CLEAN[0]:g}"
        control = Control(words, by(whole)(least), above(NEAR_1))
        return {"statistic": by(groups)(number), "control": control}

    return fields


of_noise, of_scores = both(WRONG_LABELS, "clean"), both(BY_SCORE, "all")
CLAIMS = (
    *of_vgg11(
        noise.CLAIMS, "lazy-fig52-noise-", "C.3", noise.VGG,
        {"noisy-loss": of_noise(noise.higher_noisy_loss)},
    ),
    *of_vgg11(
        scores.CLAIMS, "lazy-fig52-scores-", "C.4", scores.VGG,
        {"spread": of_scores(scores.wider_losses)},
    ),
)  # fmt: skip
