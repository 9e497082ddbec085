"""One-token changes: what can be changed, and that each is another valid program."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import pytest

from ntkexp.scripts import mutate
from ntkexp.scripts.mutations.changes import ROOMS, Change, changes_of, drawn
from ntkexp.scripts.mutations.reach import Reach, Recorder, statement_at

CODE = '''\
"""Says what it is."""
def bound(radius: float, n: int, names: list[str]) -> float:
    """Theorem 13."""
    if radius < 0 and not n:
        raise ValueError("radius is negative")
    names.append("é"); names.sort(reverse=True)
    return (radius) / (n + 1.5)
'''


def test_each_change_is_one_token_of_what_decides_the_result() -> None:
    lines = CODE.splitlines()
    after = {change.applied(CODE).splitlines()[change.line - 1].strip() for change in changes(CODE)}
    assert after == {
        "if radius <= 0 and not n:",
        "if radius < 0 or not n:",
        "if radius < 0 and n:",
        "if radius < 1 and not n:",
        "if radius < -1 and not n:",
        "names.append('éx'); names.sort(reverse=True)",
        "pass; names.sort(reverse=True)",
        'names.append("é"); names.sort(reverse=False)',
        'names.append("é"); pass',
        "return (radius) * (n + 1.5)",
        "return (radius) / (n - 1.5)",
        "return (radius) / (n + 3.0)",
        "return (radius) / (n + 2.5)",
        "return None",
    }
    for change in changes(CODE):
        changed = change.applied(CODE)
        ast.parse(changed)
        others = [n for n, line in enumerate(changed.splitlines(), 1) if line != lines[n - 1]]
        assert others == [change.line]


def changes(text: str):
    return changes_of("bound.py", text)


def test_a_longer_draw_begins_with_the_shorter_one() -> None:
    for room in ROOMS:
        long = drawn(room, 150, seed=0)
        assert len(set(long)) == 150
        assert drawn(room, 10, seed=0) == long[:10]
        assert drawn(room, 10, seed=1) != long[:10]


RATES = '''\
"""Rates."""
FLOOR = max(
    0.1,
    0.2,
)
def rate(n: int, floor: float = FLOOR) -> float:
    if n < 3:
        return max(
            floor, 1 / n
        )
    return floor
'''


def test_the_lines_that_run_together_with_a_line() -> None:
    assert statement_at(RATES, 4) == (range(2, 6), False)
    assert statement_at(RATES, 7) == (range(7, 8), True)
    assert statement_at(RATES, 9) == (range(8, 11), True)
    assert statement_at(RATES, 11) == (range(11, 12), True)
    # A default is used by whoever calls the function.
    assert statement_at(RATES, 6) == (range(7, 12), True)


def test_a_change_is_shown_to_the_tests_that_come_to_it_the_quickest_first() -> None:
    reach = Reach(
        seconds={"small": 3.0, "large": 2.0, "both": 1.0, "command": 0.5, "other": 0.1},
        lines={
            "small": {"rates.py": [7, 8, 9]},
            "large": {"rates.py": [7, 11]},
            "both": {"rates.py": [7, 8, 9, 11]},
            "command": {},
            "other": {"another.py": [7, 8, 11]},
        },
        processes=["command"],
    )

    def asked(line: int) -> list[str]:
        return reach.tests_for(Change("rates.py", line, 0, 1, "x"), RATES)

    assert asked(7) == ["both", "large", "small", "command"]
    assert asked(9) == ["both", "small", "command"]
    assert asked(11) == ["both", "large", "command"]
    assert reach.tests_for(Change("rates.py", 7, 0, 1, "x"), RATES, seconds=4) == ["both", "large"]
    # What a module does when it is imported may show in any test.
    assert asked(4) == ["both", "large", "small", "other", "command"]
    # So may what a fixture does that several tests share.
    reach.lines["shared"] = {"rates.py": [11]}
    assert asked(11) == ["both", "large", "small", "other", "command"]


def test_lines_that_tests_come_to_are_written_down(tmp_path: Path) -> None:
    (tmp_path / "rates.py").write_text(RATES)
    (tmp_path / "test_rates.py").write_text(
        "import subprocess, sys, pytest\n"
        "from rates import rate\n"
        "AT_IMPORT = rate(2)\n"
        "@pytest.fixture(scope='module')\n"
        "def rates(): return [rate(4)]\n"
        "def test_small(): assert rate(2) == 0.5\n"
        "def test_shared(rates): assert rates == [0.2]\n"
        "def test_command(): subprocess.run([sys.executable, '-c', ''], check=True)\n"
    )
    (tmp_path / "record.py").write_text(
        "import json, pathlib, pytest\n"
        "from dataclasses import asdict\n"
        f"from {Recorder.__module__} import Recorder\n"
        "recorder = Recorder(pathlib.Path.cwd(), ['rates.py'])\n"
        "pytest.main(['-q', '-p', 'no:cacheprovider'], plugins=[recorder])\n"
        "pathlib.Path('reach.json').write_text(json.dumps(asdict(recorder.reach)))\n"
    )
    subprocess.run([sys.executable, "record.py"], cwd=tmp_path, check=True)
    reach = Reach(**json.loads((tmp_path / "reach.json").read_text()))
    assert reach.lines["test_rates.py::test_small"] == {"rates.py": [6, 7, 8, 9]}
    assert set(reach.lines["shared"]["rates.py"]) >= {7, 8, 9, 11}
    assert reach.processes == ["test_rates.py::test_command"]
    assert asdict(reach)["seconds"].keys() == reach.lines.keys() - {"shared"}


@pytest.mark.skipif(not (mutate.TREE / ".git").exists(), reason="git lists what is copied")
def test_a_room_is_asked_about_changes_in_a_copy(tmp_path: Path) -> None:
    """The tests of one small file notice what is changed in it, and the tree stays as it is."""
    file = Path(mutate.TREE / "ntkexp" / "theory" / "spectral_bias.py")
    whole = file.read_text()
    (tmp_path / "run.py").write_text(
        "from ntkexp.scripts import mutate\n"
        "from ntkexp.scripts.mutations.changes import ROOMS\n"
        f"ROOMS['small'] = (('ntkexp/theory/{file.name}',), ('tests/theory/test_{file.name}',))\n"
        "raise SystemExit(mutate.main(['small', '--changes', '3', '--state', 'state']))\n"
    )
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "run.py"], cwd=tmp_path, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stdout + done.stderr
        assert "small: 3 of 3 changes caught" in done.stdout
    assert file.read_text() == whole


LEANS = """
done = []
def test_first(): done.append(1)
def test_second(): assert done
"""
ASKED_ALONE = """
from pathlib import Path
from ntkexp.scripts.mutations.asking import Copy
from ntkexp.scripts.mutations.changes import ROOMS
ROOMS["small"] = (("ntkexp/theory/spectral_bias.py",), ())
copy = Copy(Path("copy").resolve(), "small")
Path("leans.py").rename("copy/tests/leans.py")
copy.expect_alone("tests/leans.py::test_first", 1)
copy.expect_alone("tests/leans.py::test_second", 1)
"""


@pytest.mark.skipif(not (mutate.TREE / ".git").exists(), reason="git lists what is copied")
def test_a_test_that_leans_on_another_is_refused(tmp_path: Path) -> None:
    """It passes with the whole room, and by itself it would notice every change."""
    (tmp_path / "copy").mkdir()
    (tmp_path / "leans.py").write_text(LEANS)
    (tmp_path / "run.py").write_text(ASKED_ALONE)
    done = subprocess.run([sys.executable, "run.py"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.startswith("tests/leans.py::test_second fails by itself")
