"""A project of one's own adds components, an experiment and a figure without a change here."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import ntkexp
from ntkexp import results
from tests.environment import python_path
from tests.installed_project import EXAMPLE, install

TOP = Path(ntkexp.__file__).parents[1]
TINY = ("optim.steps=3", "data.examples=20", "probing.examples=5", "progress=false")

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """A command in a folder of its own; `site` holds what is installed beside ntkexp."""

    def command(
        *words: str, site: Path | None = None, program: str = "ntkexp"
    ) -> subprocess.CompletedProcess[str]:
        path = python_path(TOP, *([site] if site else []))
        return subprocess.run(
            [sys.executable, "-m", program, *words],
            cwd=tmp_path,
            env=os.environ | {"PYTHONPATH": path, "MPLBACKEND": "agg"},
            capture_output=True,
            text=True,
            timeout=300,
        )

    return command


@pytest.fixture
def site(tmp_path: Path) -> Path:
    return install(tmp_path / "site")


def test_its_experiment_runs_is_listed_and_drawn(run: Run, site: Path, tmp_path: Path) -> None:
    assert "+exp=spirals" in run("list", site=site).stdout
    done = run("train", "+exp=spirals", "scale=small", *TINY, site=site)
    assert done.returncode == 0, done.stderr
    (kept,) = (tmp_path / "outputs" / "spirals").iterdir()
    assert (kept / "weight_norm.parquet").exists()
    assert "units: 16" in (kept / "config.yaml").read_text()
    again = run("train", "+exp=spirals", "scale=small", *TINY, site=site)
    assert "done already" in again.stdout
    figure = tmp_path / "outputs" / "figures" / "own_project" / "fig_spirals.svg"
    words = ("figures", "own_project", "1")
    for program, given in (("own_project.scripts.fig_spirals", ()), ("ntkexp", words)):
        drawn = run(*given, site=site, program=program)
        assert drawn.returncode == 0, drawn.stderr
        assert figure.exists()
        figure.unlink()


def test_its_claims_are_judged_beside_those_of_papers(run: Run, site: Path, tmp_path: Path) -> None:
    words = ("claims", "--paper", "own_project", "--json")
    (before,) = json.loads(run(*words, site=site).stdout)
    assert (before["work"], before["figure"]) == ("own_project", "1")
    assert before["verdict"] == "no runs"
    assert before["commands"] == ["ntkexp train +exp=spirals  (not measured)"]
    assert run("train", "+exp=spirals", *TINY, "optim.steps=100", site=site).returncode == 0
    (after,) = json.loads(run(*words, site=site).stdout)
    assert after["verdict"] in ("holds", "fails")
    told = run("claims", "--figure", "1", "--summary", site=site).stdout
    assert told.index("### Implicit Regularization") < told.index("### A project of one's own")
    # Without the project its claims are gone, and so is its paper.
    assert "no such paper" in run(*words).stderr


def test_a_paper_in_a_folder_of_papers_is_found_and_keeps_its_keys_apart(
    run: Run, site: Path
) -> None:
    claims = (site / "own_project" / "claims" / "spirals.py").read_text()
    home = site / "own_project" / "papers" / "lazier"
    home.mkdir(parents=True)
    (home / "__init__.py").write_text('TITLE = "On laziness"\n')
    (home / "claims.py").write_text(claims.replace('"1"', '"A.3"'))
    (one,) = json.loads(run("claims", "--figure", "A.3", "--json", site=site).stdout)
    assert (one["id"], one["work"]) == ("norm-grows", "lazier")
    assert "### On laziness" in run("claims", "--paper", "lazier", "--summary", site=site).stdout
    (home / "claims.py").write_text(claims + "CLAIMS = CLAIMS + CLAIMS\n")
    twice = run("claims", "--paper", "lazier", site=site)
    assert twice.returncode == 2
    assert "two claims of the id norm-grows" in twice.stderr
    assert run("claims", "--paper", "own_project", site=site).returncode == 0


def test_its_components_go_with_those_here_and_are_checked_alike(run: Run, site: Path) -> None:
    offered = run("complete", "ntkexp train model=", site=site).stdout.split()
    assert {"model=mlp", "model=tanh_net", "model=vgg19"} <= set(offered)
    words = ("train", "data=spirals", "model=mlp", "probe=[weight_norm]", "optim.steps=1")
    shown = run(*words, "--cfg", "job", site=site)
    assert "turns: 1.5" in shown.stdout, shown.stderr
    for word, told in (
        ("data.turns=-1", "data.turns=-1"),
        ("data.turn=1", "did you mean turns?"),
        ("data=spiral", "did you mean spirals?"),
    ):
        refused = run(*words, word, site=site)
        assert refused.returncode == 2, refused.stderr
        assert told in refused.stderr


def test_a_run_of_what_is_not_installed_is_listed_shown_and_loaded(
    run: Run, site: Path, tmp_path: Path
) -> None:
    assert run("train", "+exp=spirals", *TINY, site=site).returncode == 0
    (kept,) = (tmp_path / "outputs" / "spirals").iterdir()
    # Whoever imported what the run names would hear of it here.
    assert str(kept.relative_to(tmp_path)) in run("list").stdout
    shown = run("show", kept.name)
    assert "turns: 1.5" in shown.stdout, shown.stderr
    assert "weight_norm: " in shown.stdout
    assert run("claims").returncode == 0
    tables = results.load(tmp_path / "outputs")
    assert len(tables["weight_norm"]) >= 2
    refused = run("train", "+exp=spirals", *TINY)
    assert refused.returncode == 2
    assert "exp=spirals" in refused.stderr


def test_a_class_by_its_full_name_needs_no_installation(run: Run, tmp_path: Path) -> None:
    """Only to be importable; its options stand on the command line as those of any other."""
    words = ("data=own_project.data.spirals.Spirals", "model=own_project.models.tanh_net.TanhNet")
    words += ("probe=[own_project.probes.weight_norm.WeightNorm]", "model.units=5")
    done = run("train", *words, *TINY, "probe.weight_norm.p=1", site=EXAMPLE)
    assert done.returncode == 0, done.stderr
    (kept,) = (tmp_path / "outputs" / "adhoc").iterdir()
    config = (kept / "config.yaml").read_text()
    assert "name: own_project.data.spirals.Spirals" in config
    assert "p: 1.0" in config


@pytest.mark.parametrize(
    ("word", "told"),
    [
        ("model=no.such.Thing", "there is no module no"),
        ("model=own_project.models.nowhere.Net", "there is no module own_project.models.nowhere"),
        ("model=own_project.models.tanh_net.Tan", "has no class Tan"),
        ("model=own_project.data.spirals.Spirals", "is no model"),
        ("model=pathlib.Path", "is no model"),
        ("model=own_project..tanh_net", "own_project..tanh_net"),
    ],
)
def test_a_full_name_that_names_no_component_is_one_line(run: Run, word: str, told: str) -> None:
    done = run("train", word, "optim.steps=1", site=EXAMPLE)
    assert done.returncode == 2
    assert told in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("taken", ["kind", "check", "build"])
def test_an_option_that_would_hide_what_a_component_has_is_refused(
    run: Run, site: Path, taken: str
) -> None:
    net = site / "own_project" / "models" / "tanh_net.py"
    net.write_text(net.read_text().replace("units: int", f"{taken}: int = 1\n    units: int"))
    done = run("train", "model=own_project.models.tanh_net.TanhNet", "optim.steps=1", site=site)
    assert done.returncode == 2
    assert f"TanhNet: has an option {taken}" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_two_components_of_one_name_are_refused(run: Run, site: Path) -> None:
    twin = (site / "own_project" / "models" / "tanh_net.py").read_text()
    (site / "own_project" / "models" / "mlp.py").write_text(twin.replace("TanhNet", "Mlp"))
    done = run("train", "+exp=disk", site=site)
    assert done.returncode == 2
    assert "mlp.py: ntkexp has a model of this name" in done.stderr


def test_the_example_is_short() -> None:
    files = [path for path in EXAMPLE.rglob("*") if path.suffix in (".py", ".yaml", ".toml")]
    lines = [line for path in files for line in path.read_text().splitlines()]
    assert len([line for line in lines if line.strip()]) <= 100
