"""Figure A.5: the target of Experiment 7, a delta function, and its spectrum.

Its sum over points is 1, so each frequency has 2/N of it here, where a sine has its amplitude; the
text has 1/N.
"""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from ntkexp.scripts import drawing

FIGURE = "A.5"


def draw(curve: pd.DataFrame, fourier: pd.DataFrame) -> Figure:
    figure, (left, right) = drawing.subplots(1, 2, figsize=(drawing.PAGE, 2.2))
    target = curve[curve["step"] == curve["step"].min()].drop_duplicates("point")
    left.plot(target["point"] / len(target), target["target"], color=drawing.BLUE)
    left.set(xlabel="$z$", ylabel=r"$\lambda(z)$")
    spectrum = fourier[fourier["step"] == fourier["step"].min()].drop_duplicates("k")
    right.plot(spectrum["k"], spectrum["target"], color=drawing.BLUE)
    right.set(xlabel="$k$", ylabel=r"$|\tilde\lambda_k|$", ylim=(0, None))
    return figure


main = drawing.main(
    *(__file__, __doc__, "spectral/delta_clip"),
    drawing.of_one_run(("curve", "fourier"), draw),
    __name__,
)
