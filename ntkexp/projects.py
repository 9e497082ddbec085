"""Packages that have components, configs, figures and claims: ntkexp, and one's own projects.

A project of one's own is an installed package with the same folders as this one (configs/, data/,
models/, probes/, claims/, scripts/ ...; any may be missing). It names itself in its
pyproject.toml:

    [project.entry-points."ntkexp.projects"]
    own_project = "own_project"

Asking what there is imports none of its modules.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path

from ntkexp.errors import UserError

GROUP = "ntkexp.projects"
HERE = Path(__file__).parent


@cache
def own() -> tuple[tuple[str, Path], ...]:
    """(package, its folder) of every project of one's own, in order of their names."""
    named = {entry.value: entry.name for entry in entry_points(group=GROUP)}
    return tuple((package, _folder(package, named[package])) for package in sorted(named))


def folders(name: str) -> Iterator[tuple[str, Path]]:
    """(package, folder) of every folder of this name, this package's first."""
    for package, home in (("ntkexp", HERE), *own()):
        if (home / name).is_dir():
            yield package, home / name


def configs() -> Iterator[tuple[str, Path]]:
    """(package, folder of its configs) of every project of one's own."""
    for package, home in own():
        if (home / "configs").is_dir():
            yield package, home / "configs"


def _folder(package: str, entry: str) -> Path:
    try:
        spec = importlib.util.find_spec(package)
    except (ImportError, ValueError):
        spec = None
    if spec is None or not spec.submodule_search_locations:
        raise UserError(
            f"the installed project {entry} names the package {package} ({GROUP}), which is not "
            "there; install it again, or uninstall it"
        )
    return Path(next(iter(spec.submodule_search_locations)))
