"""What a Python file says of itself, read without importing it."""

from __future__ import annotations

import ast
from pathlib import Path


def strings(file: Path) -> dict[str, str]:
    """The strings that a file gives to names at its top level; its docstring as `__doc__`."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    found = {"__doc__": ast.get_docstring(tree) or ""}
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
            names = [target.id for target in node.targets if isinstance(target, ast.Name)]
            if isinstance(node.value.value, str):
                found |= dict.fromkeys(names, node.value.value)
    return found
