"""Fisher matrices of a VGG11: ours, nngeometry's and curvlinops', in units of forward and backward.

    OMP_NUM_THREADS=1 python scripts/tools/bench/curvature.py --out outputs/bench     15 minutes
    OMP_NUM_THREADS=1 python scripts/tools/bench/curvature.py --rounds 1 --base 8     a try

50 images of 3 x 32 x 32, 10 classes. Processor seconds of one thread, medians over rounds in which
all take turns, after a first that does not count; a unit is one forward and backward of the mean
loss. Eigendecompositions are apart: in their places stand random matrices of their sizes.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from unittest.mock import patch

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader, TensorDataset

from ntkexp.curvature import fisher
from ntkexp.curvature.kron import Moment
from ntkexp.models.vgg import Vgg
from ntkexp.scripts.tools.bench.peers import in_turns
from ntkexp.scripts.tools.bench.timings import write_timings

EXAMPLES = 50
ROWS = {
    "kfac exact": ("kfac", "exact"),
    "kfac empirical": ("kfac", "empirical"),
    "diagonal exact": ("diagonal", "exact"),
    "ekfac exact": ("ekfac", "exact"),
    "ekfac empirical": ("ekfac", "empirical"),
}
Work = Callable[[], object]


@cache
def random_basis(*shape: int) -> tuple[Tensor, Tensor]:
    return torch.rand(shape[:-1]), torch.randn(shape) / shape[-1] ** 0.5


def eigh(matrix: Tensor) -> Any:
    return torch.return_types.linalg_eigh(random_basis(*matrix.shape))


def eigen(moment: Moment) -> tuple[Tensor, Tensor, int]:
    groups, size, rank = moment.shape
    return *random_basis(groups, size, size), rank


@contextmanager
def without_eigendecompositions() -> Iterator[None]:
    with patch.object(Moment, "eigen", eigen), patch("torch.linalg.eigh", eigh):
        if find_spec("curvlinops") is None:
            yield
            return
        with patch.object(import_module("curvlinops.ekfac"), "eigh", eigh):
            yield


def unit(net: nn.Module, x: Tensor, y: Tensor) -> None:
    cross_entropy(net(x), y).backward()


def of_nngeometry(net: nn.Module, x: Tensor, y: Tensor, kind: str) -> None:
    from nngeometry.metrics import FIM
    from nngeometry.object import pspace

    loader = DataLoader(TensorDataset(x, y), batch_size=len(x))
    names = {"kfac": "PMatKFAC", "diagonal": "PMatDiag", "ekfac": "PMatEKFAC"}
    matrix = FIM(net, loader, getattr(pspace, names[kind]))
    if kind == "ekfac":
        matrix.update_diag(loader)


def of_curvlinops(net: nn.Module, x: Tensor, y: Tensor, kind: str, of: str) -> None:
    import curvlinops

    operator: Any = getattr(curvlinops, f"{kind.upper()}LinearOperator")(
        net,
        nn.CrossEntropyLoss(),
        [*net.parameters()],
        [(x, y)],
        check_deterministic=False,
        fisher_type={"exact": "type-2", "empirical": "empirical"}[of],
        separate_weight_and_bias=False,
    )
    operator.trace  # noqa: B018 (factors are computed when they are first needed)


def works(base: int) -> dict[tuple[str, str], Work]:
    """By row and tool; the unit has neither."""
    torch.manual_seed(0)
    net = Vgg(depth=11, base=base).build((3, 32, 32), 10)
    x, y = torch.randn(EXAMPLES, 3, 32, 32), torch.randint(0, 10, (EXAMPLES,))
    found: dict[tuple[str, str], Work] = {("unit", ""): partial(unit, net, x, y)}
    for row, (kind, of) in ROWS.items():
        found[row, "ours"] = partial(fisher, net, [(x, y)], kind, of=of)
        if of == "exact" and find_spec("nngeometry") is not None:
            found[row, "nngeometry"] = partial(of_nngeometry, net, x, y, kind)
        if kind != "diagonal" and find_spec("curvlinops") is not None:
            found[row, "curvlinops"] = partial(of_curvlinops, net, x, y, kind, of)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--base", type=int, default=64, help="channels of the first layer")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--out", type=Path, help="folder of the table")
    given = parser.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    all_of_them = works(given.base)
    with without_eigendecompositions():
        named = {f"{row}|{tool}": work for (row, tool), work in all_of_them.items()}
        seconds = in_turns(named, given.rounds, time.process_time)
    one = seconds.pop("unit|")
    rows = []
    for name, taken in seconds.items():
        row, tool = name.split("|")
        rows.append({"matrix": row, "tool": tool, "seconds": taken, "units": taken / one})
        print(f"{row:16} {tool:11} {taken:8.2f} s {taken / one:6.2f} units")
    print(f"unit {one:.3f} s")
    if given.out:
        where = f"1 thread, processor seconds, VGG11 of {given.base} channels, a unit {one:.3f} s"
        write_timings(rows, given.out / "curvature.parquet", __doc__, where)


if __name__ == "__main__":
    main()
