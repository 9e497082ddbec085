"""How large the house is, and how far one walks in it.

    python -m scripts.tools.house            half a minute

Lines and files of ntkexp/ and tests/; the files and functions that a short run on the disk and one
kernel pass through, imports left out; the files that import one another in a circle, imports inside
functions counted; and the lines that stand before a file's first statement.
"""

from __future__ import annotations

import ast
import statistics
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "ntkexp"
DISK = ["train", "+exp=disk", "probe=eigenfunctions", "optim.steps=20", "data.grid=10"]


def main() -> None:
    files = sorted(PACKAGE.rglob("*.py"))
    lengths = [lines(file) for file in files]
    print(f"ntkexp/: {sum(lengths):,} lines, {len(files)} files, "
          f"median {statistics.median(lengths):g}")  # fmt: skip
    print(f"tests/: {sum(map(lines, (ROOT / 'tests').rglob('*.py'))):,} lines")
    # The second run imports nothing that the first has not.
    for steps in ("optim.steps=10", "optim.steps=20"):
        passed = walked(lambda steps=steps: disk_run(steps))
    print(f"a disk run passes: {told(passed)}")
    print(f"the kernel of a Tanh MLP passes: {told(walked(kernel_of_a_new_process()))}")
    circles = [circle for circle in strongly_connected(imports(files)) if len(circle) > 1]
    print(f"files in import circles: {sum(map(len, circles))} in {len(circles)} circles")
    before = sum(before_first_statement(file) for file in files)
    print(f"lines before a file's first statement: {before / sum(lengths):.0%}")


def lines(file: Path) -> int:
    return file.read_text().count("\n")


def disk_run(steps: str) -> None:
    from ntkexp.cli import main as ntkexp

    with tempfile.TemporaryDirectory() as folder:
        argv, sys.argv = sys.argv, ["ntkexp", *DISK, steps, f"paths.outputs={folder}"]
        try:
            ntkexp()
        except SystemExit as end:
            assert not end.code, end
        finally:
            sys.argv = argv


def kernel_of_a_new_process() -> Callable[[], object]:
    import torch

    from ntkexp.tangent import tangent_kernel

    net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2))
    return lambda: tangent_kernel(net, torch.randn(5, 3))


def walked(act: Callable[[], object]) -> set[CodeType]:
    """The functions of ntkexp/ that are entered; a module's body, which an import runs, is none."""
    entered: set[CodeType] = set()

    def note(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        inside = event == "call" and code.co_filename.startswith(str(PACKAGE))
        if inside and code.co_name != "<module>":
            entered.add(code)

    sys.setprofile(note)
    try:
        act()
    finally:
        sys.setprofile(None)
    return entered


def told(passed: set[CodeType]) -> str:
    files = {Path(code.co_filename) for code in passed}
    return f"{len(files)} files of {sum(map(lines, files)):,} lines, {len(passed)} functions"


def before_first_statement(file: Path) -> int:
    """The lines of docstring, comments and imports at a file's head; all, where no other stands."""
    for statement in ast.parse(file.read_text()).body:
        docstring = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
        if not (docstring or isinstance(statement, ast.Import | ast.ImportFrom)):
            decorators = getattr(statement, "decorator_list", [])
            return min(node.lineno for node in (statement, *decorators)) - 1
    return lines(file)


def module_name(file: Path) -> str:
    parts = file.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports(files: list[Path]) -> dict[str, set[str]]:
    """By module: the modules of ntkexp that it names in an import, but not for types alone."""
    modules = {module_name(file) for file in files}
    graph: dict[str, set[str]] = {}
    for file in files:
        name = module_name(file)
        graph[name] = set()
        for node in runtime_nodes(ast.parse(file.read_text())):
            if isinstance(node, ast.Import):
                graph[name] |= {alias.name for alias in node.names} & modules
            elif isinstance(node, ast.ImportFrom) and node.module:
                inside = {f"{node.module}.{alias.name}" for alias in node.names} & modules
                outside = {node.module} & modules if len(inside) < len(node.names) else set()
                graph[name] |= inside | outside
        graph[name].discard(name)
    return graph


def runtime_nodes(tree: ast.AST) -> list[ast.AST]:
    nodes = [tree]
    for node in nodes:
        for_types = isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
        nodes.extend([] if for_types else ast.iter_child_nodes(node))
    return nodes


def strongly_connected(graph: dict[str, set[str]]) -> list[set[str]]:
    """Two modules share a circle when each is reached from the other."""
    reach = {name: reached(graph, name) for name in graph}
    circles: list[set[str]] = []
    left = set(graph)
    while left:
        name = min(left)
        circle = {name} | {other for other in reach[name] if name in reach[other]}
        circles.append(circle)
        left -= circle
    return circles


def reached(graph: dict[str, set[str]], start: str) -> set[str]:
    names: set[str] = set()
    todo = list(graph[start])
    while todo:
        name = todo.pop()
        if name not in names:
            names.add(name)
            todo.extend(graph[name])
    return names


if __name__ == "__main__":
    main()
