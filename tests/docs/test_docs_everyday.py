"""The documentation of everyday use, word for word: what stands in it runs."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pandas as pd
import pytest

from tests.conftest import Ntkexp
from tests.docs.pages import TOP, blocks
from tests.docs.pages import commands as typed

pytestmark = pytest.mark.on_demand


def python(name: str) -> list[str]:
    """The blocks of Python of a page in docs/."""
    return [block.text for block in blocks(TOP / "docs" / name) if block.kind == "python"]


def commands(name: str) -> list[list[str]]:
    """The commands of ntkexp in the consoles of a page in docs/."""
    consoles = [block for block in blocks(TOP / "docs" / name) if block.kind == "console"]
    said = [shlex.split(one.command) for block in consoles for one in typed(block)]
    return [words for words in said if words[0] == "ntkexp"]


def words_of(name: str, part: str) -> list[str]:
    """The only command there that has `part` among its words, without the program's name."""
    (found,) = [words for words in commands(name) if part in words]
    return found[1:]


def test_a_run_tells_the_number_that_is_asked_for(inside: Ntkexp) -> None:
    (words, *_) = [one[1:] for one in commands("search.md") if "objective_metric" in " ".join(one)]
    done = inside(*words)
    assert done.returncode == 0, done.stderr
    shown = (TOP / "docs" / "search.md").read_text(encoding="utf-8")
    folder, told = done.stdout.splitlines()
    assert folder in shown
    assert told.startswith("evals.test.loss = ")


def test_the_search_of_the_documentation_runs(inside: Ntkexp) -> None:
    pytest.importorskip("optuna")
    done = inside(*words_of("search.md", "hydra/sweeper=search"))
    assert done.returncode == 0, done.stderr
    *batches, total, best = done.stdout.splitlines()
    assert batches == ["2 jobs: 2 finished"] * 2
    assert total == "disk: 4 trials, 4 finished"
    assert best.startswith("best evals.test.loss = ")


def test_the_examples_in_python_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = python("python.md")
    assert len(found) == 6
    monkeypatch.chdir(tmp_path)
    exec("".join(found), {})
    assert "optim.lrr: no such key; did you mean lr?" in capsys.readouterr().out
    names = {path.parent.relative_to(tmp_path).as_posix() for path in tmp_path.glob("*/*/*/")}
    assert names == {"outputs/disk", "outputs/adhoc", "elsewhere/linear_modes"}
    # `one` is the first run again.
    assert len(list(tmp_path.glob("outputs/disk/*"))) == 4


def test_a_logger_of_ones_own_is_that_of_the_documentation(
    inside: Ntkexp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (text,) = python("loggers.md")
    name, _, content = text.removeprefix("# ").partition("\n")
    (tmp_path / name).write_text(content)
    monkeypatch.syspath_prepend(tmp_path)
    for words in commands("loggers.md"):
        done = inside(*words[1:])
        assert done.returncode == 0, done.stderr
        (logs,) = tmp_path.glob("outputs/disk/*/logs")
        if "csv" in words[-1]:
            assert {path.name for path in logs.glob("*/*.csv")} == {"evals.csv", "steps.csv"}
            assert list(logs.glob("tensorboard/*tfevents*"))
    told = [json.loads(line) for line in (logs / "lines" / "lines.jsonl").read_text().splitlines()]
    steps = pd.read_parquet(logs.parent / "steps.parquet")
    losses = [[step, number] for name, step, number in told if name == "steps/train_loss"]
    assert losses == steps[["step", "train_loss"]].to_numpy().tolist()
