"""What a pickle may make: classes that hold values.

Whether a name is one is told without an import: a module that a stranger's file names may do
anything when it is imported.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Sequence
from importlib.machinery import PathFinder
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from ntkexp.components import imported
from ntkexp.errors import UserError

# Of Python's own modules these have no class that runs code, opens files or calls a function.
PLAIN = {"argparse", "collections", "datetime", "decimal", "enum", "fractions", "pathlib", "uuid"}
# How numpy makes numbers and arrays.
OF_NUMPY = {f"numpy.{core}.multiarray.{name}" for core in ("core", "_core")
            for name in ("scalar", "_reconstruct")}  # fmt: skip


def allowed(names: Sequence[str]) -> list[Any]:
    """The classes of these names, as somebody typed them."""
    for name in names:
        if not holds_values(name):
            raise UserError(
                f"--allow {name}: is no class that is here, or one that may run code; expected "
                "classes that hold values, as pathlib.PosixPath; --trust reads what is yours"
            )
    classes = [imported(f"--allow {name}", name) for name in names]
    if np.dtype in classes:  # each type of number has a class of its own
        classes += {type(np.dtype(code)) for code in np.typecodes["AllInteger"] + "?efdg"}
    return classes


def holds_values(name: str) -> bool:
    """True for MODULE.CLASS where there is such a class, of Python's own modules a plain one."""
    module, _, last = name.rpartition(".")
    top = module.partition(".")[0]
    if name in OF_NUMPY:
        return True
    if top in sys.stdlib_module_names and top not in PLAIN:
        return False
    if module in sys.modules:
        return isinstance(getattr(sys.modules[module], last, None), type)
    return last in _classes_in(module)


def _classes_in(module: str) -> set[str]:
    """The classes that the source of a module defines."""
    name, *inside = module.split(".")
    try:
        spec = find_spec(name) if name else None
        for part in inside:
            name, package = f"{name}.{part}", spec and spec.submodule_search_locations
            spec = PathFinder.find_spec(name, package or [])
        source = Path(spec.origin).read_bytes() if spec and spec.origin else b""
        body = ast.parse(source).body
    except (ImportError, OSError, SyntaxError, ValueError):
        return set()
    return {node.name for node in body if isinstance(node, ast.ClassDef)}
