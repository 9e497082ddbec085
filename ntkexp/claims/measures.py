"""Figure 6: which complexity measures follow the generalisation gap."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pandas as pd

from ntkexp.claims.claim import FEWEST, Case, Claim, Statistic, above, below
from ntkexp.claims.curves import agreement
from ntkexp.claims.record import Record

PANELS = {
    "complexity_width": "width",
    "complexity_noise": "noise",
    "complexity_channels": "channels",
}
OURS = "complexity"
NEYSHABUR = ("neyshabur_core", "neyshabur_bound")
OTHERS = (
    "parameters",
    "l2_norm",
    "distance",
    "frobenius_product",
    "spectral_product",
    "l1_path_norm",
    "l2_path_norm",
    "fisher_rao",
    "inverse_squared_margin",
    "spectral_two_one",
    "spectral_frobenius",
    "frobenius_bound",
    "two_layer_spectral_two_one",
    "two_layer_spectral_frobenius",
)
GAP = "gap_error"
FOLLOWS = 0.7
# Training stops when its running mean is below 0.01; the whole training set may be a little above.
FITTED_LOSS = 0.02


def measured(record: Record) -> dict[str, float]:
    """Every measure of a trained network, C of equation (18) among them."""
    table = record.tables["measures"]
    last = table[table["step"] == table["step"].max()]
    values = dict(zip(last["measure"], last["value"].astype(float), strict=True))
    return values | {OURS: float(record.tables["complexity"]["complexity"].iloc[-1])}


def sweeps(records: Sequence[Record]) -> dict[tuple[str, int], pd.DataFrame]:
    """For every experiment and seed a row for each network, a column for each measure."""
    rows: dict[tuple[str, int], list[dict[str, float]]] = {}
    order = list(PANELS)
    for record in sorted(records, key=lambda r: (order.index(r.experiment), r.seed, r.axis)):
        rows.setdefault((record.experiment, record.seed), []).append(measured(record))
    return {key: pd.DataFrame(found) for key, found in rows.items()}


def follows_gap(measure: str) -> Statistic:
    """How far a measure puts the networks of one seed in the order of their gaps."""

    def cases(records: Sequence[Record]) -> Iterable[Case]:
        for (experiment, seed), table in sweeps(records).items():
            if measure in table and len(table) >= FEWEST:
                yield Case(PANELS[experiment], seed, agreement(table[measure], table[GAP]))

    return cases


def worst_loss(records: Sequence[Record]) -> Iterable[Case]:
    for (experiment, seed), table in sweeps(records).items():
        yield Case(PANELS[experiment], seed, float(table["train_loss"].max()))


def _measure(name: str) -> Claim:
    follows = name == OURS or name in NEYSHABUR
    written = "The paper's complexity C" if name == OURS else name.replace("_", " ")
    return Claim(
        id=f"fig06-{name.replace('_', '-')}",
        figure=6,
        says=f"{written} follows the generalisation gap in every setting"
        if follows
        else f"{written} misses the shape of the gap in at least one setting",
        paper="follows" if follows else "does not",
        number="agreement with the order of the gaps, from -1 to 1",
        experiments=tuple(PANELS),
        tables=("measures", "complexity"),
        statistic=follows_gap(name),
        holds=above(FOLLOWS) if follows else below(FOLLOWS),
        somewhere=not follows,
    )


CLAIMS = (
    Claim(
        id="fig06-fitted",
        figure=6,
        says="All networks are trained until their cross-entropy reaches 0.01",
        paper="0.01",
        number="largest final training loss of a sweep",
        experiments=tuple(PANELS),
        tables=("measures", "complexity"),
        statistic=worst_loss,
        holds=below(FITTED_LOSS),
    ),
    *(_measure(name) for name in (OURS, *NEYSHABUR, *OTHERS)),
)
