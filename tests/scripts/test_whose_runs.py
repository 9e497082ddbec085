"""A figure draws one's own runs where they have all that it needs, else the reference's whole."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from matplotlib.figure import Figure

from ntkexp.objectives.evaluate import EVALS
from ntkexp.probes.spectrum import SPECTRUM
from ntkexp.results import Run, store
from ntkexp.results.table import Table
from ntkexp.scripts import drawing, runs
from tests.conftest import Ntkexp, Script

CONFIG = """name: {experiment}
seed: {seed}
recipe: paper
model: {{name: vgg, depth: 19, base: 64}}
data: {{noise: {noise}}}
optim: {{lr: {rate}, schedule: constant, epochs: {epochs}}}
scale: {{name: paper}}
"""
Keep = Callable[..., Path]


@pytest.fixture
def keep(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Keep:
    """Makes a run in outputs/, or in the reference results; each ends a minute after the last."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "kept").mkdir()
    monkeypatch.setenv("NTKEXP_REFERENCE", "kept")
    made: list[Path] = []

    def run(
        experiment: str,
        *,
        reference: bool = False,
        tables: Sequence[Table] = (EVALS,),
        **options: float,
    ) -> Path:
        home = Path("kept" if reference else "outputs")
        folder = home / experiment / f"run{len(made)}"
        time = f"2026-01-01T00:{len(made):02}:00+00:00"
        monkeypatch.setattr(store, "now", lambda: time)
        values = {"seed": 0, "noise": 0, "rate": 0.1, "epochs": 3} | options
        with Run(folder, tables) as begun:
            begun.begin(CONFIG.format(experiment=experiment, **values), {"argv": ["ntkexp"]})
            for table in tables:
                one = {"int64": 1, "float64": 0.5, "float32": 0.5, "string": "train", "bool": True}
                begun.add(table.name, {n: one[c.type] for n, c in table.columns.items()})
            begun.finish()
        made.append(folder)
        return folder

    return run


def drawn(*experiments: str, table: str = "evals", **told: bool) -> tuple[list[str], str]:
    """The runs that a figure of these experiments draws, and what it says of them."""

    def draw(places: runs.Places) -> list[str]:
        return [str(r.folder) for e in experiments for r in runs.needed(e, places, [table])]

    return runs.first(draw, experiments, [], told.get("reference", False))


def test_ones_own_run_is_drawn_and_the_reference_where_it_is_asked_for(keep: Keep) -> None:
    kept, own = keep("vgg19_clean", reference=True), keep("vgg19_clean", rate=0.3)
    assert drawn("vgg19_clean") == ([str(own)], str(own))
    assert drawn("vgg19_clean", reference=True) == ([str(kept)], "the reference results")


def test_the_newest_is_drawn_with_its_other_seeds(keep: Keep) -> None:
    seeds = [keep("vgg19_clean", seed=seed) for seed in (1, 0)]
    assert drawn("vgg19_clean") == ([*map(str, seeds)], "outputs/vgg19_clean (2 runs)")
    shorter = keep("vgg19_clean", epochs=1)
    assert drawn("vgg19_clean") == ([str(shorter)], str(shorter))


def test_of_several_seeds_a_figure_of_one_run_has_the_lowest(keep: Keep) -> None:
    _, lowest = keep("vgg19_clean", seed=2), keep("vgg19_clean", seed=1)
    _, source = runs.first(
        lambda places: runs.one("vgg19_clean", places, ["evals"]), ["vgg19_clean"], [], False
    )
    assert source == str(lowest)


def test_never_a_mixture(keep: Keep) -> None:
    pair = ("vgg19_clean", "vgg19_noise50")
    kept = [str(keep(name, reference=True)) for name in pair]
    keep("vgg19_noise50")
    lacking = "vgg19_clean: no finished run with evals in outputs/vgg19_clean"
    assert drawn(*pair) == (kept, f"the reference results ({lacking})")
    keep("vgg19_clean")
    assert drawn(*pair)[1] == "outputs/vgg19_clean/run3, outputs/vgg19_noise50/run2"


def test_a_run_without_the_table_is_none(keep: Keep) -> None:
    kept = keep("vgg19_clean", reference=True, tables=(EVALS, SPECTRUM))
    older = keep("vgg19_clean", rate=0.2, tables=(EVALS, SPECTRUM))
    keep("vgg19_clean")
    assert drawn("vgg19_clean", table="spectrum") == ([str(older)], str(older))
    (older / "status.json").unlink()
    assert drawn("vgg19_clean", table="spectrum")[0] == [str(kept)]


def test_a_sweep_is_two_values_or_more(keep: Keep) -> None:
    for noise in (0.0, 0.5):
        keep("complexity_noise", reference=True, noise=noise)
    keep("complexity_noise", noise=0.0)
    reason = "complexity_noise: one value alone of data.noise"
    assert drawn("complexity_noise")[1] == f"the reference results ({reason})"
    keep("complexity_noise", noise=0.2)
    assert drawn("complexity_noise")[1] == "outputs/complexity_noise (2 runs)"


def test_where_the_reference_has_none_ones_own_are_drawn_as_far_as_they_go(keep: Keep) -> None:
    own = keep("complexity_noise", noise=0.0)
    assert drawn("complexity_noise") == ([str(own)], str(own))
    with pytest.raises(runs.NoRuns) as lacking:
        drawn("complexity_noise", "vgg19_clean")
    (words,) = lacking.value.words
    assert words.splitlines() == [
        "vgg19_clean: no finished run with evals in outputs/vgg19_clean, kept/vgg19_clean",
        "to make it: ntkexp train +exp=vgg19_clean",
    ]


def test_a_run_that_a_script_cannot_draw_leaves_the_reference_and_a_line(keep: Keep) -> None:
    def draw(places: runs.Places) -> None:
        record = runs.one("vgg19_clean", places, ["evals"])
        if record.config["optim.lr"] > 0.1:
            raise KeyError("no such layer")

    own = keep("vgg19_clean", rate=0.3)
    with pytest.raises(KeyError, match="no such layer"):
        runs.first(draw, ["vgg19_clean"], [], False)
    keep("vgg19_clean", reference=True)
    _, source = runs.first(draw, ["vgg19_clean"], [], False)
    assert source == f"the reference results (not from {own}: KeyError, 'no such layer')"


def test_a_figure_says_whose_runs_it_shows_unless_they_are_the_reference(
    disk_run: Path,
    script: Script,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    figures: list[Figure] = []
    monkeypatch.setattr(drawing, "save", lambda figure, out, stem: figures.append(figure) or [])
    run = disk_run.relative_to(tmp_path)
    told = f"from {run} with data.grid=6 data.train_examples=40"
    assert script("fig01_disk_eigenfunctions")([]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == f"from {run}"
    assert told in figures[-1].get_supxlabel()
    # Its legend is below.
    assert script("fig10_disk_data")([]) == 0
    assert figures[-1].get_suptitle().startswith(told)
    monkeypatch.setenv("NTKEXP_REFERENCE", str(tmp_path / "outputs"))
    assert script("fig10_disk_data")(["--reference"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "from the reference results"
    assert figures[-1].get_suptitle() == ""


def test_a_figure_is_drawn_of_an_experiment_of_ones_own_in_the_place_of_its_own(
    disk_run: Path, inside: Ntkexp
) -> None:
    """Which tells what is wanted of a run that has not what it shows."""
    assert inside("figures", "alignment", "1", "--exp", "disk").stdout.count("own/disk/fig01") == 3
    lacks = inside("figures", "alignment", "3", "--exp", "disk").stderr
    assert "no run has the table alignment; expected one with 'probe=[alignment]'" in lacks
