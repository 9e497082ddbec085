"""`ntkexp list` and `ntkexp show` tell runs apart, and how far they came."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pandas as pd
import pytest
from omegaconf import OmegaConf

from ntkexp.commands.list import List
from ntkexp.commands.run_table import as_text, table
from ntkexp.commands.terminal import fitted
from ntkexp.errors import UserError
from ntkexp.results.lock import Lock
from ntkexp.results.numbers.difference import difference
from ntkexp.results.numbers.standing import (
    _limit,
    distinguishing_keys,
    last_numbers,
    state_of,
)
from ntkexp.results.status import flat_config
from ntkexp.results.summary import summary_of
from tests.conftest import TINY_DISK, Ntkexp
from tests.tiny_runs import train

OWN = """# @package _global_
name: mine
about: an experiment of my own
figures: ["7"]
"""


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Path:
    outputs = tmp_path_factory.mktemp("two") / "outputs"
    for width, seed in ((3, 0), (5, 1)):
        train(outputs, *TINY_DISK, f"model.width={width}", f"seed={seed}", "optim.steps=4")
    return outputs


@pytest.fixture
def sweep(two: Path, tmp_path: Path) -> list[Path]:
    """Two finished runs that differ in their widths and seeds."""
    shutil.copytree(two, tmp_path / "outputs")
    return sorted((tmp_path / "outputs" / "disk").iterdir())


def keys_of(run: Path) -> str:
    return (
        "model.width=3 seed=0"
        if "width: 3" in (run / "config.yaml").read_text()
        else ("model.width=5 seed=1")
    )


def last_evaluation(run: Path, split: str) -> pd.Series:
    evals = pd.read_parquet(run / "evals.parquet")
    return evals[(evals["step"] == evals["step"].max()) & (evals["split"] == split)].iloc[0]


def test_runs_show_the_keys_in_which_they_differ(sweep: list[Path], inside: Ntkexp) -> None:
    lines = inside("list").stdout.splitlines()
    for run in sweep:
        (line,) = [line for line in lines if run.name in line]
        assert line.endswith(keys_of(run))
    assert distinguishing_keys(sweep[:1]) == {}


def test_what_one_run_of_many_has_it_alone_tells(tmp_path: Path) -> None:
    runs = [tmp_path / str(seed) for seed in range(4)]
    for seed, run in enumerate(runs):
        run.mkdir()
        config = {"name": "any", "seed": seed, "optim": {"lr": 0.5 if seed == 2 else 0.1}}
        OmegaConf.save(config, run / "config.yaml")
    expected = ["seed=0", "seed=1", "optim.lr=0.5 seed=2", "seed=3"]
    assert [distinguishing_keys(runs)[run] for run in runs] == expected


def test_a_paper_is_listed_by_its_name(sweep: list[Path], inside: Ntkexp) -> None:
    lazy, main = inside("list", "lazy").stdout, inside("list", "alignment").stdout
    assert "+exp=lazy/yin_yang " in lazy and "+exp=disk" not in lazy
    assert all(run.name in main for run in sweep)
    assert len(json.loads(inside("list", "alignment", "--json").stdout)) == 2


def test_a_run_whose_process_is_gone_is_not_running(tmp_path: Path) -> None:
    lock = Lock(tmp_path / "lock")
    lock.take()
    assert state_of(tmp_path, {"state": "running"}) == "running"
    lock.release()
    assert state_of(tmp_path, {"state": "running"}) == "stopped"
    assert state_of(tmp_path, {"state": "finished"}) == "finished"


def test_one_experiment_shows_progress_and_the_last_numbers(
    sweep: list[Path], inside: Ntkexp
) -> None:
    told = inside("list", "disk").stdout
    assert told.startswith("ntkexp train +exp=disk  Fig 1, 10")
    assert "vgg19" not in told
    for run in sweep:
        assert f"{run.name}  finished" in told
        assert f"test loss {last_evaluation(run, 'test')['loss']:.4g}" in told
    assert told.count("step 4 of at most 4 steps") == 2
    assert "no runs here" in inside("list", "mlp_mnist").stdout


@pytest.mark.parametrize(
    ("limits", "told"),
    [
        ({"steps": None, "epochs": 600}, " of at most 600 epochs"),
        ({"steps": 4000, "epochs": None}, " of at most 4,000 steps"),
        ({"steps": 9, "epochs": 2}, " of at most 9 steps or 2 epochs"),
        ({}, ""),
    ],
)
def test_the_limits_of_a_run_are_those_that_it_has(
    limits: dict[str, int | None], told: str, tmp_path: Path
) -> None:
    OmegaConf.save({"name": "any", "optim": limits}, tmp_path / "config.yaml")
    assert _limit(flat_config(tmp_path)) == told


def test_of_many_networks_in_one_run_the_mean_the_least_and_the_most() -> None:
    rows = [
        {"step": step, "split": "test", "subset": subset, "loss": loss + step, "seed": seed}
        for step in (0, 1)
        for subset in ("all", *(f"decile{n}" for n in range(1, 11)))
        for seed, loss in enumerate((1.0, 3.0, 8.0))
    ]
    tables = {"evals": pd.DataFrame(rows)}
    assert summary_of(tables).networks == 3
    numbers = last_numbers(summary_of(tables))
    assert numbers["test loss"] == "5 (2 to 9)"
    assert len(numbers) == 11
    one = {"evals": tables["evals"].query("seed == 0").drop(columns="seed")}
    assert summary_of(one).networks == 1
    assert last_numbers(summary_of(one))["test decile3 loss"] == "2"


def test_networks_that_diverge_beside_others_are_told(inside: Ntkexp) -> None:
    words = (*TINY_DISK, "optim.steps=4", "members={optim.lr: [0.01, 1e29, 1e30]}")
    ran = inside("train", *words)
    assert ran.returncode == 0 and "(2 of 3 networks diverged: members.parquet" in ran.stdout
    assert "finished (2 of its networks diverged)" in inside("list", "disk").stdout


def test_two_runs_are_compared_key_by_key(sweep: list[Path], inside: Ntkexp) -> None:
    first, second = sweep
    rows = [
        line.split("  ") for line in inside("show", first.name, str(second)).stdout.splitlines()
    ]
    told = {row[0]: [word.strip() for word in row[1:] if word.strip()] for row in rows[1:]}
    widths = [keys_of(run).split()[0].partition("=")[2] for run in sweep]
    assert told["model.width"] == widths
    assert "model.depth" not in told
    losses = [f"{last_evaluation(run, 'train')['loss']:.4g}" for run in sweep]
    assert told["train loss"] == losses
    assert "they differ in nothing" in inside("show", first.name, first.name).stdout


def test_experiments_of_a_folder_of_configs_are_listed_with_the_command_that_runs_them(
    inside: Ntkexp, tmp_path: Path
) -> None:
    (tmp_path / "mine" / "exp").mkdir(parents=True)
    (tmp_path / "mine" / "exp" / "own.yaml").write_text(OWN)
    (tmp_path / "mine" / "exp" / "bare.yaml").write_text("about: null\nfigures: null\n")
    told = inside("list", "--config-dir", "mine").stdout
    assert "ntkexp train --config-dir mine +exp=own" in told
    assert "an experiment of my own" in told
    assert "own" in inside("list", "own", "--config-dir=mine").stdout
    mistyped = inside("train", "--config-dir", "mine", "+exp=ownn").stderr
    assert "exp=ownn: no such experiment; did you mean own?" in mistyped
    words = ("train", "--config-dir", "mine", "+exp=own", "data=disk", "optim.steps=1")
    assert "name: mine" in inside(*words, "--cfg", "job").stdout


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["dsk"], "ntkexp list dsk: no such experiment; did you mean disk?"),
        (["disk", "mlp_mnist"], "takes one experiment, got disk mlp_mnist"),
        (["--all"], "list: unrecognized arguments: --all"),
        (["--config-dir", "nowhere"], "--config-dir nowhere: no such folder"),
        (["--config-dir"], "argument --config-dir: expected one argument"),
    ],
)
def test_what_list_does_not_know_is_refused(words: list[str], told: str) -> None:
    with pytest.raises(UserError) as refused:
        List.parsed(words).execute()
    assert told in str(refused.value)


def test_a_file_that_is_no_config_is_named(inside: Ntkexp, tmp_path: Path) -> None:
    (tmp_path / "exp").mkdir()
    (tmp_path / "exp" / "bad.yaml").write_text("a: [1\n")
    with pytest.raises(UserError, match=r"bad\.yaml: no YAML of an experiment"):
        List(config_dir=tmp_path).execute()
    refused = inside("train", "--config-dir", str(tmp_path), "+exp=bad")
    assert refused.returncode == 2 and "bad.yaml" in refused.stderr
    assert len(refused.stderr.splitlines()) == 1


def test_numbers_as_targets_have_no_accuracy_to_tell() -> None:
    evals = pd.DataFrame(
        {"step": [9, 9], "split": ["train", "test"], "subset": "all", "loss": [0.5, float("nan")]}
    )
    numbers = last_numbers(summary_of({"evals": evals.assign(accuracy=float("nan"))}))
    assert numbers == {"train loss": "0.5", "test loss": "nan"}
    assert "test accuracy" in summary_of({"evals": evals.assign(accuracy=1.0)}).last


def test_runs_are_chosen_and_sorted_by_their_numbers_and_keys(
    sweep: list[Path], inside: Ntkexp
) -> None:
    wide = next(run for run in sweep if "model.width=5" in keys_of(run))
    chosen = inside("list", "disk", "--where", "model.width == 5 and test_loss < 1e9").stdout
    assert wide.name in chosen and len(chosen.splitlines()[1:-1]) == 1
    told = json.loads(inside("list", "--json", "--sort", "test_loss").stdout)
    losses = [last_evaluation(Path("outputs/disk") / row["run"], "test")["loss"] for row in told]
    assert [row["test_loss"] for row in told] == losses == sorted(losses)
    assert {row["model.width"] for row in told} == {3, 5}
    assert "no such runs" in inside("list", "--where", "model.width == 4").stdout
    refused = inside("list", "--where", "model.widht == 5")
    assert refused.returncode == 2 and "there are experiment, run, folder" in refused.stderr
    refused = inside("list", "--where", "seed")
    assert "--where seed: is no condition; expected one such as seed == 0" in refused.stderr
    refused = inside("list", "--sort", "test_los")
    assert "no such column; did you mean test_loss?; there are experiment" in refused.stderr


def test_a_table_is_as_wide_as_it_may_be(sweep: list[Path]) -> None:
    frame = table(sweep)
    narrow, wide = as_text(frame, 60).splitlines(), as_text(frame, 200).splitlines()
    assert all(len(line) <= 60 for line in narrow[:-1])
    assert narrow[-1].startswith("left out for want of width (--json has all): ")
    assert "test_loss" in wide[0] and "model.width" in wide[0] and len(wide) == 3
    assert "test_accuracy" in as_text(frame, 60, "test_accuracy").splitlines()[0]


def test_a_key_without_a_value_in_any_run_is_no_column(sweep: list[Path]) -> None:
    frame = table(sweep).assign(**{"optim.stop_loss": [float("nan"), None]})
    assert as_text(frame, 200, "test_loss") == as_text(table(sweep), 200, "test_loss")


def test_two_runs_tell_where_their_tables_first_differ(sweep: list[Path], inside: Ntkexp) -> None:
    first, second = sweep
    told = inside("show", first.name, second.name).stdout
    assert "points: the same in all" in inside("show", first.name, first.name).stdout
    losses = [pd.read_parquet(run / "steps.parquet")["train_loss"] for run in sweep]
    values = f"{losses[0][0]:.6g} against {losses[1][0]:.6g}"
    assert f"steps: first at step 0, epoch 0, in train_loss: {values}" in told
    shorter = pd.DataFrame({"step": [0, 1], "loss": [1.0, float("nan")]})
    longer = pd.DataFrame({"step": [0, 1, 2], "loss": [1.0, float("nan"), 2.0]})
    assert difference(shorter, longer) == (
        "the same in the rows of both; 2 and 3 rows, of which 2 are of both"
    )


def test_rows_that_no_word_and_no_number_tells_apart_are_compared_in_their_order() -> None:
    """Those of networks of one run that differ in a rate; an infinite loss is equal to itself."""
    loss = [1.0, 2.0, float("inf"), 0.5]
    a = pd.DataFrame({"lr": [0.1, 0.2, 0.1, 0.2], "step": [0, 0, 1, 1], "loss": loss})
    b = a.assign(loss=[*loss[:3], 0.75])
    assert difference(a, b) == "first at step 1, in loss: 0.5 against 0.75; at most 0.25"
    numbers = a[["loss"]]
    assert "first at row of the table 3, in loss: 0.5 ag" in difference(numbers, b[["loss"]])
    assert difference(numbers, numbers[:2]).startswith("the same in the rows of both; 4 and 2 ")


def test_reference_runs_are_listed_and_shown(sweep: list[Path], inside: Ntkexp) -> None:
    outputs = sweep[0].parents[1]
    (outputs / "reference").mkdir()
    (outputs / "disk").rename(outputs / "reference" / "disk")
    assert json.loads(inside("list", "disk", "--json").stdout) == []
    listed = json.loads(inside("list", "disk", "--reference", "--json").stdout)
    assert listed and all(row["experiment"] == "disk" for row in listed)
    shown = json.loads(inside("show", listed[0]["run"], "--json").stdout)
    assert shown == listed[:1]


def test_in_a_terminal_lines_fit_and_states_have_a_colour(monkeypatch: pytest.MonkeyPatch) -> None:
    line = "    outputs/disk/abc  finished  " + "word " * 30
    assert fitted(line) == line
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.delenv("NO_COLOR", raising=False)
    first, second, *_ = fitted(line).splitlines()
    assert "\x1b[32mfinished\x1b[0m" in first and second.startswith("        word")
    monkeypatch.setenv("NO_COLOR", "1")
    assert max(map(len, fitted(line).splitlines())) <= 60 and "\x1b" not in fitted(line)
