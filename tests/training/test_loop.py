"""What the loop does besides what the probes see."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from ntkexp.config import ProbingConfig, Spacing
from ntkexp.errors import UserError
from ntkexp.optim import Schedule
from ntkexp.optim.sgd import Sgd
from ntkexp.probes.spectrum import Spectrum
from ntkexp.studies.linear_modes import LinearModes
from ntkexp.training.prepared import refuse_unoffered
from ntkexp.training.schedule import learning_rate, looks_of
from ntkexp.training.study import Parts
from tests.tiny_runs import TINY, composed, prepared, train

pytestmark = pytest.mark.usefixtures("made_images")

NET = ("model=mlp", "data=mnist", "model.depth=1", "model.width=20", "probe=[]")


def test_it_stops_when_the_whole_training_set_is_fitted_twice(tmp_path: Path) -> None:
    """Once it is nearly fitted it is evaluated after every epoch, whenever the next look is due."""
    words = [word for word in TINY if "stop_loss" not in word]
    words += ["probing.spacing=list", "probing.steps=[0]"]
    run = train(tmp_path, *words, *NET, "optim.lr=0.05", "optim.epochs=400")
    evals = pd.read_parquet(run / "evals.parquet").query("split == 'train'")
    assert set(evals["step"].diff().iloc[2:]) == {60 / 20}
    assert (evals["loss"].iloc[-2:] < 0.01).all()
    assert not (evals["loss"].iloc[:-2] < 0.01).any()
    assert evals["step"].iloc[-1] < 1200


def test_step_zero_is_before_the_first_update(tmp_path: Path) -> None:
    ends = {}
    for steps in (1, 2):
        run = train(tmp_path, *TINY, *NET, f"optim.steps={steps}")
        ends[steps] = pd.read_parquet(run / "evals.parquet").query("split == 'test'")
    assert ends[1]["step"].tolist() == [0, 1]
    assert ends[2]["step"].tolist() == [0, 2]
    # The same seed starts in the same place, whatever comes after.
    assert ends[1]["loss"].iloc[0] == ends[2]["loss"].iloc[0]


def test_easy_and_difficult_examples_are_evaluated_apart(tmp_path: Path) -> None:
    parts = ("data.difficult=random_labels", "data.difficult_examples=20")
    run = train(tmp_path, *TINY, *NET, *parts, "optim.steps=60", "optim.lr=0.05")
    last = pd.read_parquet(run / "evals.parquet").query("step == 60").set_index(["split", "subset"])
    accuracy = last["accuracy"]
    assert accuracy["train", "all"] == pytest.approx(
        (60 * accuracy["train", "easy"] + 20 * accuracy["train", "difficult"]) / 80
    )
    assert ("test", "easy") not in accuracy.index


def test_the_probe_schedules() -> None:
    assert looks_of(ProbingConfig(), last=10**6).steps[:9] == (0, 5, 6, 7, 8, 10, 11, 13, 15)
    listed = ProbingConfig(spacing=Spacing.list, steps=[3, 0, 99])
    assert looks_of(listed, 10).steps == (0, 3)


@pytest.mark.parametrize("spacing", ["log", "linear", "list"])
def test_the_next_look_is_the_first_that_is_due(spacing: str) -> None:
    config = ProbingConfig(spacing=Spacing(spacing), every=4, steps=[0, 3, 9, 10])
    looks = looks_of(config, last=60)
    for step in range(50):
        later = [other for other in range(step + 1, 61) if looks.due(other)]
        assert looks.after(step) == (later[0] if later else math.inf)


def test_a_look_at_every_step_of_a_long_run_costs_nothing() -> None:
    looks = looks_of(ProbingConfig(spacing=Spacing.linear, every=1), last=10**12)
    assert looks.due(10**11) and looks.after(10**11) == 10**11 + 1


def test_a_line_falls_from_the_rate_to_nothing() -> None:
    config = Sgd(lr=0.1, schedule=Schedule.linear)
    rates = [learning_rate(config, step, last=4) for step in range(5)]
    assert rates == pytest.approx([0.1, 0.075, 0.05, 0.025, 0.0])


def test_a_cosine_falls_from_the_rate_to_nothing() -> None:
    config = Sgd(lr=0.1, schedule=Schedule.cosine)
    assert learning_rate(config, 0, 100) == pytest.approx(0.1)
    assert learning_rate(config, 50, 100) == pytest.approx(0.05)
    assert learning_rate(config, 100, 100) == pytest.approx(0)


def test_it_looks_where_the_loss_first_falls_below_a_threshold(tmp_path: Path) -> None:
    words = (*TINY, *NET, "optim.steps=80", "optim.lr=0.05", "probe=[spectrum]")
    words += ("probing.spacing=list", "probing.steps=[0]")
    run = train(tmp_path / "plain", *words)
    steps = pd.read_parquet(run / "steps.parquet")
    mean = steps["train_loss"].ewm(alpha=0.1, adjust=False).mean()
    thresholds = [1.5, 1.0]
    expected = [int(np.argmax(mean < loss)) + 1 for loss in thresholds]
    run = train(tmp_path / "looks", *words, f"probing.losses={thresholds[::-1]}")
    events = pd.read_parquet(run / "events.parquet")
    assert events["threshold"].tolist() == thresholds
    assert events["step"].tolist() == expected
    looked = pd.read_parquet(run / "spectrum.parquet")["step"].unique().tolist()
    assert looked == sorted({0, *expected, 80})
    assert pd.read_parquet(run / "steps.parquet").equals(steps)


def test_in_full_batch_training_the_loss_is_that_of_the_training_set(tmp_path: Path) -> None:
    words = (*TINY, *NET, "optim.steps=80", "optim.lr=0.05", "optim.batch_size=null")
    run = train(tmp_path, *words, "probing.losses=[1.0]")
    losses = pd.read_parquet(run / "steps.parquet")["train_loss"]
    (step,) = pd.read_parquet(run / "events.parquet")["step"]
    assert losses[step - 1] < 1.0 <= losses[step - 2]


def test_one_batch_an_epoch_that_leaves_examples_out_is_no_full_batch(tmp_path: Path) -> None:
    words = (*TINY, *NET, "optim.steps=40", "optim.lr=0.05", "optim.batch_size=40")
    run = train(tmp_path, *words, "optim.drop_last=true", "probing.losses=[1.5]")
    losses = pd.read_parquet(run / "steps.parquet")["train_loss"]
    mean = losses.ewm(alpha=0.1, adjust=False).mean()
    (step,) = pd.read_parquet(run / "events.parquet")["step"]
    assert step == int(np.argmax(mean < 1.5)) + 1


def test_named_subsets_are_evaluated_apart(tmp_path: Path) -> None:
    words = (*TINY, *NET, "data.noise=0.5", "optim.steps=40", "optim.lr=0.05")
    plain = pd.read_parquet(train(tmp_path / "plain", *words) / "evals.parquet")
    run = train(tmp_path / "subsets", *words, "evaluate.subsets=[noisy,intact]")
    rows = pd.read_parquet(run / "evals.parquet")
    both = rows.query("split == 'train'").pivot(index="step", columns="subset", values="loss")
    dataset = prepared(composed([*words])).work.dataset
    share = float(dataset.train.corrupted.double().mean())
    assert 0 < share < 1
    mixed = share * both["noisy"] + (1 - share) * both["intact"]
    np.testing.assert_allclose(mixed, both["all"], rtol=1e-9)
    assert both["noisy"].iloc[-1] > both["intact"].iloc[-1]
    # The test set has clean labels, and what is always evaluated is as it was.
    assert set(rows.query("split == 'test'")["subset"]) == {"all"}
    pd.testing.assert_frame_equal(rows.query("subset == 'all'").reset_index(drop=True), plain)


def test_a_subset_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="asks for the subset noisy; there are all"):
        train(tmp_path, *TINY, *NET, "optim.steps=4", "evaluate.subsets=[noisy]")
    assert not list(tmp_path.iterdir())


def test_a_probe_of_what_the_work_does_not_offer_is_refused() -> None:
    work = Parts(LinearModes())
    with pytest.raises(UserError, match=r"probe\.spectrum: looks at kernel; there is nothing"):
        refuse_unoffered({"spectrum": Spectrum()}, work)


def test_a_stop_at_the_very_event_does_not_lose_its_look(tmp_path: Path) -> None:
    words = (*TINY, *NET, "optim.steps=40", "optim.lr=0.05", "probe=[spectrum]")
    words += ("probing.losses=[2.0]", "probing.spacing=list", "probing.steps=[0]")
    whole = train(tmp_path / "whole", *words)
    (step,) = pd.read_parquet(whole / "events.parquet")["step"]
    for stop_at in range(step - 2, 2 * step + 3):
        train(tmp_path / str(stop_at), *words, stop_at=int(stop_at))
        cut = train(tmp_path / str(stop_at), *words)
        table = (cut / "spectrum.parquet").read_bytes()
        assert table == (whole / "spectrum.parquet").read_bytes(), stop_at


def test_a_look_off_the_schedule_that_finds_the_network_fitted_is_the_last(tmp_path: Path) -> None:
    words = (*TINY, *NET, "optim.batch_size=null", "optim.steps=20", "probe=[spectrum]")
    words += ("probing.spacing=list", "probing.steps=[0]", "optim.stop_patience=1")
    losses = pd.read_parquet(train(tmp_path / "whole", *words) / "steps.parquet")["train_loss"]
    assert losses.is_monotonic_decreasing
    # The loss before update 9 is below the threshold, that after it below the stopping loss.
    stop, threshold = losses[9:11].mean(), losses[8:10].mean()
    words += (f"probing.losses=[{threshold}]", f"optim.stop_loss={stop}")
    spectrum = pd.read_parquet(train(tmp_path / "fitted", *words) / "spectrum.parquet")
    assert spectrum["step"].unique().tolist() == [0, 10]
    assert not spectrum.duplicated().any()
