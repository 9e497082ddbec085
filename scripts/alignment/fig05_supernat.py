"""Figure 5: test error of gradient descent and of SuperNat on noisy linear regression.

a: SuperNat with kappa = |grad L|; mean over 50 seeds, band from the 10th to the 90th centile. b:
how the choice of kappa in SuperNat's rescaling, which the paper leaves open, decides the outcome.
Only with kappa = 1, equation (17) to the letter, does it depend on the loss: dashed with the
paper's mean squared loss, dotted with |f - y|^2 / 2, which diverges. c: alignment of SuperNat's
kernel with the signal and with the noise in the labels; gradient descent's kernel stays where it
starts.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ntkexp.scripts import drawing

FIGURE = "5"
ALGORITHMS = (
    ("gradient_descent", "gradient descent", drawing.VERMILION),
    ("supernat", "SuperNat", drawing.BLUE),
)
# (kappa, loss): label, colour, style. The loss changes nothing but kappa = 1.
KAPPAS = {
    ("grad_norm", "mean"): (r"SuperNat, $\kappa = |\nabla L|$", drawing.BLUE, "-"),
    ("grad_max", "mean"): (r"SuperNat, $\kappa = \max_j |u_j^\top \nabla L|$", drawing.GREEN, "-"),
    ("const", "mean"): (r"SuperNat, $\lambda_{\max}$ kept", drawing.PURPLE, (0, (5, 2))),
    ("none", "mean"): (r"SuperNat, $\kappa = 1$, mean squared loss", drawing.ORANGE, "--"),
    ("none", "half_sum"): (r"SuperNat, $\kappa = 1$, $|f - y|^2/2$: diverges", drawing.ORANGE, ":"),
}
LOSS = "a, c: κ = |∇L|; the loss, mean squared unless told otherwise, matters to κ = 1 alone"
# The run starts from an error of one; beyond this it has diverged.
DIVERGED = 3.0


def draw(errors: pd.DataFrame, kappas: pd.DataFrame, alignment: pd.DataFrame) -> Figure:
    figure, (left, middle, right) = drawing.subplots(1, 3, figsize=(1.25 * drawing.PAGE, 3.4))
    algorithms(left, errors)
    compared(middle, kappas, errors)
    alignments(right, alignment[alignment["algorithm"] == "supernat"])
    drawing.letter_panels((left, middle, right))
    figure.legend(*middle.get_legend_handles_labels(), loc="outside upper center", ncols=3)
    seeds = errors["seed"].nunique()
    drawing.note(figure, [f"{seeds} regressions; {drawing.band_label(seeds)}, b: means", LOSS])
    return figure


def algorithms(axes: Axes, errors: pd.DataFrame) -> None:
    for name, label, colour in ALGORITHMS:
        chosen = errors[errors["algorithm"] == name]
        steps = np.sort(chosen["step"].unique())
        drawing.mean_and_band(
            axes, steps, drawing.by_seed(chosen, "error"), colour=colour, label=label
        )
    from_first_step(axes, errors)
    axes.set(yscale="log", ylabel="clean test error")


def compared(axes: Axes, kappas: pd.DataFrame, errors: pd.DataFrame) -> None:
    reference = errors[errors["algorithm"] == "gradient_descent"].groupby("step")["error"].mean()
    axes.plot(reference.index, reference, color=drawing.VERMILION, label="gradient descent")
    for (kind, loss), (label, colour, style) in KAPPAS.items():
        chosen = kappas[(kappas["kappa"] == kind) & (kappas["loss"] == loss)]
        means = chosen.groupby("step")["error"].mean()
        means = means[(means < DIVERGED).cummin()]
        if len(means):
            axes.plot(means.index, means, color=colour, linestyle=style, label=label)
    from_first_step(axes, errors)
    axes.set(yscale="log", ylabel="clean test error")


def alignments(axes: Axes, alignment: pd.DataFrame) -> None:
    for name, colour in (("signal", drawing.BLUE), ("noise", drawing.BLACK)):
        steps = np.sort(alignment["step"].unique())
        values = drawing.by_seed(alignment, name)
        drawing.mean_and_band(axes, steps, values, colour=colour, label=name)
    from_first_step(axes, alignment)
    axes.set(ylabel="alignment of the kernel", ylim=(0, 1))
    axes.legend()


def from_first_step(axes: Axes, frame: pd.DataFrame) -> None:
    """All that matters happens within ten iterations, so the axis starts at the first."""
    drawing.iteration_axis(axes, frame["step"].max(), first=1)


TABLES = ("test_error", "kappa_error", "kernel_alignment")
main = drawing.main(__file__, __doc__, "supernat", drawing.of_one_run(TABLES, draw), __name__)
