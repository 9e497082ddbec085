"""The page of one's own network: its files and commands, in an empty folder."""

from __future__ import annotations

import runpy
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.conftest import Ntkexp
from tests.docs.pages import TOP, blocks
from tests.forked import Forked


@pytest.mark.on_demand
def test_the_page_leads_to_figures(inside: Ntkexp, tmp_path: Path) -> None:
    page = blocks(TOP / "docs" / "own_network.md")
    for block in page:
        if block.file:
            (tmp_path / block.file).write_text(block.content)
    (commands,) = [block for block in page if block.kind == "bash"]
    trains, *ours = commands.text.splitlines()
    assert trains == "python train.py"
    trained = Forked(["train.py"], tmp_path, function=as_python).done()
    assert trained.returncode == 0, trained.stderr
    for line in ours:
        done = inside(*[word.strip("'") for word in line.split()[1:]])
        assert done.returncode == 0, done.stderr
    drawn = tmp_path / "outputs" / "figures" / "own" / "mine"
    assert (drawn / "fig02_spectrum.pdf").exists()
    assert (drawn / "fig03_alignment.csv").exists()


def as_python(words: Sequence[str]) -> int:
    """`python FILE`."""
    sys.path.insert(0, "")
    runpy.run_path(words[0], run_name="__main__")
    return 0
