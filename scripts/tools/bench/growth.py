"""How the time for a kernel grows: VGG11 with the number of images, an MLP with its width.

    python scripts/tools/bench/growth.py --out outputs/bench    half an hour on two idle cores
    python scripts/tools/bench/growth.py --quick --out /tmp/growth
    python scripts/tools/bench/growth.py --draw outputs/reference/bench    docs/measured/growth.png

Ours and the peers are warm and take turns in one process; medians. A peer that takes more
than `--most` seconds is timed once, and left out of what lets expect as much. `--draw`
only draws a kept table.
"""

from __future__ import annotations

import argparse
import copy
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import pandas as pd
import torch
from torch import Tensor, nn

from ntkexp.models import Model, build
from ntkexp.models.mlp import Mlp
from ntkexp.models.vgg import Vgg
from ntkexp.scripts.tools.bench.peers import PEERS, Peer, absent, in_turns, present
from ntkexp.scripts.tools.bench.timings import write_timings
from ntkexp.tangent import tangent_kernel

IMAGES, EXAMPLES = (10, 20, 40, 80, 160), 20
WIDTHS = (32, 64, 128, 256, 512, 1024)
MOST_SECONDS = 100.0
FIGURE = Path("docs/measured/growth.png")


def vgg11(images: int) -> tuple[nn.Module, Tensor]:
    return _of(Vgg(depth=11), (3, 32, 32), images)


def mlp(width: int) -> tuple[nn.Module, Tensor]:
    return _of(Mlp(depth=6, width=width), (1, 28, 28), EXAMPLES)


def _of(config: Model, shape: tuple[int, ...], images: int) -> tuple[nn.Module, Tensor]:
    draws = torch.Generator().manual_seed(0)
    return build(config, shape, 10, seed=0).eval(), torch.randn(images, *shape, generator=draws)


CASES: dict[str, tuple[Callable[[int], tuple[nn.Module, Tensor]], tuple[int, ...], str]] = {
    "VGG11": (vgg11, IMAGES, "images n"),
    f"MLP, six layers, n = {EXAMPLES}": (mlp, WIDTHS, "width"),
}


def rows_of(
    case: str, sizes: tuple[int, ...], tools: dict[str, Peer], rounds: int, most: float
) -> Iterator[dict[str, Any]]:
    make, _, axis = CASES[case]
    last, before = dict.fromkeys(tools, 0.0), sizes[0]
    for size in sizes:
        model, inputs = make(size)
        works: dict[str, Callable[[], object]] = {}
        alone: dict[str, float] = {}
        for name in [*last]:
            works[name] = partial(tools[name], copy.deepcopy(model), inputs)
            if name != "ours" and last[name] * (size / before) ** 2 > most:
                del last[name], works[name]
                continue
            seconds = _first(works[name], f"{case}: {name}")
            if seconds is None or (name != "ours" and seconds > most):
                del last[name], works[name]
                alone |= {} if seconds is None else {name: seconds}
        before, last = size, in_turns(works, rounds, warm=True)
        for name, seconds in (last | alone).items():
            yield {"case": case, "of": axis, "size": size, "tool": name, "seconds": seconds}


def _first(work: Callable[[], object], who: str) -> float | None:
    """Seconds of a first call, which warms up; None if the tool cannot."""
    began = time.perf_counter()
    try:
        work()
    except (RuntimeError, NotImplementedError, AttributeError, MemoryError) as error:
        print(f"{who} fails ({str(error).splitlines()[0][:80]})", flush=True)
        return None
    return time.perf_counter() - began


def draw(folder: Path, file: Path) -> None:
    """Both axes logarithmic, so that a power is a line; ours in the front."""
    table = pd.read_parquet(folder / "growth.parquet")
    figure, axes = plt.subplots(
        1, table["case"].nunique(), figsize=(8, 3), layout="constrained", squeeze=False
    )
    lines = {}
    for ax, (case, part) in zip(axes[0], table.groupby("case", sort=False), strict=True):
        for place, tool in enumerate(["ours", *PEERS]):
            line = part[part["tool"] == tool]
            if len(line):
                (lines[tool],) = ax.loglog(
                    line["size"], line["seconds"], "o-", color=f"C{place}", markersize=3
                )
        sizes = sorted(part["size"].unique())
        ax.set_xticks(sizes, labels=[str(size) for size in sizes])
        ax.minorticks_off()
        ax.set(title=case, xlabel=part["of"].iloc[0], ylabel="seconds")
    figure.legend([*lines.values()], [*lines], loc="outside right center", frameon=False)
    figure.savefig(file, dpi=150)
    print(file)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--most", type=float, default=MOST_SECONDS, help="seconds for a peer's call"
    )
    parser.add_argument("--case", nargs="+", choices=CASES, default=[*CASES])
    parser.add_argument("--peer", nargs="*", choices=PEERS, default=[*PEERS])
    parser.add_argument("--quick", action="store_true", help="two small sizes each")
    parser.add_argument("--out", type=Path, default=Path("outputs/bench"))
    parser.add_argument("--draw", type=Path, help="a folder with growth.parquet: draw it and stop")
    options = parser.parse_args()
    warnings.filterwarnings("ignore", "There is a performance drop")
    if options.draw is not None:
        draw(options.draw, FIGURE)
        return
    where = f"{torch.get_num_threads()} threads"
    print(f"torch {torch.__version__}, {where}; not installed: {absent() or 'none'}", flush=True)
    tools: dict[str, Peer] = {"ours": lambda model, x: tangent_kernel(model, x).gram}
    tools |= {name: peer for name, peer in present().items() if name in options.peer}
    rows: list[dict[str, Any]] = []
    for case in options.case:
        sizes = CASES[case][1][: 2 if options.quick else None]
        for row in rows_of(case, sizes, tools, options.rounds, options.most):
            rows.append(row)
            print("{case:<28}{of} {size:<6}{tool:<12}{seconds:9.3f} s".format(**row), flush=True)
            write_timings(rows, options.out / "growth.parquet", __doc__, where, by="case")


if __name__ == "__main__":
    main()
