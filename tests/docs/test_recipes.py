"""The file of every kind in docs/own.md, word for word, then the commands."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import ntkexp
from ntkexp.components import find
from ntkexp.errors import UserError
from tests.environment import python_path
from tests.tiny_runs import make_images, table, train

TOP = Path(__file__).parents[2]
PAGE = (TOP / "docs" / "own.md").read_text(encoding="utf-8")
SECTION = PAGE.partition("\n## Each kind, with a file that runs\n")[2].partition("\n## ")[0]
BLOCKS = re.findall(r"^```(python|bash)\n(.*?)^```$", SECTION, re.MULTILINE | re.DOTALL)
FILES = [text for kind, text in BLOCKS if kind == "python"]
COMMANDS = [text.strip() for kind, text in BLOCKS if kind == "bash"]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package with the files of all recipes in it, and images."""
    home = tmp_path_factory.mktemp("recipes")
    package = Path(ntkexp.__file__).parent
    shutil.copytree(package, home / "ntkexp", ignore=shutil.ignore_patterns("__pycache__"))
    if not (home / "ntkexp" / "configs").is_dir():
        shutil.copytree(TOP / "configs", home / "ntkexp" / "configs")
    for text in FILES:
        name, _, content = text.removeprefix("# ").partition("\n")
        assert not (home / name).exists(), f"{name} is there already"
        (home / name).write_text(content)
    make_images(home / "data")
    shutil.copytree(home / "data" / "mnist", home / "data" / "fashion")
    return home


def test_there_is_a_recipe_for_every_kind() -> None:
    folders = {text.partition("\n")[0].split("/")[1] for text in FILES}
    assert folders == {"data", "models", "optim", "probes", "studies"}
    assert len(COMMANDS) == 6


def test_data_of_ones_own_train_as_they_stand_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (recipe,) = (text for text in FILES if text.startswith("# ntkexp/data/digits.py\n"))
    (tmp_path / "own_digits.py").write_text(recipe)
    monkeypatch.syspath_prepend(tmp_path)
    words = ("data=own_digits.Digits", "model=mlp", "model.width=8", "data.noise=0.1")
    run = train(tmp_path, *words, "optim.steps=3", "progress=false", "probing.examples=5")
    assert set(table(run, "evals")["subset"]) == {"all"}


@pytest.mark.parametrize("base", ["Dataset", "Split"])
def test_data_on_the_wrong_base_are_told_the_right_one(
    base: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = f"on_{base.lower()}"
    (tmp_path / f"{module}.py").write_text(
        "from dataclasses import dataclass\n"
        f"from ntkexp.data import {base}\n\n"
        f"@dataclass\nclass Mine({base}):\n    turns: float = 1.0\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(
        UserError, match=rf"data={module}\.Mine: .* expected ntkexp\.data\.base\.Data"
    ):
        find("data", f"{module}.Mine")


@pytest.mark.on_demand
def test_the_recipes_run(home: Path, tmp_path: Path) -> None:
    places = {"DATA": home / "data", "CACHE": home / "cache"}
    environment = os.environ | {f"NTKEXP_{name}": str(place) for name, place in places.items()}
    environment |= {"PYTHONPATH": python_path(home)}
    for command in COMMANDS:
        words = [sys.executable, "-m", *shlex.split(command)]
        done = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    runs = list(tmp_path.glob("outputs/*/*"))
    assert len(runs) == len(COMMANDS)
    for run in runs:
        assert '"finished"' in (run / "status.json").read_text()
        assert list(run.glob("*.parquet"))
