"""Every experiment begins at its own size, on the real images, where the quick tests have slivers.

What a sliver hides is refused here: outputs that round differently, a batch that does not fit, a
look that a small network passes. Convolutional networks are narrow, nothing else is smaller.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from ntkexp.compose.finalise import plan_of
from ntkexp.errors import UserError
from ntkexp.execution.run import run
from ntkexp.experiments import Experiment, experiments
from tests.tiny_runs import composed, train

pytestmark = [pytest.mark.on_demand, pytest.mark.usefixtures("real_images")]

STEPS = 2
CHANNELS = 8
# A study is stopped after so long, unless it has ended.
SECONDS = 20
# Three initialisations diverge at once on images of unit variance, as docs/adaptive says.
DIVERGES = {"adaptive/unit_variance"}
NEEDS_A_FILE = "information/estimate"


def takes_an_hour(one: Experiment) -> bool:
    """True if the eigenpairs of a kernel of thousands of images come first, or a look at that of a
    ResNet18: the kept runs have made them."""
    of_study = one.needs or one.command == "study"
    return one.paper == "linearised" and (of_study or "resnet18" in one.name)


TRAINED = [
    one
    for one in experiments()
    if one.command == "train" and one.name not in DIVERGES and not takes_an_hour(one)
]
STUDIED = [
    one
    for one in experiments()
    if one.command == "study"
    and not one.needs
    and not takes_an_hour(one)
    and one.name != NEEDS_A_FILE
]


# What the runs are made with that others begin with.
SLIVER = {"data.train_examples": 40, "optim.epochs": 1, "probing.examples": 4}
FEW_SCORES = "{study:{nets:20,ratios:[5],width:4,updates:2}}"


def with_parents(outputs: Path, words: list[str]) -> Path:
    """The folder of a run that uses another, which is made first, as `--with-parents` does."""
    config = composed(words)
    if config.weights.run is None:
        shorter = [f"data.score.set={FEW_SCORES}"]
    else:
        given = config.weights.set
        shorter = [
            f"+weights.set.{key}={value}"
            for key, value in SLIVER.items()
            if key.partition(".")[0] not in given
        ]
    plan = plan_of(composed([*words, *shorter, "with_parents=true", f"paths.outputs={outputs}"]))
    assert run(plan) == 0
    return plan.folder


def named(experiment: Experiment) -> str:
    return experiment.name


@pytest.mark.parametrize("experiment", TRAINED, ids=named)
def test_a_training_experiment_begins(experiment: Experiment, tmp_path: Path) -> None:
    words = [f"+exp={experiment.name}", "progress=false", "device=cpu"]
    if "base" in composed(words).model:
        words.append(f"model.base={CHANNELS}")
    try:
        if experiment.needs:
            folder = with_parents(tmp_path, [*words, f"optim.steps={STEPS}"])
        else:
            folder = train(tmp_path, *words, stop_at=STEPS)
    except UserError as error:
        if "NTKEXP_DATA" not in str(error):
            raise
        pytest.skip(f"its images are not here: {error}")
    assert list(folder.rglob("*.parquet"))


@pytest.mark.parametrize("experiment", STUDIED, ids=named)
def test_a_study_begins(experiment: Experiment, tmp_path: Path) -> None:
    words = [sys.executable, "-W", "error", "-m", "ntkexp", "study", f"+exp={experiment.name}"]
    process = subprocess.Popen(
        [*words, "progress=false", "device=cpu"],
        cwd=tmp_path,
        env=os.environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        said, _ = process.communicate(timeout=SECONDS)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGTERM)
        said, _ = process.communicate(timeout=300)
    finally:
        process.kill()
    assert "Traceback" not in said
    assert process.returncode in (0, 128 + signal.SIGTERM), said
