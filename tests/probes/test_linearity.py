"""The three measures of linearity: 1 at the start, and what a loop over units and pairs says."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from torch import nn

from ntkexp.errors import UserError
from ntkexp.probes.linearity import alignment, compared, state_of
from tests.tiny_runs import TINY, goes_on, train

pytestmark = pytest.mark.usefixtures("made_images")

WORDS = (*TINY, "probe=[linearity]", "model.init=default", "optim.lr=0.05", "optim.steps=30")
NETS = {
    "mlp": ("data=mnist", "model=mlp", "model.depth=2", "model.width=9"),
    "vgg": ("data=cifar10", "model=vgg11", "model.base=2", "optim.steps=4"),
    "resnet": (
        *("data=cifar10", "model=resnet18", "model.base=2", "model.norm=none"),
        *("optim.steps=4", "model.shortcut_bias=false"),
    ),
}
MEASURES = ["relus", "kernel", "representation"]


def measured(tmp_path: Path, *words: str) -> pd.DataFrame:
    return pd.read_parquet(train(tmp_path, *WORDS, *words) / "linearity.parquet")


@pytest.mark.parametrize("net", NETS)
def test_they_are_1_at_the_start_and_from_0_to_1_later(net: str, tmp_path: Path) -> None:
    found = measured(tmp_path, *NETS[net])
    first = found["step"] == 0
    np.testing.assert_allclose(found[first][MEASURES], 1, rtol=1e-6)
    later = found[~first][MEASURES].to_numpy()
    assert ((later >= 0) & (later < 1)).all()


def test_the_lazy_regime_stays_near_1_and_the_plain_one_falls(tmp_path: Path) -> None:
    plain, lazy = (
        measured(tmp_path / str(alpha), *NETS["mlp"], *words)
        for alpha, words in ((1, ()), (100, ("transform=alpha_scale", "transform.alpha=1000")))
    )
    assert (lazy[MEASURES].iloc[-1] > 0.97).all()
    assert (1 - plain[MEASURES].iloc[-1] > 5 * (1 - lazy[MEASURES].iloc[-1])).all()


def test_they_are_what_a_loop_says() -> None:
    stream = torch.Generator().manual_seed(0)
    x = torch.randn(6, 3, generator=stream)
    net = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 5), nn.ReLU(), nn.Linear(5, 2))
    states, inner, last = [], [], []
    for _ in range(2):
        states.append(state_of(net, x))
        one = net[1](net[0](x))
        two = net[3](net[2](one)).detach()
        inner.append([bool(u > 0) for layer in (one, two) for u in layer.flatten()])
        last.append([[float(a @ b) for b in two] for a in two])
        with torch.no_grad():
            for w in net.parameters():
                w += 0.5 * torch.randn(w.shape, generator=stream)
    found = compared(states[1] | {"kernel": torch.eye(3)}, states[0] | {"kernel": torch.ones(3, 3)})
    same = [a is b for a, b in zip(*inner, strict=True)]
    assert found["relus"] == pytest.approx(sum(same) / len(same))
    assert 0 < found["relus"] < 1
    K, L = np.array(last)
    expected = np.trace(K @ L) / np.sqrt(np.trace(K @ K) * np.trace(L @ L))
    assert found["representation"] == pytest.approx(expected, rel=1e-5)
    assert found["kernel"] == pytest.approx(1 / np.sqrt(3))


def test_alignment_is_from_0_to_1_and_knows_no_scale() -> None:
    stream = torch.Generator().manual_seed(1)
    phi, psi = torch.randn(2, 5, 9, generator=stream, dtype=torch.float64)
    K, L = phi @ phi.T, psi @ psi.T
    assert 0 < alignment(K, L) < 1
    assert alignment(K, 7 * K) == pytest.approx(1)
    assert np.isnan(alignment(K, 0 * K))


def test_a_network_without_such_modules_has_no_numbers() -> None:
    found = state_of(
        nn.Sequential(nn.Conv2d(1, 1, 1), nn.Tanh(), nn.Flatten()), torch.ones(2, 1, 1, 1)
    )
    told = compared(found | {"kernel": torch.eye(2)}, found | {"kernel": torch.eye(2)})
    assert np.isnan(told["relus"]) and np.isnan(told["representation"])
    assert told["kernel"] == pytest.approx(1)


def test_it_goes_on_from_where_it_was_cut_short(tmp_path: Path) -> None:
    goes_on(tmp_path, *WORDS, *NETS["mlp"], 'members={seed: "range(2)"}', stop_at=11)


def test_there_is_nothing_to_see_of_a_linearised_network(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="linearity: looks at activations"):
        train(tmp_path, *WORDS, *NETS["mlp"], "transform=linearise")
