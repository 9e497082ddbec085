"""Which tests run which lines of a room, and so which of them can notice a change there.

A test that never comes to a line gives the same answer whatever stands there. So the tests run
once on the tree as it is, with every line of the room's files that they come to written down, and
a change is then shown to those alone that came to its statement, the quickest first. Three kinds
of lines are run outside of the tests that depend on them:

- what runs when a module is imported: any test may notice, those that come to the file first;
- what a fixture of several tests runs, or a test's module when it is imported: any test may notice;
- what another process runs: a test that starts one is asked about every change, at the end.
"""

from __future__ import annotations

import ast
import itertools
import math
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from ntkexp.scripts.mutations.changes import Change

# Where a line was come to when no single test was running.
SHARED = "shared"
STARTS_A_PROCESS = ("subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn", "os.system")
Lines = dict[str, list[int]]


@dataclass
class Reach:
    """What one run of a room's tests says: seconds and lines by test, and who starts processes."""

    seconds: dict[str, float] = field(default_factory=dict)
    lines: dict[str, Lines] = field(default_factory=dict)
    processes: list[str] = field(default_factory=list)

    def tests_for(self, change: Change, text: str, seconds: float = math.inf) -> list[str]:
        """The tests that can notice, in the order in which they are asked, for so long at most."""
        statement, inside = statement_at(text, change.line)
        came = self._came(change.file, statement)
        if not inside or SHARED in came:
            of_file = self._came(change.file, range(1, len(text.splitlines()) + 1))
            groups = [came, of_file, set(self.seconds)]
        else:
            groups = [came, set(self.processes)]
        asked: list[str] = []
        for group in groups:
            asked += self._quickest_first(group.difference(asked, [SHARED]))
        ends = itertools.accumulate(self.seconds[test] for test in asked)
        return [test for test, end in zip(asked, ends, strict=True) if end <= seconds]

    def _came(self, file: str, lines: range) -> set[str]:
        return {test for test, at in self.lines.items() if set(lines) & set(at.get(file, ()))}

    def _quickest_first(self, tests: set[str]) -> list[str]:
        return sorted(tests, key=lambda test: (test in self.processes, self.seconds[test], test))


def statement_at(text: str, line: int) -> tuple[range, bool]:
    """The lines that are run together with `line`, and whether they are run inside a function.

    Of a function's first lines, where its defaults stand, these are all lines of the function.
    """
    tree = ast.parse(text)
    found: ast.stmt | None = None
    inside = False
    for node in _statements_around(tree, line):
        inside = inside or isinstance(found, ast.FunctionDef)
        found = node
    if found is None:
        return range(line, line + 1), False
    whole = range(found.lineno, (found.end_lineno or found.lineno) + 1)
    body = getattr(found, "body", None)
    if not body:
        return whole, inside
    if isinstance(found, ast.FunctionDef):
        return range(body[0].lineno, whole.stop), True
    first = range(whole.start, max(body[0].lineno, whole.start + 1))
    return (first if line in first else whole), inside


def _statements_around(tree: ast.AST, line: int) -> Iterator[ast.stmt]:
    """Outermost first."""
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or 0):
            yield node


class Recorder:
    """A pytest plugin that writes `Reach` while the tests run."""

    def __init__(self, folder: Path, files: list[str]) -> None:
        self.reach = Reach()
        self._files = {str(folder / file): file for file in files}
        self._test = SHARED
        self._now: set[tuple[str, int]] = set()
        sys.addaudithook(self._event)

    @pytest.hookimpl(wrapper=True)
    def pytest_collection(self) -> Iterator[Any]:
        with self._watched(SHARED):
            return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[Any]:
        began = _processor_seconds()
        with self._watched(item.nodeid):
            result = yield
        self.reach.seconds[item.nodeid] = _processor_seconds() - began
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any]) -> Iterator[Any]:
        with _Seen(self, self._test if fixturedef.scope == "function" else SHARED):
            return (yield)

    @contextmanager
    def _watched(self, test: str) -> Iterator[None]:
        with _Seen(self, test):
            threading.settrace(self._called)
            sys.settrace(self._called)
            try:
                yield
            finally:
                sys.settrace(None)
                threading.settrace(None)  # type: ignore[arg-type]

    def _event(self, event: str, _: object) -> None:
        if event in STARTS_A_PROCESS and self._test not in self.reach.processes:
            self.reach.processes.append(self._test)

    def _called(self, frame: FrameType, event: str, value: object) -> Any:
        if frame.f_code.co_filename not in self._files:
            return None
        return self._line(frame, event, value)

    def _line(self, frame: FrameType, _: str, __: object) -> Any:
        self._now.add((self._files[frame.f_code.co_filename], frame.f_lineno))
        return self._line


def _processor_seconds() -> float:
    """Of this process and of those that it started and that have ended."""
    return sum(os.times()[:4])


class _Seen:
    """Lines that are come to in here belong to `test`."""

    def __init__(self, recorder: Recorder, test: str) -> None:
        self.recorder, self.test = recorder, test

    def __enter__(self) -> None:
        self.before = self.recorder._test, self.recorder._now
        self.recorder._test, self.recorder._now = self.test, set()

    def __exit__(self, *_: object) -> None:
        of_test = self.recorder.reach.lines.setdefault(self.test, {})
        for file, line in sorted(self.recorder._now):
            if line not in of_test.setdefault(file, []):
                of_test[file].append(line)
        self.recorder._test, self.recorder._now = self.before


class Asked:
    """A pytest plugin that runs the named tests alone, in their order, and knows who noticed."""

    def __init__(self, tests: list[str]) -> None:
        self.order = {test: place for place, test in enumerate(tests)}
        self.noticed = ""

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        chosen = [item for item in items if item.nodeid in self.order]
        items[:] = sorted(chosen, key=lambda item: self.order[item.nodeid])

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed and not self.noticed:
            self.noticed = report.nodeid
