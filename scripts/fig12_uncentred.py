"""Figure 12: as Figure 11, without centring."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial

import trained
from fig11_test_alignment import EXPERIMENTS, TABLES, draw


def main(argv: Sequence[str] | None = None) -> int:
    uncentred = partial(draw, centring="none")
    return trained.column_each(__doc__, EXPERIMENTS, TABLES, uncentred, "fig12_uncentred", argv)


if __name__ == "__main__":
    sys.exit(main())
