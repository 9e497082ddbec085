"""The relaxed model, the network and its linearisation on a few made images."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from omegaconf import OmegaConf

from ntkexp import models
from ntkexp.data.fitted_digits import FittedDigits, chosen
from ntkexp.data.images.sources import read
from ntkexp.errors import Interrupted, UserError
from ntkexp.models.bias_free_mlp import BiasFreeMlp
from ntkexp.options import check_options
from ntkexp.progress import Progress, reporting_to
from ntkexp.studies.relaxed_accuracy import RelaxedAccuracy

pytestmark = pytest.mark.usefixtures("made_images")


def test_the_linearisation_is_the_min_norm_solution_of_the_jacobian() -> None:
    study = RelaxedAccuracy(seeds=1, sizes=[20], width=8, iterations=50, epochs=5)
    found = study.run()["relaxed_accuracy"].set_index("model")
    splits = [
        chosen(FittedDigits(), read("mnist", "train"), 0, "subset", 20),
        chosen(FittedDigits(), read("mnist", "test"), 0, "test_subset", None),
    ]
    network = models.build(BiasFreeMlp(width=8), (1, 28, 28), 1, 0)
    J, f0 = [], []
    for inputs, _ in splits:
        rows = [
            torch.autograd.grad(network(x[None].float())[0, 0], [*network.parameters()])
            for x in inputs
        ]
        J.append(torch.stack([torch.cat([g.flatten() for g in row]) for row in rows]).double())
        f0.append(network(inputs.float())[:, 0].detach().double())
    beta = np.linalg.pinv(J[0].numpy()) @ (splits[0][1] - f0[0]).numpy()
    outputs, signs = f0[1].numpy() + J[1].numpy() @ beta, splits[1][1].numpy()
    truth = np.mean((outputs - signs) ** 2)
    assert found.loc["linearised", "test_error"] == pytest.approx(truth, rel=1e-3)
    assert found.loc["linearised", "accuracy"] == np.mean((outputs > 0) == (signs > 0))
    # Both interpolate, and they are not one another.
    assert (found.loc[["linearised", "relaxed"], "train_error"] < 1e-10).all()
    assert found.loc["relaxed", "test_error"] != pytest.approx(truth, rel=1e-3)
    assert found.loc["network", "train_error"] > 1e-10


def test_no_sizes_are_refused() -> None:
    with pytest.raises(UserError, match=r"study\.sizes"):
        check_options(OmegaConf.structured(RelaxedAccuracy(sizes=[])), "study")


def test_a_stop_that_is_asked_for_ends_a_part_before_it_is_over() -> None:
    """In the training of the network, and in each iteration of the solver."""
    study = RelaxedAccuracy(seeds=1, sizes=[20], width=8, iterations=50, epochs=5)
    told: list[tuple[str, int]] = []

    def listen(task: Progress) -> None:
        told.append((task.label, task.done))
        if told[-1] == stop_at:
            raise Interrupted

    for stop_at in (("low rank", 3), ("relaxed", 2)):
        with reporting_to(listen), pytest.raises(Interrupted):
            study.run()
        assert told[-1] == stop_at
