"""Figure 5.3 for other seeds, in CelebA's proportions.

A row a seed, which draws weights, images and minibatches anew. Panels as in Figure 5.3.
"""

from __future__ import annotations

import sys

from matplotlib.figure import Figure

from ntkexp.papers.lazy.spurious_curves import CELEBA_KIND
from ntkexp.scripts import drawing
from ntkexp.scripts.lazy.spurious_panels import draw, records_of

FIGURE = "C.7"
SEEDS = range(1, 5)


def make(options: drawing.Options) -> Figure:
    return draw(records_of(options), SEEDS)


main = drawing.main(__file__, __doc__, ",".join(CELEBA_KIND), make)

if __name__ == "__main__":
    sys.exit(main())
