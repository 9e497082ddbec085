"""Wrong labels in both regimes, VGG11: Figure 5.2 (bottom) with another network.

Panels as there.
"""

from __future__ import annotations

from ntkexp.scripts import drawing
from ntkexp.scripts.lazy.noise_panels import draw, noted

FIGURE = "C.3"

main = drawing.main(
    __file__, __doc__, "lazy/noise_vgg11,lazy/noise_vgg11_lazy", noted(draw), __name__
)
