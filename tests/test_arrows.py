"""Imports between the parts of ntkexp point one way (docs/layout.md): nobody imports back."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import ntkexp

HOME = Path(ntkexp.__file__).parent

# (who, whom): imports that point back, each for a reason.
POINTING_BACK = {
    # The ledger finds the papers, whose claims are written in the words of `claims`.
    ("claims", "papers"),
}


def imported(node: ast.AST) -> Iterator[str]:
    """Modules of ntkexp imported below a node, but those that only types ask for."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.dump(child.test):
            continue
        if isinstance(child, ast.ImportFrom) and child.module == "ntkexp":
            yield from (name.name for name in child.names)
        elif isinstance(child, ast.ImportFrom) and (child.module or "").startswith("ntkexp."):
            yield str(child.module).split(".")[1]
        yield from imported(child)


def arrows() -> dict[str, set[str]]:
    """Part -> the parts that it imports; a part is a package or module at the top."""
    found: dict[str, set[str]] = {}
    for file in HOME.rglob("*.py"):
        part = file.relative_to(HOME).parts[0].removesuffix(".py")
        if part != "__init__":
            its = found.setdefault(part, set())
            its |= set(imported(ast.parse(file.read_text(encoding="utf-8")))) - {part}
    return found


def test_no_part_imports_back() -> None:
    found = arrows()
    for who, whom in POINTING_BACK:
        assert whom in found[who], f"{who} imports {whom} no longer: it is no exception"
        found[who].discard(whom)
    try:
        order = [*TopologicalSorter(found).static_order()]
    except CycleError as error:
        raise AssertionError(f"a ring of imports: {' <- '.join(error.args[1])}") from None
    assert len(order) > 20


def test_the_engine_and_the_theory_know_nothing_of_runs() -> None:
    found = arrows()
    # `machine` says how much memory there is.
    assert found["tangent"] <= {"errors", "machine", "progress"}
    assert found["curvature"] <= {"errors", "machine", "tangent"}
    assert found["theory"] <= {"errors"}


def loaded_with(*modules: str) -> set[str]:
    """The modules that are loaded when these are, by imports outside of functions."""
    loaded, ahead = set[str](), [*modules]
    while ahead:
        module = ahead.pop()
        place = HOME.joinpath(*module.split(".")[1:])
        file = place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
        if module in loaded or not file.is_file():
            continue
        loaded.add(module)
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("ntkexp"):
                source = str(node.module)
                ahead += [source, *(f"{source}.{name.name}" for name in node.names)]
    return loaded


def test_a_run_of_one_network_loads_no_other_route_no_stack_and_no_logger() -> None:
    loaded = loaded_with(
        "ntkexp.execution.run", "ntkexp.training.experiment", "ntkexp.training.loop",
        "ntkexp.results.store", "ntkexp.transforms.plain",
    )  # fmt: skip
    assert "ntkexp.training.learners.network" in loaded
    others = ("function_space", "factors", "members")
    parts = (*(f"ntkexp.training.{other}" for other in others), "ntkexp.loggers")
    assert not [module for module in loaded if module.startswith(parts)]
