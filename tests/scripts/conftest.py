"""Figures of one format, in a third of the time of the three."""

from __future__ import annotations

from pathlib import Path

import pytest
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from ntkexp.scripts import drawing


@pytest.fixture
def as_svg(monkeypatch: pytest.MonkeyPatch) -> None:
    """Figures are saved as SVG alone."""

    def save(figure: Figure, out: Path, stem: str) -> list[Path]:
        out.mkdir(parents=True, exist_ok=True)
        file = out / f"{stem}.svg"
        FigureCanvasSVG(figure).print_svg(file)
        return [file]

    monkeypatch.setattr(drawing, "save", save)
