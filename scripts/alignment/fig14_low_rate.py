"""Figure 14: as Figure 2, at the smaller learning rate 0.003. Kernels are centred by class."""

from __future__ import annotations

from ntkexp.scripts import drawing, trained
from ntkexp.scripts.alignment.fig02_spectrum import TABLES, draw

FIGURE = "14"
EXPERIMENTS = "vgg19_clean_lr003,vgg19_noise50_lr003"


main = drawing.main(
    __file__, __doc__, EXPERIMENTS, trained.Columns(TABLES, draw, released=True), __name__
)
