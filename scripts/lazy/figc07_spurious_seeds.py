"""Figure 5.3 for other seeds, in CelebA's proportions.

A row a seed, which draws weights, images and minibatches anew. Panels as in Figure 5.3.
"""

from __future__ import annotations

from ntkexp.papers.lazy.spurious_curves import CELEBA_KIND
from ntkexp.scripts import drawing
from ntkexp.scripts.lazy.spurious_panels import of_other_seeds

FIGURE = "C.7"

main = drawing.main(__file__, __doc__, ",".join(CELEBA_KIND), of_other_seeds, __name__)
