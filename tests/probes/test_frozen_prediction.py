"""A linearised network does what its kernel foretold; any other leaves it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from ntkexp.errors import UserError
from tests.tiny_runs import TINY, goes_on, train

pytestmark = pytest.mark.usefixtures("made_images")

FULL = ("objective=squared_error", "optim.batch_size=null", "probe=[frozen_prediction]")
IMAGES = (*TINY, "data=mnist", "model=mlp", "model.depth=2", "model.width=12", "optim.lr=0.002")
DISK = (
    *("+exp=disk", "model.depth=2", "model.width=30", "data.train_examples=40", "data.grid=6"),
    *("progress=false", "optim.lr=0.05"),
)


def measured(tmp_path: Path, *words: str) -> pd.DataFrame:
    return pd.read_parquet(train(tmp_path, *words) / "frozen_prediction.parquet")


@pytest.mark.parametrize(
    ("data", "momentum", "route"),
    [
        ("images", 0.0, "forward"),
        ("images", 0.9, "function"),
        ("disk", 0.0, "function"),
        ("disk", 0.9, "forward"),
    ],
)
def test_a_linearised_network_does_as_foretold(
    data: str, momentum: float, route: str, tmp_path: Path
) -> None:
    words = (*(DISK if data == "disk" else IMAGES), *FULL, f"optim.momentum={momentum}")
    words += ("optim.steps=60", "transform=linearise", f"transform.route={route}")
    found = measured(tmp_path, *words)
    assert found["moved"].max() > 0.1
    assert (found["difference"] < 2e-4 * found["moved"].max()).all()


def test_a_real_one_leaves_it_and_the_lazy_one_less(tmp_path: Path) -> None:
    words = (*DISK, *FULL, "optim.steps=100")
    plain = measured(tmp_path / "plain", *words).iloc[-1]
    lazy = measured(tmp_path / "lazy", *words, "transform=alpha_scale", "transform.alpha=100").iloc[
        -1
    ]
    assert plain["foretold"] == pytest.approx(lazy["foretold"], rel=1e-3)
    assert plain["difference"] > 0.1 * plain["moved"]
    assert lazy["difference"] < 0.1 * plain["difference"]


def test_a_later_kernel_foretells_from_there_on(tmp_path: Path) -> None:
    words = (*DISK, *FULL, "optim.momentum=0", "probing.spacing=linear", "probing.every=20")
    words += ("optim.steps=80", "probe.frozen_prediction.since=40")
    found = measured(tmp_path, *words)
    assert sorted(set(found["step"])) == [40, 60, 80]
    np.testing.assert_allclose(found[found["step"] == 40]["difference"], 0, atol=1e-6)
    assert (found[found["step"] == 60]["difference"] < found[found["step"] == 60]["moved"]).all()


def test_it_goes_on_from_where_it_was_cut_short(tmp_path: Path) -> None:
    goes_on(tmp_path, *DISK, *FULL, "optim.steps=30", stop_at=11)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["objective=binary"], "no closed form for objective=binary"),
        (["optim=adam"], "no closed form for optim=adam"),
        (["optim.batch_size=7"], "expected optim.batch_size=null"),
        (["optim.weight_decay=0.1"], "no closed form for optim.weight_decay"),
        (["optim.schedule=cosine"], "no closed form for optim.schedule=cosine"),
        (["probe.frozen_prediction.since=5"], "no closed form for optim.momentum"),
        (["probing.spacing=list", "probing.steps=[3]"], "since=0: no look is there"),
    ],
)
def test_what_has_no_closed_form_is_refused(words: list[str], said: str, tmp_path: Path) -> None:
    taken = {word.split("=")[0] for word in words}
    rest = [word for word in (*DISK, *FULL) if word.split("=")[0] not in taken]
    with pytest.raises(UserError, match=said):
        train(tmp_path, *rest, "optim.steps=5", *words)
    assert not list(tmp_path.iterdir())
