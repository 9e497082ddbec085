"""Figure 12: as Figure 11, without centring."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import fig11_test_alignment


def main(argv: Sequence[str] | None = None) -> int:
    return fig11_test_alignment.main(argv, "none", "fig12_uncentred")


if __name__ == "__main__":
    sys.exit(main())
