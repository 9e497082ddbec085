"""How long a run trains: what is typed counts, and who reads along sees what ended it."""

from __future__ import annotations

import pytest
from omegaconf import DictConfig

from ntkexp.compose.finalise import finalise
from ntkexp.compose.overrides import typed_keys
from tests.conftest import Ntkexp
from tests.tiny_runs import TINY, composed, identity

MLP = "+exp=mlp_mnist"  # 100 epochs of 600 steps
DISK = "+exp=disk"  # 2,000 steps of the full batch


def final(*words: str) -> DictConfig:
    config = composed(words)
    finalise(config, frozenset(typed_keys(words)))
    return config


@pytest.mark.parametrize(
    ("words", "limits"),
    [
        ((MLP,), (100, None)),
        ((MLP, "optim.steps=30000"), (100, 30000)),
        ((MLP, "optim.steps=60000"), (100, 60000)),
        ((MLP, "optim.steps=60001"), (None, 60001)),
        ((MLP, "optim.steps=30000", "data.train_examples=2000"), (None, 30000)),
        ((MLP, "optim.steps=30000", "optim.batch_size=201"), (None, 30000)),
        ((MLP, "optim.steps=30000", "optim.batch_size=200"), (100, 30000)),
        ((MLP, "optim.steps=30000", "scale=small"), (None, 30000)),
        ((MLP, "optim.steps=30000", "optim.epochs=20"), (20, 30000)),
        ((DISK, "optim.epochs=3000"), (3000, None)),
        ((DISK, "optim.epochs=1000"), (1000, 2000)),
        ((DISK, "optim.epochs=3000", "optim.steps=2000"), (3000, 2000)),
        ((MLP, "optim.epochs=60", "scale=small"), (60, None)),
    ],
    ids=lambda one: " ".join(map(str, one)),
)
def test_the_limit_that_is_typed_counts(
    words: tuple[str, ...], limits: tuple[int | None, int | None]
) -> None:
    config = final(*words)
    assert (config.optim.epochs, config.optim.steps) == limits


def test_a_limit_that_ends_nothing_stays_in_the_id() -> None:
    """As runs of these words had it before: their ids do not move."""
    before = composed([MLP, "optim.steps=500"])
    assert before.optim.epochs == 100
    assert identity(final(MLP, "optim.steps=500")) == identity(before)


@pytest.mark.parametrize(
    ("limits", "holds"),
    [
        (("optim.epochs=3", "optim.steps=100"), "optim.epochs=3"),
        (("optim.epochs=3", "optim.steps=5"), "optim.steps=5"),
        (("optim.steps=5",), "optim.steps=5"),  # beside 100 epochs of the experiment
        (("optim.epochs=3",), ""),
    ],
    ids=lambda one: " ".join(one) if isinstance(one, tuple) else one,
)
def test_the_progress_and_the_last_line_say_which_limit_holds(
    inside: Ntkexp, made_images: None, limits: tuple[str, ...], holds: str
) -> None:
    shown = (MLP, *(word for word in TINY if word != "progress=false"), *limits)
    done = inside("train", *shown)
    assert done.returncode == 0, done.stderr
    steps = 5 if "steps" in holds else 9
    label = f"training to {holds}" if holds else "training"
    assert f"{label} {steps}/{steps}  " in done.stderr
    assert (
        done.stdout.rstrip().endswith(f"  (at {holds})" if holds else "")
        and "finished" in done.stdout
    )
