"""Our matrices beside those of nngeometry and curvlinops, where they are installed."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import pytest
import torch
from torch import Tensor, nn

from ntkexp.curvature import fisher
from tests.curvature.truth import CLASSES, images

close = torch.testing.assert_close
KINDS = {
    "dense": "PMatDense",
    "low_rank": "PMatLowRank",
    "block_diagonal": "PMatBlockDiag",
    "diagonal": "PMatDiag",
    "quasi_diagonal": "PMatQuasiDiag",
    "kfac": "PMatKFAC",
    "ekfac": "PMatEKFAC",
}


def network() -> tuple[nn.Module, Tensor, Tensor]:
    torch.manual_seed(0)
    layers = [nn.Conv2d(2, 3, 3, padding=1), nn.Tanh(), nn.Flatten(), nn.Linear(48, CLASSES)]
    return nn.Sequential(*layers).double(), images(6), torch.randint(0, CLASSES, (6,))


@pytest.fixture
def _double() -> Iterator[None]:
    """nngeometry makes tensors of the default type."""
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


@pytest.mark.usefixtures("_double")
@pytest.mark.parametrize("kind", KINDS)
def test_products_are_those_of_nngeometry(kind: str) -> None:
    pytest.importorskip("nngeometry", exc_type=ImportError)
    from nngeometry.metrics import FIM
    from nngeometry.object import pspace
    from torch.utils.data import DataLoader, TensorDataset

    net, x, y = network()
    loader = DataLoader(TensorDataset(x, y), batch_size=6)
    theirs = FIM(net, loader, getattr(pspace, KINDS[kind]))
    if kind == "ekfac":
        theirs.update_diag(loader)
    ours = fisher(net, loader, kind)
    close(ours.to_dense(), theirs.to_torch())
    assert ours.trace() == pytest.approx(float(theirs.trace()))


@pytest.mark.parametrize(("of", "theirs"), [("exact", "type-2"), ("empirical", "empirical")])
@pytest.mark.parametrize(
    ("kind", "operator"), [("kfac", "KFACLinearOperator"), ("ekfac", "EKFACLinearOperator")]
)
def test_factors_are_those_of_curvlinops(kind: str, operator: str, of: str, theirs: str) -> None:
    curvlinops = pytest.importorskip("curvlinops", exc_type=ImportError)
    net, x, y = network()
    parameters = [*net.parameters()]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        matrix = getattr(curvlinops, operator)(
            net,
            nn.CrossEntropyLoss(),
            parameters,
            [(x, y)],
            fisher_type=theirs,
            separate_weight_and_bias=False,
        )
        dense = matrix @ torch.eye(sum(p.numel() for p in parameters), dtype=torch.float64)
    close(fisher(net, [(x, y)], kind, of=of).to_dense(), dense)
