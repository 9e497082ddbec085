"""Changes of one token: what can be changed in a file, and which of it is drawn."""

from __future__ import annotations

import ast
import itertools
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

TREE = Path(__file__).resolve().parents[2]

# What is changed, and what has to notice.
ROOMS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "results": (
        (
            "ntkexp/results/*.py",
            "ntkexp/results/*/*.py",
            "ntkexp/execution/run.py",
            "ntkexp/execution/outcome.py",
        ),
        (
            "tests/results",
            "tests/execution",
            "tests/training/test_kill.py",
            "tests/training/test_full_disk.py",
        ),
    ),
    "theory": (("ntkexp/theory/*.py",), ("tests/theory",)),
    "rules": (("ntkexp/tangent/rules/*.py",), ("tests/tangent",)),
    "claims": (
        ("ntkexp/claims/*.py", "ntkexp/papers/alignment/claims/*.py"),
        ("tests/claims", "tests/papers"),
    ),
}
COMPARISONS = {"Lt": "<=", "LtE": "<", "Gt": ">=", "GtE": ">", "Eq": "!=", "NotEq": "=="}
COMPARISONS |= {"Is": "is not", "IsNot": "is", "In": "not in", "NotIn": "in"}
ARITHMETIC = {"Add": "-", "Sub": "+", "Mult": "/", "Div": "*", "FloorDiv": "*", "Pow": "*"}
ARITHMETIC |= {"Mod": "*", "BitOr": "&", "BitAnd": "|", "LShift": ">>", "MatMult": "+"}


@dataclass(frozen=True)
class Change:
    """One stretch of a line, and what takes its place."""

    file: str
    line: int
    start: int
    end: int
    new: str

    def applied(self, text: str) -> str:
        lines = text.splitlines(keepends=True)
        old = lines[self.line - 1]
        # Columns of the syntax tree count bytes.
        line = old.encode()
        lines[self.line - 1] = (line[: self.start] + self.new.encode() + line[self.end :]).decode()
        return "".join(lines)

    def described(self, text: str) -> str:
        before = text.splitlines()[self.line - 1].strip()
        after = self.applied(text).splitlines()[self.line - 1].strip()
        return f"{self.file}:{self.line}\n    - {before}\n    + {after}"


def changes_of(file: str, text: str) -> list[Change]:
    """Every change there could be in a file, in order; each leaves it a valid program."""
    return [change for change in _candidates(file, text) if _is_another_program(change, text)]


def _candidates(file: str, text: str) -> list[Change]:
    found = {
        Change(file, line, start, end, new)
        for start, end, line, new in _stretches(ast.parse(text), text)
    }
    return sorted(found, key=lambda c: (c.line, c.start, c.new))


def _is_another_program(change: Change, text: str) -> bool:
    try:
        return ast.dump(ast.parse(change.applied(text))) != ast.dump(ast.parse(text))
    except SyntaxError:
        return False


def _stretches(tree: ast.AST, text: str) -> Iterator[tuple[int, int, int, str]]:
    """(first column, column after the last, line, replacement) of what can be changed."""
    lines = text.splitlines()
    for node in _code(tree):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            for left, op, right in zip(sides, node.ops, sides[1:], strict=False):
                yield from _between(left, right, lines, COMPARISONS.get(type(op).__name__))
        elif isinstance(node, ast.BinOp):
            yield from _between(
                node.left, node.right, lines, ARITHMETIC.get(type(node.op).__name__)
            )
        elif isinstance(node, ast.BoolOp):
            new = "or" if isinstance(node.op, ast.And) else "and"
            for left, right in zip(node.values, node.values[1:], strict=False):
                yield from _between(left, right, lines, new)
        elif isinstance(node, ast.UnaryOp) and node.lineno == node.operand.lineno:
            if isinstance(node.op, ast.Not | ast.USub):
                yield node.col_offset, node.operand.col_offset, node.lineno, ""
        elif isinstance(node, ast.Constant) and node.lineno == node.end_lineno:
            for new in _other_constants(node.value):
                yield node.col_offset, node.end_col_offset or 0, node.lineno, new
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            if node.lineno == node.end_lineno:
                yield node.col_offset, node.end_col_offset or 0, node.lineno, "pass"
        elif isinstance(node, ast.Return) and node.value and node.lineno == node.end_lineno:
            yield node.col_offset, node.end_col_offset or 0, node.lineno, "return None"
        elif isinstance(node, ast.Continue | ast.Break):
            new = "break" if isinstance(node, ast.Continue) else "continue"
            yield node.col_offset, node.end_col_offset or 0, node.lineno, new


def _code(tree: ast.AST) -> Iterator[ast.AST]:
    """Nodes that decide what happens: no types, docstrings, messages or type-checking imports."""
    for field, value in ast.iter_fields(tree):
        if field in ("annotation", "returns", "exc", "decorator_list", "type_comment"):
            continue
        for node in value if isinstance(value, list) else [value]:
            if not isinstance(node, ast.AST) or isinstance(node, ast.JoinedStr):
                continue
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
                continue
            if isinstance(node, ast.keyword) and node.arg == "encoding":
                continue
            if isinstance(node, ast.Subscript) and getattr(node.value, "id", "") == "Literal":
                continue
            if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
                continue
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("print", "Table"):
                continue
            yield node
            yield from _code(node)


def _between(
    left: ast.expr, right: ast.expr, lines: list[str], new: str | None
) -> Iterator[tuple[int, int, int, str]]:
    """The operator between two sides of one line, brackets left alone."""
    if new is None or left.end_lineno != right.lineno or left.end_col_offset is None:
        return
    gap = lines[right.lineno - 1].encode()[left.end_col_offset : right.col_offset].decode()
    inner = gap.lstrip(") ").rstrip("( ")
    if inner:
        start = left.end_col_offset + gap.index(inner)
        yield start, start + len(inner), right.lineno, new


def _other_constants(value: object) -> tuple[str, ...]:
    if isinstance(value, bool):
        return (str(not value),)
    if isinstance(value, int):
        return (str(value + 1), str(value - 1))
    if isinstance(value, float):
        return (repr(2 * value), repr(value + 1))
    # With a space in it, it is prose.
    if isinstance(value, str) and value and " " not in value:
        return (repr(f"{value}x"),)
    return ("0",) if value is None else ()


def drawn(room: str, count: int, seed: int) -> list[Change]:
    """`count` changes of a room; a longer draw begins with the shorter one."""
    files = sorted(path for pattern in ROOMS[room][0] for path in TREE.glob(pattern))
    texts = {str(path.relative_to(TREE)): path.read_text(encoding="utf-8") for path in files}
    every = [change for file, text in texts.items() for change in _candidates(file, text)]
    random.Random(seed).shuffle(every)
    # Parsing a file for every change that could be drawn would take minutes.
    valid = (change for change in every if _is_another_program(change, texts[change.file]))
    return list(itertools.islice(valid, count))
