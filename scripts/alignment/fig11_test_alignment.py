"""Figure 11: alignment of the tangent kernel with the labels of test examples.

Left to right: an MLP of 6 x 80 on MNIST, VGG19 and ResNet18 on CIFAR-10. Kernels are centred by
class.
"""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
from matplotlib.figure import Figure

from ntkexp.scripts import drawing, trained

FIGURE = "11"
EXPERIMENTS = "mlp_mnist,vgg19_clean,resnet18_cifar10"
TABLES = ("evals", "alignment")


def of_test_examples(alignment: pd.DataFrame, centring: str) -> pd.DataFrame:
    """The rows of the whole network's kernel on test examples."""
    return alignment[
        (alignment["layer"] == "total")
        & (alignment["centring"] == centring)
        & (alignment["split"] == "test")
    ]


def numbers(group: trained.SeedRuns) -> pd.DataFrame:
    return trained.values(of_test_examples(group.tables["alignment"], "class"), cka="cka")


def draw(groups: Sequence[trained.SeedRuns], width: float = drawing.PAGE) -> Figure:
    figure, panels = drawing.subplots(
        1, len(groups), figsize=(width, 2.8), squeeze=False, sharey=True
    )
    titles = trained.titles(groups, [group.title for group in groups])
    for axes, group, title in zip(panels[0], groups, titles, strict=True):
        chosen = of_test_examples(group.tables["alignment"], "class")
        trained.curve(axes, chosen, "cka", colour=drawing.BLUE, linestyle=trained.TEST)
        trained.along_training([axes], group)
        axes.set(title=title, xlabel="iteration")
    panels[0, 0].set(ylabel="CKA, test", ylim=(0, None))
    drawing.letter_panels(panels[0])
    trained.note(figure, groups, more=[trained.CENTRED])
    return figure


main = drawing.main(
    __file__, __doc__, EXPERIMENTS, trained.Columns(TABLES, draw, numbers), __name__
)
