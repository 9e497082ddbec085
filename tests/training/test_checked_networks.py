"""Networks of one's own are asked whether they keep their examples apart, ntkexp's are not."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest
from torch import Tensor, nn

from ntkexp.compose.finalise import plan_of
from ntkexp.errors import UserError
from ntkexp.execution.run import run
from ntkexp.models.base import Model
from ntkexp.results.status import read_status
from ntkexp.tangent import independence
from tests.tiny_runs import composed, identity

OWN = "model=tests.training.test_checked_networks.Coupling"
WORDS = ("data=disk", "data.grid=5", "probe=[spectrum]", "probing.examples=6", "optim.steps=4")


class MinusMean(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x - 0.1 * x.mean(0)


@dataclass
class Coupling(Model):
    """A network whose hidden units see the mean over the batch."""

    def build(self, inputs: tuple[int, ...], outputs: int) -> nn.Module:
        return nn.Sequential(nn.Linear(inputs[0], 4), MinusMean(), nn.Tanh(), nn.Linear(4, outputs))


def train(outputs: Path, *words: str) -> int:
    config = composed([*WORDS, *words, f"paths.outputs={outputs}", "progress=false", "device=cpu"])
    return run(plan_of(config))


def test_a_coupling_interrupts_the_run_and_the_same_command_takes_the_look_again(
    tmp_path: Path,
) -> None:
    for _ in range(2):
        with pytest.raises(UserError, match=r"couples the examples .* with probing\.check=warn$"):
            train(tmp_path, OWN)
        (folder,) = (tmp_path / "adhoc").iterdir()
        status = read_status(folder)
        assert status["state"] == "interrupted" and "couples the examples" in status["reason"]
    with pytest.warns(UserWarning, match="couples the examples"):
        assert train(tmp_path, OWN, "probing.check=warn") == 0
    assert [*(tmp_path / "adhoc").iterdir()] == [folder]
    assert read_status(folder)["state"] == "finished"


def test_how_it_is_checked_is_in_no_id() -> None:
    warned = composed([*WORDS, OWN, "probing.check=warn"])
    assert identity(warned) == identity(composed([*WORDS, OWN]))
    assert identity(composed([*WORDS, OWN, "probing.every=7"])) != identity(warned)


def test_the_networks_of_ntkexp_are_not_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*given: object) -> None:
        raise AssertionError("it was asked")

    monkeypatch.setattr(independence, "Trial", refuse)
    assert train(tmp_path, "model=mlp", "model.depth=2", "model.width=4") == 0
