"""Figure 14: as Figure 2, at the smaller learning rate 0.003."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import fig02_spectrum

EXPERIMENTS = "vgg19_clean_lr003,vgg19_noise50_lr003"


def main(argv: Sequence[str] | None = None) -> int:
    return fig02_spectrum.main(argv, EXPERIMENTS, "fig14_low_rate")


if __name__ == "__main__":
    sys.exit(main())
