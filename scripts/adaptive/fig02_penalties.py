"""Figure 2: effective penalties of (v - 1)^2, of |v - 1| and of both together, with v^2.

a: near 0 all are v^2. b: far from it they rise more slowly, as v, v^(2/3) and v^(1/2).
"""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from ntkexp.scripts import drawing

FIGURE = "2"
CURVES = (
    ("none", "$v^2$", drawing.BLACK, ":"),
    ("square", r"$\tilde\omega_1$, $(v-1)^2$", drawing.BLUE, "-"),
    ("absolute", r"$\tilde\omega_2$, $|v-1|$", drawing.VERMILION, "-"),
    ("joint", r"$\tilde\omega_3$, $\omega_1 \oplus \omega_2$", drawing.GREEN, "-"),
)
NEAR = 3.0


def draw(penalties: pd.DataFrame) -> Figure:
    figure, (near, far) = drawing.subplots(1, 2, figsize=(drawing.PAGE, 2.5))
    for name, label, colour, style in CURVES:
        curve = penalties[penalties["penalty"] == name].sort_values("v")
        for axes, part in ((near, curve), (far, curve[curve["v"] > 0])):
            axes.plot(part["v"], part["value"], color=colour, linestyle=style, label=label)
    near.set(xlabel="$v$", ylabel="effective penalty", ylim=(0, 4), xlim=(0, NEAR))
    far.set(xlabel="$v$", ylabel="effective penalty", xscale="log", yscale="log")
    near.legend()
    drawing.letter_panels((near, far))
    return figure


main = drawing.main(
    __file__,
    __doc__,
    "adaptive/penalties",
    drawing.of_one_run(["effective_penalties"], draw),
    __name__,
)
