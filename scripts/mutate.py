"""Changes one token of the code at random and asks the tests of that room whether they notice.

    python scripts/mutate.py results                  150 changes, those of seed 0
    python scripts/mutate.py theory --changes 40 --seed 3
    python scripts/mutate.py results --only 17        one change again, with what the tests said

A room is a few files of the package and the tests that are about them alone. Each change is made in
a copy of the tree, never in the tree itself: an operator, a comparison, a number, a word of the
language, a call that is left out. A process that has everything but `ntkexp` imported is forked for
each change and stops at the first test that fails; one that takes five times as long as the tests
unchanged counts as caught. What is known is kept, so a run that was stopped goes on where it was.
Survivors are listed with their lines.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import itertools
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

TREE = Path(__file__).resolve().parents[1]

# What is changed, and what has to notice.
ROOMS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "results": (
        (
            "ntkexp/results/*.py",
            "ntkexp/results/*/*.py",
            "ntkexp/execution/execute.py",
            "ntkexp/execution/life.py",
            "ntkexp/execution/outcome.py",
        ),
        ("tests/results", "tests/training/test_kill.py", "tests/training/test_full_disk.py"),
    ),
    "theory": (("ntkexp/theory/*.py", "ntkexp/theory/measures/*.py"), ("tests/theory",)),
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
# No faster than this is a room told to hang.
SHORTEST_LIMIT_SECONDS = 30.0


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


class Copy:
    """The tree without its environment and outputs, in a folder of its own."""

    def __init__(self, folder: Path, room: str) -> None:
        self.folder, self.tests = folder, ROOMS[room][1]
        listed = subprocess.run(
            ["git", "-C", TREE, "ls-files", "-co", "--exclude-standard"],
            check=True,
            capture_output=True,
            text=True,
        )
        for name in listed.stdout.splitlines():
            if (TREE / name).is_file():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(TREE / name, folder / name)

    def notices(self, change: Change | None, limit: float) -> tuple[str, str]:
        """`caught`, `survived` or `hung`, and what the tests said of it."""
        path = self.folder / change.file if change else None
        whole = path.read_text(encoding="utf-8") if path else ""
        try:
            if path and change:
                path.write_text(change.applied(whole), encoding="utf-8")
            return self._tested(limit, self._nearest_first(change))
        finally:
            if path:
                path.write_text(whole, encoding="utf-8")

    def _nearest_first(self, change: Change | None) -> list[str]:
        """The tests of the room, before them those that are named after the changed file."""
        stem = Path(change.file).stem if change else ""
        found = [path for test in self.tests for path in (self.folder / test).rglob("test_*.py")]
        nearest = [str(path.relative_to(self.folder)) for path in found if stem in path.stem]
        return [*sorted(nearest), *self.tests] if stem else [*self.tests]

    def _tested(self, limit: float, tests: Sequence[str]) -> tuple[str, str]:
        with tempfile.TemporaryFile("w+") as said:
            pid = os.fork()
            if pid == 0:
                os.setsid()
                os.dup2(said.fileno(), 1)
                os.dup2(said.fileno(), 2)
                _test(self.folder, tests)
            deadline = time.monotonic() + limit
            while not (ended := os.waitpid(pid, os.WNOHANG))[0]:
                if time.monotonic() > deadline:
                    # The tests are a session of their own, with all they have started.
                    os.killpg(pid, signal.SIGKILL)
                    os.waitpid(pid, 0)
                    return "hung", ""
                time.sleep(0.02)
            said.seek(0)
            text = said.read()
        code = os.waitstatus_to_exitcode(ended[1])
        if code not in (0, 1, 2) and code > 0:
            raise SystemExit(f"pytest ended with {code}:\n{text[-2000:]}")
        return ("survived" if code == 0 else "caught"), text


def _test(folder: Path, tests: Sequence[str]) -> None:
    """In a fork: pytest on the copy, in this process; commands of the tests see the copy, too."""
    code = 3
    try:
        os.chdir(folder)
        os.environ["PYTHONPATH"] = str(folder)
        os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
        sys.path.insert(0, str(folder))
        sys.dont_write_bytecode = True
        import pytest

        words = ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--tb=line"]
        # Plugins that are loaded already are none of those whose assertions matter here.
        words += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]
        code = int(pytest.main([*words, *(test for test in tests if Path(test).exists())]))
        import ntkexp

        if not Path(ntkexp.__file__).is_relative_to(folder):
            code = 5
            print(f"the tests imported {ntkexp.__file__}, not the copy")
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        os._exit(code)


def preload() -> None:
    """What the tests import that is not ours, once."""
    import hydra  # noqa: F401
    import hypothesis  # noqa: F401
    import pandas  # noqa: F401
    import pyarrow.parquet  # noqa: F401
    import pytest  # noqa: F401
    import scipy.sparse.linalg  # noqa: F401
    import torch

    torch.set_num_threads(1)
    for name in [name for name in sys.modules if name.partition(".")[0] == "ntkexp"]:
        raise SystemExit(f"{name} was imported before there was a copy to import it from")


def run(options: argparse.Namespace) -> int:
    changes = drawn(options.room, options.changes, options.seed)
    known = Known(options.state)
    with tempfile.TemporaryDirectory(prefix="mutate-") as folder:
        copy = Copy(Path(folder).resolve(), options.room)
        began = time.monotonic()
        outcome, said = copy.notices(None, 3600)
        if outcome != "survived":
            raise SystemExit(f"the tests fail on the tree as it is:\n{said[-3000:]}")
        limit = max(SHORTEST_LIMIT_SECONDS, 5 * (time.monotonic() - began))
        outcomes = []
        for number, change in enumerate(changes):
            if options.only is not None and number != options.only:
                continue
            text = (TREE / change.file).read_text(encoding="utf-8")
            key = known.key(change, copy)
            if options.only is not None or key not in known.outcomes:
                outcome, said = copy.notices(change, limit)
                known.keep(key, outcome)
            outcomes.append(known.outcomes[key])
            if outcomes[-1] == "survived" or options.only is not None:
                print(f"{number} {outcomes[-1]}: {change.described(text)}", flush=True)
            if options.only is not None:
                print(said)
    caught = sum(outcome != "survived" for outcome in outcomes)
    seconds = time.monotonic() - began
    print(f"{options.room}: {caught} of {len(outcomes)} changes caught, {seconds:.0f} seconds")
    return 0 if caught >= 0.95 * len(outcomes) else 1


class Known:
    """Outcomes by what was changed and what the tests and the room were at the time."""

    def __init__(self, path: Path) -> None:
        self.path = path
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        self.outcomes: dict[str, str] = dict(line.rsplit(" ", 1) for line in lines)

    def key(self, change: Change, copy: Copy) -> str:
        parts = [json.dumps(asdict(change)), *_contents(copy.folder, copy.tests)]
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()

    def keep(self, key: str, outcome: str) -> None:
        self.outcomes[key] = outcome
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(f"{key} {outcome}\n")


def _contents(folder: Path, tests: tuple[str, ...]) -> Iterator[str]:
    for top in ("ntkexp", *tests, "tests/conftest.py", "tests/tiny_runs.py"):
        path = folder / top
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            if file.exists():
                yield file.read_text(encoding="utf-8")


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("room", choices=list(ROOMS))
    parser.add_argument("--changes", type=int, default=150)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", type=int, metavar="NUMBER", help="this change alone")
    parser.add_argument(
        "--state",
        type=Path,
        default=Path(tempfile.gettempdir()) / "ntkexp-mutations.txt",
        help="where outcomes are kept",
    )
    options = parser.parse_args(words)
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    preload()
    return run(options)


if __name__ == "__main__":
    raise SystemExit(main())
