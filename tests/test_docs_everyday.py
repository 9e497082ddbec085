"""The documentation of everyday use, word for word: what stands in it runs."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

TOP = Path(__file__).parents[1]


def blocks(name: str, kind: str) -> list[str]:
    """The fenced blocks of one kind in a file of docs/."""
    text = (TOP / "docs" / name).read_text(encoding="utf-8")
    return re.findall(rf"^```{kind}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def test_the_examples_in_python_run(tmp_path: Path) -> None:
    found = blocks("python.md", "python")
    assert len(found) == 5
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", "".join(found)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert "optim.lrr: no such key; did you mean lr?" in done.stdout
    names = {path.parent.relative_to(tmp_path).as_posix() for path in tmp_path.glob("*/*/*/")}
    assert names == {"outputs/disk", "outputs/adhoc", "elsewhere/linear_modes"}
    # `one` is the first run again.
    assert len(list(tmp_path.glob("outputs/disk/*"))) == 4
