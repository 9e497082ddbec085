"""Two runs are one run when they give the same numbers, and an option that appears moves no id."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from omegaconf import OmegaConf

from ntkexp.errors import UserError
from ntkexp.identity import digest, hashed, plain
from ntkexp.models.mlp import Mlp
from ntkexp.optim.sgd import Sgd
from tests.tiny_runs import composed, identity, read_plain


def told(*words: str) -> dict[str, Any]:
    return hashed(plain(composed(words)))


def test_only_what_differs_is_told() -> None:
    assert told("+exp=mlp_mnist", "model.depth=3", "seed=2") == {
        "work": "supervised@1",
        "data": {"is": "mnist@1"},
        "model": {"is": "mlp@1", "depth": 3},
        "probe": {"spectrum": {"is": "spectrum@1"}, "alignment": {"is": "alignment@1"}},
        "optim": {"lr": 0.02, "epochs": 100},
        "seed": 2,
    }


def test_an_option_that_appears_moves_no_id() -> None:
    """A config kept before `probing.batch_norm` and half of the others were there."""
    today = plain(composed(["+exp=vgg19_noise50"]))
    older = {
        key: {k: v for k, v in node.items() if k not in ("batch_norm", "schedule", "init")}
        if isinstance(node, dict)
        else node
        for key, node in today.items()
        if key not in ("tf32", "deterministic", "recipe")
    }
    assert older != today
    assert digest(hashed(older)) == digest(hashed(today))


@pytest.mark.parametrize(
    "word",
    [
        "name=another",
        "about=words",
        "device=cpu",
        "paths.outputs=elsewhere",
        "progress=false",
        "checkpoint.every_seconds=1",
        "launcher.jobs=3",
        "cuda_graph=false",
    ],
)
def test_what_decides_no_number_is_no_part_of_the_id(word: str) -> None:
    assert identity(composed(["+exp=disk", word])) == identity(composed(["+exp=disk"]))


def test_it_is_the_values_that_count_and_not_how_they_were_chosen() -> None:
    by_recipe = composed(["+exp=mlp_mnist", "recipe=released"])
    by_hand = composed(["+exp=mlp_mnist", "optim.batch_size=128", "optim.weight_decay=5e-4"])
    assert identity(by_recipe) == identity(by_hand)


def test_of_a_reference_the_run_the_file_and_its_own_options_are_a_part_of_the_id() -> None:
    plain_config = plain(composed(["+exp=disk"]))
    reference = {**plain_config["weights"], "run": "mlp_mnist", "id": "3fa9"}

    def of(**changes: Any) -> Any:
        return hashed({**plain_config, "weights": {**reference, **changes}}).get("weights")

    assert of() == "run:3fa9/weights.pt"
    assert of(file="weights.5.pt") == "run:3fa9/weights.5.pt"
    assert of(fresh=["head"]) == {"from": "run:3fa9/weights.pt", "fresh": ["head"]}
    # What makes the run is in its id, and where it lies is nobody's business.
    assert of(run="disk", set={"seed": 3}, folder="elsewhere/3fa9") == of()
    assert of(run=None) is None


def test_a_kept_config_gives_the_id_of_the_config_it_was() -> None:
    config = composed(["+exp=mlp_mnist", "optim.lr=1e-05", "optim.momentum=0"])
    kept = read_plain(OmegaConf.to_yaml(config, resolve=True))
    assert digest(hashed(kept)) == identity(config)
    assert hashed(kept)["optim"] == {"lr": 1e-05, "momentum": 0.0, "epochs": 100}


def test_a_component_that_gives_other_numbers_is_another(monkeypatch: pytest.MonkeyPatch) -> None:
    before = identity(composed(["+exp=disk"]))
    monkeypatch.setattr(Mlp, "version", 2)
    assert identity(composed(["+exp=disk"])) != before


def test_the_optimiser_that_runs_had_before_there_were_others_is_not_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    config = plain(composed(["+exp=mlp_mnist"]))
    older = config | {"optim": {k: v for k, v in config["optim"].items() if k != "name"}}
    assert hashed(older) == hashed(config)
    assert hashed(config)["optim"] == {"lr": 0.02, "epochs": 100}
    monkeypatch.setattr(Sgd, "version", 2)
    assert hashed(config)["optim"] == {"is": "sgd@2", "lr": 0.02, "epochs": 100}


def test_hashing_a_kept_config_imports_nothing_that_it_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "trap.py").write_text("raise SystemExit('imported')\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    config = plain(composed(["+exp=disk"]))
    with pytest.raises(UserError, match=r"model=trap\.Net: trap is not imported"):
        hashed(config | {"model": {"name": "trap.Net"}})
    with pytest.raises(UserError, match="no such model"):
        hashed(config | {"model": {"name": "trap"}})


def test_the_neutral_value_is_what_runs_did_before_the_option_came() -> None:
    """SuperNat's loss was half the sum of squares until it could be chosen."""
    older = {"study": {"name": "supernat", "seeds": 50}}
    chosen = {"study": {"name": "supernat", "seeds": 50, "loss": "half_sum"}}
    today = {"study": {"name": "supernat", "seeds": 50, "loss": "mean"}}
    assert hashed(older) == hashed(chosen)
    assert hashed(today)["study"] == {"is": "supernat@1", "loss": "mean"}
