"""All papers: the folders of `papers/`, here and in projects of one's own.

A project of one's own that has claims or figures and no `papers/` folder is a paper by itself,
under the name of its package. Listing the papers imports no claim and no script.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType

from ntkexp import projects
from ntkexp.components import loaded
from ntkexp.errors import UserError, meant
from ntkexp.experiments import MAIN


@dataclass(frozen=True)
class Paper:
    """`home` is its folder, and `package` what that is called on import."""

    name: str
    title: str
    short: str
    authors: str = ""
    home: Path | None = None
    package: str = ""

    @property
    def citation(self) -> str:
        """Title and authors."""
        return f"{self.title}, {self.authors}" if self.authors else self.title

    def modules(self, name: str) -> Iterator[ModuleType]:
        """Imports the paper's file `name`.py, or every file of its folder `name`."""
        if self.home is None:
            return
        if (self.home / f"{name}.py").is_file():
            yield loaded(f"paper {self.name}", f"{self.package}.{name}")
        for file in sorted(filter(Path.is_file, (self.home / name).glob("*.py"))):
            if file.stem != "__init__":
                yield loaded(f"paper {self.name}", f"{self.package}.{name}.{file.stem}")


def names() -> list[str]:
    """Every paper's name, the main one first."""
    return list(_papers())


def paper(name: str) -> Paper:
    """The paper of this name; the title of a paper that is not here is its name."""
    return _papers().get(name) or Paper(name, name, name)


def existing(name: str) -> Paper:
    """The paper of this name; a name that no paper has is refused."""
    if name not in _papers():
        every = ", ".join(names())
        raise UserError(f"--paper {name}: no such paper{meant(name, names())}; there are {every}")
    return _papers()[name]


@cache
def _papers() -> dict[str, Paper]:
    papers: dict[str, Paper] = {}
    for paper in sorted(_everywhere(), key=lambda paper: (paper.name != MAIN, paper.name)):
        if other := papers.get(paper.name):
            raise UserError(
                f"{paper.home}: {other.home} is a paper of this name; expected another name"
            )
        papers[paper.name] = paper
    return papers


def _everywhere() -> Iterator[Paper]:
    for package, folder in projects.folders("papers"):
        for home in folder.iterdir():
            if (home / "__init__.py").is_file():
                yield _read(home.name, home, f"{package}.papers.{home.name}")
    for package, home in projects.own():
        if any((home / name).exists() for name in ("claims", "claims.py", "scripts")):
            yield _read(package, home, package)


def _read(name: str, home: Path, package: str) -> Paper:
    file = home / "__init__.py"
    texts = strings(file) if file.is_file() else {}
    title = texts.get("TITLE") or texts.get("__doc__", "").partition("\n")[0].removesuffix(".")
    return Paper(
        name,
        title or name,
        texts.get("SHORT", title or name),
        texts.get("AUTHORS", ""),
        home,
        package,
    )


def strings(file: Path) -> dict[str, str]:
    """The strings that a file gives to names at its top level; its docstring as `__doc__`."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    strings_by_name = {"__doc__": ast.get_docstring(tree) or ""}
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
            names = [target.id for target in node.targets if isinstance(target, ast.Name)]
            if isinstance(node.value.value, str):
                strings_by_name |= dict.fromkeys(names, node.value.value)
    return strings_by_name


Place = tuple[tuple[int, int, str], ...]


def natural(number: str | None) -> Place:
    """Sorts numbers by their size, before words; what has no number comes last.

    >>> sorted(["C", "5.10", "10", "5.2", "table 1", None, "9"], key=natural)
    ['5.2', '5.10', '9', '10', 'C', 'table 1', None]
    """
    if number is None:
        return ((2, 0, ""),)
    pieces = re.findall(r"\d+|\D+", number)
    return tuple((0, int(piece), "") if piece.isdecimal() else (1, 0, piece) for piece in pieces)


def named(number: str) -> str:
    """The figure as a text names it.

    >>> named("5.1"), named("table 1")
    ('Figure 5.1', 'Table 1')
    """
    return number.capitalize() if number[:1].islower() else f"Figure {number}"
