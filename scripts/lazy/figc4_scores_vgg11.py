"""Examples in tenths by their C-score, VGG11 in both regimes: Figure C.4.

Panels as in Figure 5.2 (top). The scores were estimated here.
"""

from __future__ import annotations

from ntkexp.scripts import drawing
from ntkexp.scripts.lazy.fig52_scores import make

FIGURE = "C.4"

main = drawing.main(
    __file__, __doc__, "lazy/c_scores_vgg11,lazy/c_scores_vgg11_lazy", make, __name__
)
