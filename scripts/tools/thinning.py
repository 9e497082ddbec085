"""What a run loses when the repository keeps it: rows that nobody draws, and bits that say nothing.

The networks compute in float32, whose significand has 24 bits, and a kernel's eigenvalue is right
to fewer. The further bits of a float64 are noise, and noise is what no compression shortens.
`rounded` keeps 22 bits and sets the others to zero. The type stays, so readers see no difference:

    |rounded(x) - x| <= 2^-22 |x|

A spectrum keeps 18: a kernel computed in float32 has its eigenvalues to parts in 2^24 of the
largest, and the ones that are drawn are smaller than that by tens to thousands. Eigenfunctions are
drawn, and compared with the classes: 14.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

# What Figure 1 shows, and two more while the classes appear.
SHOWN_ITERATIONS = (0, 20, 100, 300, 650, 1000, 2000)
# What Figure 1 and the report show; claims look at the first five.
SHOWN_RANKS = (1, 2, 3, 4, 5, 6, 7, 8, 10, 20)
GROWTH = 1.02
# The growth between steps of which figures and claims read the last alone.
SPARSE_GROWTH = 1.1
SIGNIFICANT_BITS = 22
SPECTRUM_BITS = 18
# Bits of what is only drawn and compared: parts in 10,000.
DRAWN_BITS = 14


@dataclass(frozen=True)
class Thinning:
    """A change of a table, and the words for it."""

    rule: str
    apply: Callable[[pa.Table], pa.Table]


def rounded(values: np.ndarray, bits: int = SIGNIFICANT_BITS) -> np.ndarray:
    """Floats of so many significant bits, the nearest ones.

    >>> rounded(np.array([1 / 3]), bits=4)
    array([0.34375])
    """
    significand, exponent = np.frexp(values)
    whole = np.round(np.ldexp(significand, bits))
    return np.asarray(np.ldexp(whole, exponent - bits))


def _rounded(table: pa.Table) -> pa.Table:
    return _columns_rounded(table, pa.types.is_float64, SIGNIFICANT_BITS)


def _columns_rounded(table: pa.Table, chosen: Callable[[pa.DataType], bool], bits: int) -> pa.Table:
    # What stands before the step tells the networks of a run apart, such as alpha = 0.1.
    first = table.schema.names.index("step") if "step" in table.schema.names else 0
    for place, field in enumerate(table.schema):
        if place >= first and chosen(field.type):
            values = rounded(table.column(place).to_numpy(), bits)
            table = table.set_column(place, field, pa.array(values, field.type))
    return table


def _of_steps(kept: Callable[[np.ndarray], np.ndarray]) -> Callable[[pa.Table], pa.Table]:
    def apply(table: pa.Table) -> pa.Table:
        steps = table.column("step").to_numpy()
        return table.filter(np.isin(steps, kept(np.unique(steps))))

    return apply


def _nearest(steps: np.ndarray) -> np.ndarray:
    return np.array(
        sorted({int(steps[np.abs(steps - wanted).argmin()]) for wanted in SHOWN_ITERATIONS})
    )


def _log_spaced(steps: np.ndarray) -> np.ndarray:
    """The first, the last, and between them those at which the step number has grown by 2 %."""
    places = np.geomspace(1, len(steps), 1 + int(np.log(len(steps)) / np.log(GROWTH)))
    return np.array(steps[np.unique(places.round().astype(int)) - 1])


def _sparse(steps: np.ndarray) -> np.ndarray:
    """The first, the last, and between them each that is 10 % beyond the one kept before it."""
    kept = [steps[0]]
    for step in steps[1:]:
        if step >= SPARSE_GROWTH * kept[-1]:
            kept.append(step)
    return np.array([*kept, steps[-1]])


def _log_spaced_and_drawn(table: pa.Table) -> pa.Table:
    return _columns_rounded(_of_steps(_log_spaced)(table), pa.types.is_floating, DRAWN_BITS)


def _of_columns(*names: str, bits: int = SIGNIFICANT_BITS) -> Thinning:
    def apply(table: pa.Table) -> pa.Table:
        for name in names:
            place, values = table.schema.names.index(name), table.column(name).to_numpy()
            field = table.schema.field(place)
            table = table.set_column(place, field, pa.array(rounded(values, bits), field.type))
        return table

    return Thinning(f"{', '.join(names)}: rounded to {bits} significant bits", apply)


def _of_the_whole_kernel(table: pa.Table) -> pa.Table:
    whole = table.column("layer").to_pandas() == "total"
    centred = table.column("centring").to_pandas() == "class"
    return _rounded(table.filter(pa.array(whole & centred)))


def _shown(table: pa.Table) -> pa.Table:
    part = _of_steps(_nearest)(table)
    part = part.filter(np.isin(part.column("rank").to_numpy(), SHOWN_RANKS))
    return _columns_rounded(part, pa.types.is_floating, DRAWN_BITS)


SHOWN = Thinning(
    f"the steps nearest to {', '.join(map(str, SHOWN_ITERATIONS))}, "
    f"ranks {', '.join(map(str, SHOWN_RANKS))}; values rounded to {DRAWN_BITS} significant bits",
    _shown,
)
ROUNDED = Thinning(f"values rounded to {SIGNIFICANT_BITS} significant bits", _rounded)
SPECTRUM = Thinning(
    f"values rounded to {SPECTRUM_BITS} significant bits",
    lambda table: _columns_rounded(table, pa.types.is_float64, SPECTRUM_BITS),
)
SPARSE = Thinning(
    f"the first step, the last, and each 10 % beyond the one before; {ROUNDED.rule}",
    lambda table: _rounded(_of_steps(_sparse)(table)),
)
DRAWN = Thinning(
    f"steps log-spaced by 2 %, the first and the last; values rounded to {DRAWN_BITS} significant "
    "bits",
    _log_spaced_and_drawn,
)

# What is read of it: at which step a ratio passes .9; or it is only drawn.
AS_DRAWN = Thinning(
    f"values rounded to {DRAWN_BITS} significant bits",
    lambda table: _columns_rounded(table, pa.types.is_floating, DRAWN_BITS),
)
# What is read of it: the CKA of groups of examples, class-centred.
WHOLE_KERNEL = Thinning(
    f"the whole network's kernel, centred by class; {ROUNDED.rule}", _of_the_whole_kernel
)

# By the beginning of an experiment's name, then table; no other table loses anything.
RULES: tuple[tuple[str, str, Thinning], ...] = (
    ("disk", "eigenfunctions", SHOWN),
    ("complexity_", "complexity", SPARSE),
    ("", "spectrum", SPECTRUM),
    ("lazy/c_scores_vgg11", "alignment", WHOLE_KERNEL),
    ("", "alignment", ROUNDED),
    ("lazy/continuum", "evals", ROUNDED),
    ("lazy/continuum", "linearity", ROUNDED),
    ("lazy/dense_examples", "snapshot", DRAWN),
    ("lazy/quadratic_examples", "quadratic_curves", ROUNDED),
    ("lazy/", "leave_one_out", _of_columns("margin", "residual")),
    # Not the scores: equal ones have to stay equal.
    ("lazy/c_scores_cifar", "c_scores", _of_columns("error", "probability", bits=DRAWN_BITS)),
    ("lazy/c_scores", "c_scores", _of_columns("error", "probability")),
    ("lazy/yin_yang_maps", "yin_yang_maps", ROUNDED),
    ("lazy/yin_yang_maps", "yin_yang_areas", ROUNDED),
    ("lazy/yin_yang_maps", "yin_yang_progress", ROUNDED),
    ("spectral/equal", "fourier", AS_DRAWN),
    ("spectral/increasing", "fourier", AS_DRAWN),
    ("adaptive/label_kernel", "adapted_cells", AS_DRAWN),
    ("supernat", "test_error", ROUNDED),
    ("supernat", "kernel_eigenvalues", ROUNDED),
    ("supernat", "kernel_alignment", ROUNDED),
)


def thinning(experiment: str, table: str) -> Thinning | None:
    return next(
        (rule for prefix, name, rule in RULES if experiment.startswith(prefix) and name == table),
        None,
    )
