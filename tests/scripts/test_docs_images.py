"""The images of the documentation are what the scripts draw today of the reference results."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

IMAGES = Path(__file__).parents[2] / "docs" / "figures"
# Levels, of 255, by which the mean pixel may differ: another processor moves the last digits
# of a number, and with them a line by part of a pixel. A curve of another colour moves it by more.
ROUNDING = 0.02


@pytest.mark.on_demand
def test_docs_hold_what_the_scripts_draw(every_figure: Path) -> None:
    drawn = every_figure / "outputs" / "figures"
    kept = [path.relative_to(IMAGES) for path in IMAGES.rglob("*.png")]
    assert len(kept) > 50
    assert [str(name) for name in kept if difference(IMAGES / name, drawn / name) > ROUNDING] == []


def difference(first: Path, second: Path) -> float:
    """The mean difference of two images' pixels; infinite where their sizes differ."""
    one, other = (np.asarray(Image.open(path).convert("RGB"), float) for path in (first, second))
    return float(np.abs(one - other).mean()) if one.shape == other.shape else np.inf
