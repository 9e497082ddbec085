"""A component among the options of a study counts as one at the top does: its version, its neutral
options, its scale and its check."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from omegaconf import MISSING

from ntkexp.compose.finalise import finalise
from ntkexp.data.base import Data
from ntkexp.data.mnist import Mnist
from ntkexp.errors import UserError
from ntkexp.identity import hashed, plain
from ntkexp.models.base import Model
from ntkexp.models.mlp import Mlp
from ntkexp.optim.base import Optimiser
from ntkexp.optim.sgd import Sgd
from ntkexp.options import SEED, option
from ntkexp.studies.base import Study
from tests.tiny_runs import composed, composer, identity


@dataclass
class Nested(Study):
    seed: int = option(0, SEED)
    network: Model = field(default_factory=lambda: Mlp(depth=2, width=300))
    descent: Optimiser = field(default_factory=lambda: Sgd(steps=5000))
    chosen: Model = MISSING
    images: Data | None = None


STUDY = f"study={__name__}.Nested"
CHOSEN = "+model@study.chosen=mlp"


def test_its_id_has_it_by_name_and_version_and_what_is_not_neutral() -> None:
    told = hashed(plain(composed([STUDY, CHOSEN, "study.chosen.width=7"], "study")))["study"]
    assert told == {
        "is": f"{__name__}.Nested@1",
        "network": {"is": "mlp@1", "depth": 2, "width": 300},
        "descent": {"is": "sgd@1", "steps": 5000},
        "chosen": {"is": "mlp@1", "width": 7},
    }


def test_another_version_of_it_is_another_run(monkeypatch: pytest.MonkeyPatch) -> None:
    before = identity(composed([STUDY, CHOSEN], "study"))
    monkeypatch.setattr(Sgd, "version", 2)
    assert identity(composed([STUDY, CHOSEN], "study")) != before


def test_it_is_shrunk_by_its_own_limits() -> None:
    config = composer("study").compose([STUDY, CHOSEN, "scale=small", "study.chosen.width=400"])
    finalise(config, frozenset({"scale", "study.chosen.width"}))
    assert config.study.network.width == Mlp.small["width"] < 300
    assert config.study.descent.steps == Sgd.small["steps"] < 5000
    assert config.study.chosen.width == 400


def test_its_own_check_is_asked() -> None:
    config = composer("study").compose([STUDY, CHOSEN, "study.descent.steps=null"])
    with pytest.raises(UserError, match=r"study\.descent: optim\.epochs and optim\.steps are both"):
        finalise(config, frozenset())


@pytest.mark.usefixtures("made_images")
def test_the_files_of_its_data_are_those_of_the_study() -> None:
    assert Nested().files() == {}
    assert Nested(images=Mnist()).files() == Mnist().files() != {}
