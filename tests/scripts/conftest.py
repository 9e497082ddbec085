"""Figures of one format, in a third of the time of the three."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from ntkexp.scripts import drawing
from tests.conftest import Script


@pytest.fixture
def as_svg(monkeypatch: pytest.MonkeyPatch) -> None:
    """Figures are saved as SVG alone."""

    def save(figure: Figure, out: Path, stem: str) -> list[Path]:
        out.mkdir(parents=True, exist_ok=True)
        file = out / f"{stem}.svg"
        FigureCanvasSVG(figure).print_svg(file)
        return [file]

    monkeypatch.setattr(drawing, "save", save)


Drawn = Callable[..., None]


@pytest.fixture
def drawn(script: Script, tmp_path: Path, as_svg: None) -> Drawn:
    """Draws the figure of a script from runs in these folders; it is there, and has something in
    it."""

    def draw(stem: str, *folders: Path) -> None:
        out = tmp_path / "drawn"
        assert script(stem)(["--runs", *map(str, folders), "--out", str(out)]) == 0
        (file,) = out.iterdir()
        assert file.name == f"{stem}.svg"
        assert file.stat().st_size > 5_000

    return draw


def some_on_demand(stems: Iterable[str], on_demand: Iterable[str]) -> list[Any]:
    marks = dict.fromkeys(on_demand, pytest.mark.on_demand)
    return [pytest.param(stem, marks=[marks[stem]] if stem in marks else []) for stem in stems]
