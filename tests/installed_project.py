"""The example of a project of one's own, as installed: its package, and what names it."""

from __future__ import annotations

import shutil
import tomllib
from pathlib import Path

EXAMPLE = Path(__file__).parents[1] / "examples" / "own_project"


def install(site: Path, source: Path = EXAMPLE) -> Path:
    """Do to a folder for PYTHONPATH what pip does to site-packages."""
    told = tomllib.loads((source / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    name, version = told["name"].replace("-", "_"), told["version"]
    shutil.copytree(source / name, site / name, ignore=shutil.ignore_patterns("__pycache__"))
    record = site / f"{name}-{version}.dist-info"
    record.mkdir()
    (record / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    lines = []
    for group, entries in told["entry-points"].items():
        lines += [f"[{group}]", *(f"{key} = {value}" for key, value in entries.items())]
    (record / "entry_points.txt").write_text("\n".join(lines) + "\n")
    return site
