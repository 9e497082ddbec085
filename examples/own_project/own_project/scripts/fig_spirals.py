"""The norm of the weights along training:  python -m own_project.scripts.fig_spirals"""

import matplotlib.pyplot as plt

from ntkexp.scripts import drawing

FIGURE = "1"


def draw(norms):
    figure, axes = plt.subplots()
    axes.plot(norms["step"], norms["norm"])
    return figure


main = drawing.main(
    __file__, __doc__, "spirals", drawing.of_one_run(("weight_norm",), draw), __name__
)
