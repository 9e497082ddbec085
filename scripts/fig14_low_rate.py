"""Figure 14: as Figure 2, at the smaller learning rate 0.003."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import trained
from fig02_spectrum import TABLES, draw

EXPERIMENTS = "vgg19_clean_lr003,vgg19_noise50_lr003"


def main(argv: Sequence[str] | None = None) -> int:
    return trained.column_each(__doc__, EXPERIMENTS, TABLES, draw, "fig14_low_rate", argv, True)


if __name__ == "__main__":
    sys.exit(main())
