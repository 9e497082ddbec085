"""Updates are timed in turns, and each is the update that a run would make."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
import torch
from torch import nn

from ntkexp.config import StudyConfig
from ntkexp.errors import UserError
from ntkexp.objectives.cross_entropy import CrossEntropyLoss
from ntkexp.optim.kfac import Kfac
from ntkexp.optim.observer import observed_loss
from ntkexp.optim.sgd import Sgd
from ntkexp.papers.curvature.claims.seconds import seconds_of
from ntkexp.results.record import Record
from ntkexp.studies.update_seconds import UpdateSeconds
from ntkexp.training.place import Place
from tests.tiny_runs import table, train

KFAC = ("kron", "batch", "running")


@pytest.mark.usefixtures("made_images")
def test_every_optimiser_makes_every_kind_of_update_once_a_round(tmp_path: Path) -> None:
    words = ["+exp=curvature/autoencoder_seconds", "scale=tiny", "study.batch_sizes=[2,4]"]
    words += ["study.rounds=2", "device=cpu", "progress=false"]
    found = table(train(tmp_path, *words, command="study"), "update_seconds")
    baselines = ("sgd", "adam", "sgd_batch_norm", "adam_batch_norm")
    kinds = {(method, False) for method in (*baselines, *KFAC)} | {(name, True) for name in KFAC}
    rounds = found.groupby(["step", "batch_size"])
    assert sorted(rounds.groups) == [(1, 2), (1, 4), (2, 2), (2, 4)]
    for _, rows in rounds:
        assert len(rows) == len(kinds)
        assert {*zip(rows["method"], rows["anew"], strict=True)} == kinds
    assert (found["seconds"] > 0).all()


def test_an_optimiser_without_second_moments_is_refused() -> None:
    with pytest.raises(UserError, match=r"study\.optim=sgd: expected kfac"):
        UpdateSeconds(optim=Sgd()).work(Place(StudyConfig(), torch.device("cpu")))


def test_the_forward_is_shown_to_the_optimisers_that_need_it() -> None:
    torch.manual_seed(0)
    network, x, y = nn.Linear(3, 2), torch.randn(5, 3), torch.randint(0, 2, (5,))
    objective = CrossEntropyLoss(2)
    update = Kfac(damping=1e6, momentum=0.0).build_for(network, objective)
    expected = nn.functional.cross_entropy(network(x), y)
    gradient = torch.autograd.grad(expected, network.weight)[0]
    loss = observed_loss(network, update, x, y, objective)
    loss.backward()
    update.compute()
    assert loss.item() == pytest.approx(expected.item())
    # So much damping leaves the gradient, a millionth of it.
    torch.testing.assert_close(update.change(1.0)[0] * -1e6, gradient, rtol=1e-2, atol=1e-5)


def test_seconds_count_the_computations_of_factors() -> None:
    rows = [("kron", 10, True, 5.0), ("kron", 10, False, 1.0), ("kron", 20, False, 9.0)]
    timed = pd.DataFrame(rows, columns=["method", "batch_size", "anew", "seconds"])
    evals = pd.DataFrame(
        {"step": [0, 3, 4, 7], "split": "train", "subset": "all", "loss": [1.0, 0.9, 0.8, 0.7]}
    )
    config = {"optim.name": "kfac", "optim.second": "kron", "optim.period": 3}
    run = Record("e", "0", {**config, "optim.batch_size": 10}, {"evals": evals})
    assert seconds_of(run, timed).tolist() == [0, 5 + 2, 2 * 5 + 2, 3 * 5 + 4]
