"""What a user sees of studies: their configs, and one line for what makes no sense."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from ntkexp import studies
from ntkexp.compose.finalise import plan_of
from ntkexp.data.fitted_digits import FittedDigits
from ntkexp.errors import UserError
from ntkexp.execution.prepare import checksums, prepare
from tests.tiny_runs import composed, train

CONFIGS = Path(__file__).parents[2] / "configs"


@pytest.mark.parametrize("name", sorted({*studies.names()} - {"checkpoints"}))  # of ntkexp probe
def test_every_study_has_an_experiment_that_names_its_command(name: str) -> None:
    chosen = {
        path: text
        for path in (CONFIGS / "exp").rglob("*.yaml")
        if f"override /study: {name}\n" in (text := path.read_text(encoding="utf-8"))
    }
    assert chosen
    for path, text in chosen.items():
        experiment = path.relative_to(CONFIGS / "exp").with_suffix("").as_posix()
        assert re.search(rf"ntkexp study (-m )?\+exp={experiment}\s", text)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"name": "supernat", "n": 10}, "study.n=10: needs more examples than the study.d=10"),
        ({"name": "supernat", "sigma2": -0.1}, "study.sigma2=-0.1: expected a number from 0"),
        ({"name": "supernat", "kappa": "norm"}, "study.kappa: .*'norm'.*grad_norm"),
        ({"name": "supernat", "lr": 2.5}, "study.lr=2.5"),
        ({"name": "supernat", "iterations": 0}, "study.iterations=0: expected 1 to"),
        ({"name": "supernat", "eta": 1.0}, "study.eta: no such key\nstudy takes: .*kappa"),
        (
            {"name": "feature_scaling", "scales": [0.5, 1.0]},
            r"scales=\[0.5, 1.0\]: .*below 1",
        ),
        ({"name": "feature_scaling", "n": 2000}, "study.n=2000: between 1 and 1000"),
        ({"name": "feature_scaling", "plane": [1, 1000]}, "study.plane: mode 1000 is not"),
        ({"name": "feature_scaling", "gamma": 0.0}, "study.gamma=0.0: expected a number above 0"),
        (
            {"name": "fourier_modes", "centring": "both"},
            "study.centring=both: expected one of",
        ),
        ({"name": "fourier_modes", "shown": [50]}, "study.shown: mode 50 is not between 0 and 49"),
        ({"name": "rademacher", "sizes": [4, 30]}, r"study.sizes=\[4, 30\]: .* 1 to 20"),
        ({"name": "rademacher", "classes": 1}, "study.classes=1: expected 2 to"),
        ({"name": "local_bias", "etas": [0.1, 0.01]}, "study.etas=.*above zero and rising"),
        ({"name": "local_bias", "lr": -1.0}, "study.lr=-1.0: expected a number above 0"),
        ({"name": "linear_modes", "features": 10}, "study.features=10: at least the study.n=20"),
        ({"name": "linear_modes", "n": "many"}, "study.n: .*many"),
        ({"name": "tricks"}, "study.name=tricks: no such study; there are"),
    ],
)
def test_what_makes_no_sense_is_one_line_naming_the_key(options: dict[str, Any], told: str) -> None:
    with pytest.raises(UserError, match=told) as raised:
        studies.choose(options).run(progress=False)
    said = str(raised.value)
    assert len(said.splitlines()) == (2 if "\nstudy takes: " in said else 1)


def test_a_study_on_the_command_line(inside: Any, tmp_path: Path) -> None:
    words = ("study", "+exp=linear_modes", "study.n=4", "study.iterations=20", "progress=false")
    first = inside(*words)
    assert first.returncode == 0, first.stderr
    (folder,) = (tmp_path / "outputs" / "linear_modes").iterdir()
    assert json.loads((folder / "status.json").read_text())["state"] == "finished"
    assert {path.stem for path in folder.glob("*.parquet")} == {
        "linear_modes",
        "linear_function",
        "time_constants",
    }
    again = inside(*words)
    assert again.stdout.startswith("done already")


@pytest.mark.parametrize(
    "probe",
    ["adapted_kernel", "eigenfunctions", "example_scores", "measures", "relaxed_model"],
)
def test_a_probe_of_training_runs_is_refused_in_one_line(probe: str, tmp_path: Path) -> None:
    words = ("+exp=linear_modes", f"+probe={{{probe}: {{}}}}")
    with pytest.raises(
        UserError, match=rf"probe\.{probe}: looks at .*training.*; there is nothing"
    ):
        train(tmp_path, *words, command="study")
    assert not list(tmp_path.iterdir())


@pytest.mark.usefixtures("made_images")
def test_a_study_is_made_from_the_images_that_it_reads() -> None:
    words = ["+exp=adaptive/targets", "study.seeds=1", "study.train_examples=20"]
    plan = plan_of(composed(words, "study"))
    assert prepare(plan).data == checksums(plan) == FittedDigits().files() != {}
