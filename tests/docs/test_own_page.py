"""docs/own.md: its project with a work of two players, from empty files to a figure."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from tests.docs.pages import TOP, blocks, commands
from tests.environment import python_path
from tests.forked import Forked, beside
from tests.installed_project import install

BLOCKS = [
    block
    for block in blocks(TOP / "docs" / "own.md")
    if block.mark.reason == f"tests/docs/{Path(__file__).name}"
]


@pytest.mark.on_demand
def test_the_project_plays_its_game_judges_and_draws_it(tmp_path: Path) -> None:
    for block in BLOCKS:
        if block.file:
            file = tmp_path / "source" / block.file
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(block.content)
    site = install(tmp_path / "site", tmp_path / "source")
    typed = [one.command for block in BLOCKS if block.kind == "bash" for one in commands(block)]
    there = {"PYTHONPATH": python_path(TOP, site), "MPLBACKEND": "agg"}
    ends = [
        Forked(shlex.split(command)[1:], tmp_path, there, function=beside(site)).done()
        for command in typed
    ]
    assert [end.returncode for end in ends] == [0] * len(typed), ends
    claims = ends[1]
    (run,) = (tmp_path / "outputs" / "mine").iterdir()
    assert {"game.parquet", "members.parquet", "statistics.pt"} <= {f.name for f in run.iterdir()}
    assert "1 holds, 0 fails" in claims.stdout
    assert (tmp_path / "outputs" / "figures" / "channel" / "fig_mine.svg").exists()
