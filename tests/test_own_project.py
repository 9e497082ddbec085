"""A project of one's own adds components, an experiment and a figure without a change here."""

from __future__ import annotations

import json
import runpy
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

import ntkexp
from ntkexp import results
from ntkexp.cli import main
from tests.environment import python_path
from tests.forked import Forked, beside
from tests.installed_project import EXAMPLE, install

TOP = Path(ntkexp.__file__).parents[1]
TINY = ("optim.steps=3", "data.examples=20", "probing.examples=5", "progress=false")

Run = Callable[..., list[subprocess.CompletedProcess[str]]]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Commands in a folder of its own; `site` holds what is installed beside ntkexp."""

    def commands(
        *each: Sequence[str], site: Path | None = None
    ) -> list[subprocess.CompletedProcess[str]]:
        places = {"PYTHONPATH": python_path(TOP, *([site] if site else []))}
        function = beside(site) if site else main
        return [Forked(words, tmp_path, places, function=function).done() for words in each]

    return commands


@pytest.fixture
def site(tmp_path: Path) -> Path:
    return install(tmp_path / "site")


def as_module(words: Sequence[str]) -> int:
    """`python -m NAME` of a figure, which exits with a code."""
    sys.argv = [*words]
    with pytest.raises(SystemExit) as ended:
        runpy.run_module(words[0], run_name="__main__")
    return int(ended.value.code or 0)


def test_its_experiment_runs_is_listed_and_drawn(run: Run, site: Path, tmp_path: Path) -> None:
    words = ("train", "+exp=spirals", "scale=small", *TINY)
    listed, done, again = run(("list",), words, words, site=site)
    assert "+exp=spirals" in listed.stdout
    assert done.returncode == 0, done.stderr
    (kept,) = (tmp_path / "outputs" / "spirals").iterdir()
    assert (kept / "weight_norm.parquet").exists()
    assert "units: 16" in (kept / "config.yaml").read_text()
    assert "done already" in again.stdout
    figure = tmp_path / "outputs" / "figures" / "own_project" / "fig_spirals.svg"
    module = ["own_project.scripts.fig_spirals"]
    by_itself = Forked(module, tmp_path, function=beside(site, as_module)).done()
    assert by_itself.returncode == 0, by_itself.stderr
    figure.unlink()
    (drawn,) = run(("figures", "own_project", "1"), site=site)
    assert drawn.returncode == 0, drawn.stderr
    assert figure.exists()


def test_a_file_that_is_open_in_an_editor_disturbs_nothing(run: Run, site: Path) -> None:
    """Emacs keeps a link to nowhere beside a file that was changed and not saved."""
    for file in ("probes/weight_norm.py", "configs/exp/spirals.yaml", "claims/spirals.py"):
        place = site / "own_project" / file
        place.with_name(f".#{place.name}").symlink_to("me@here.1234:5678")
    commands = [("train", "+exp=spirals", *TINY), ("claims", "--paper", "own_project"), ("list",)]
    for done in run(*commands, ("figures", "own_project"), site=site):
        assert done.returncode == 0, done.stderr


def test_its_claims_are_judged_beside_those_of_papers(run: Run, site: Path) -> None:
    words = ("claims", "--paper", "own_project", "--json")
    first, trained, second, summary = run(
        words,
        ("train", "+exp=spirals", *TINY, "optim.steps=100"),
        words,
        ("claims", "--figure", "1", "--summary"),
        site=site,
    )
    (before,), (after,) = json.loads(first.stdout), json.loads(second.stdout)
    assert (before["work"], before["figure"]) == ("own_project", "1")
    assert before["verdict"] == "no runs"
    assert before["commands"] == ["ntkexp train +exp=spirals  (not measured)"]
    assert trained.returncode == 0, trained.stderr
    assert after["verdict"] in ("holds", "fails")
    told = summary.stdout
    assert told.index("### Implicit Regularization") < told.index("### A project of one's own")
    # Without the project its claims are gone, and so is its paper.
    (without,) = run(words)
    assert "no such paper" in without.stderr


def test_a_paper_in_a_folder_of_papers_is_found_and_keeps_its_keys_apart(
    run: Run, site: Path
) -> None:
    claims = (site / "own_project" / "claims" / "spirals.py").read_text()
    home = site / "own_project" / "papers" / "lazier"
    home.mkdir(parents=True)
    (home / "__init__.py").write_text('TITLE = "On laziness"\n')
    (home / "claims.py").write_text(claims.replace('"1"', '"Z.3"'))
    told, summary = run(
        ("claims", "--figure", "Z.3", "--json"),
        ("claims", "--paper", "lazier", "--summary"),
        site=site,
    )
    (one,) = json.loads(told.stdout)
    assert (one["id"], one["work"]) == ("norm-grows", "lazier")
    assert "### On laziness" in summary.stdout
    (home / "claims.py").write_text(claims + "CLAIMS = CLAIMS + CLAIMS\n")
    twice, other = run(
        ("claims", "--paper", "lazier"), ("claims", "--paper", "own_project"), site=site
    )
    assert twice.returncode == 2
    assert "two claims of the id norm-grows" in twice.stderr
    assert other.returncode == 0


def test_its_components_go_with_those_here_and_are_checked_alike(run: Run, site: Path) -> None:
    words = ("train", "data=spirals", "model=mlp", "probe=[weight_norm]", "optim.steps=1")
    wrong = {
        "data.turns=-1": "data.turns=-1",
        "data.turn=1": "did you mean turns?",
        "data=spiral": "did you mean spirals?",
    }
    offered, shown, *refused = run(
        ("complete", "ntkexp train model="),
        (*words, "--cfg", "job"),
        *((*words, word) for word in wrong),
        site=site,
    )
    assert {"model=mlp", "model=tanh_net", "model=vgg19"} <= set(offered.stdout.split())
    assert "turns: 1.5" in shown.stdout, shown.stderr
    for end, told in zip(refused, wrong.values(), strict=True):
        assert end.returncode == 2, end.stderr
        assert told in end.stderr


def test_a_run_of_what_is_not_installed_is_listed_shown_and_loaded(
    run: Run, site: Path, tmp_path: Path
) -> None:
    words = ("train", "+exp=spirals", *TINY)
    (trained,) = run(words, site=site)
    assert trained.returncode == 0, trained.stderr
    (kept,) = (tmp_path / "outputs" / "spirals").iterdir()
    # Whoever imported what the run names would hear of it here.
    listed, shown, judged, refused = run(("list",), ("show", kept.name), ("claims",), words)
    assert str(kept.relative_to(tmp_path)) in listed.stdout
    assert "turns: 1.5" in shown.stdout, shown.stderr
    assert "weight_norm: " in shown.stdout
    assert judged.returncode == 0
    tables = results.load(tmp_path / "outputs")
    assert len(tables["weight_norm"]) >= 2
    assert refused.returncode == 2
    assert "exp=spirals" in refused.stderr


NO_COMPONENTS = {
    "model=no.such.Thing": "No module named 'no'",
    "model=own_project.models.nowhere.Net": "No module named 'own_project.models.nowhere'",
    "model=own_project.models.tanh_net.Tan": "has no Tan; did you mean Tan",
    "model=own_project.data.spirals.Spirals": "is no model",
    "model=pathlib.Path": "is no model",
    "model=own_project..tanh_net": "own_project..tanh_net",
}


def test_a_class_by_its_full_name_needs_no_installation(run: Run, tmp_path: Path) -> None:
    """Only to be importable; its options stand on the command line as those of any other. A name
    that names no component is refused in one line."""
    words = ("data=own_project.data.spirals.Spirals", "model=own_project.models.tanh_net.TanhNet")
    words += ("probe=[own_project.probes.weight_norm.WeightNorm]", "model.units=5")
    done, *refused = run(
        ("train", *words, *TINY, "probe.weight_norm.p=1"),
        *(("train", word, "optim.steps=1") for word in NO_COMPONENTS),
        site=EXAMPLE,
    )
    assert done.returncode == 0, done.stderr
    (kept,) = (tmp_path / "outputs" / "adhoc").iterdir()
    config = (kept / "config.yaml").read_text()
    assert "name: own_project.data.spirals.Spirals" in config
    assert "p: 1.0" in config
    for end, told in zip(refused, NO_COMPONENTS.values(), strict=True):
        assert end.returncode == 2
        assert told in end.stderr
        assert len(end.stderr.splitlines()) == 1


def test_two_components_of_one_name_are_refused(run: Run, site: Path) -> None:
    twin = (site / "own_project" / "models" / "tanh_net.py").read_text()
    (site / "own_project" / "models" / "mlp.py").write_text(twin.replace("TanhNet", "Mlp"))
    (done,) = run(("train", "+exp=disk"), site=site)
    assert done.returncode == 2
    assert "mlp.py: ntkexp has a model of this name" in done.stderr
