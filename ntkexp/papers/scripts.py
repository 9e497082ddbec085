"""The scripts that draw figures: a folder a paper, a file a figure, read without running them.

    scripts/lazy/fig51_alignment.py       its docstring is the figure's caption
        FIGURE = "5.1"                    the figure's number; a figure of no number has none

`scripts/` is installed as `ntkexp.scripts`. In a project of one's own the scripts may also lie in
`scripts/` itself.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ntkexp import projects
from ntkexp.experiments import MAIN
from ntkexp.papers import registry
from ntkexp.papers.registry import natural, strings

FIGURES = Path("outputs", "figures")


@dataclass(frozen=True)
class Script:
    path: Path
    paper: str
    figure: str | None
    caption: str

    @property
    def stem(self) -> str:
        return self.path.stem

    @property
    def name(self) -> str:
        """Unique among all papers: that of a figure of the main paper is its file's."""
        return self.stem if self.paper == MAIN else f"{self.paper}/{self.stem}"


def scripts() -> list[Script]:
    """Every script that draws a figure: the main paper's first, in order of their numbers."""
    order = {name: place for place, name in enumerate(registry.names())}
    return sorted(
        map(read, _files()),
        key=lambda script: (
            order.get(script.paper, len(order)), script.paper, natural(script.figure), script.stem
        ),
    )  # fmt: skip


def read(path: Path) -> Script:
    texts = strings(path)
    return Script(path, paper_of(path), texts.get("FIGURE"), texts["__doc__"])


def paper_of(script: Path) -> str:
    """A script's folder names its paper, in a project of one's own the package does."""
    folder = script.resolve().parent
    return folder.parent.name if folder.name == "scripts" else folder.name


def folder_of(paper: str, figures: Path = FIGURES) -> Path:
    """The folder in which the figures of a paper are drawn."""
    return figures if paper == MAIN else figures / paper


def _files() -> Iterator[Path]:
    spec = importlib.util.find_spec("ntkexp.scripts")
    for folder in spec.submodule_search_locations or () if spec else ():
        yield from Path(folder).glob("*/fig*.py")
    for _, home in projects.own():
        yield from (home / "scripts").glob("fig*.py")
        yield from (home / "scripts").glob("*/fig*.py")
