"""How the time for a kernel grows: VGG11 with the number of images, an MLP with its width.

    python scripts/bench_growth.py --out outputs/bench      half an hour on two idle cores
    python scripts/bench_growth.py --quick --out /tmp/growth
    python scripts/bench_growth.py --draw outputs/reference/bench      docs/tangent_growth.png

Ours and the peers are warm and take turns in one process; medians. A peer is left out from the size
on at which its last time lets expect more than `--most` seconds. `--draw` only draws a kept table.
"""

from __future__ import annotations

import argparse
import copy
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import torch
from peers import absent, in_turns, present
from torch import Tensor, nn

from ntkexp.config import MLPConfig, ModelConfig, VGGConfig
from ntkexp.models import build
from ntkexp.results.benchmarks import write_timings
from ntkexp.tangent import tangent_kernel

IMAGES, EXAMPLES = (10, 20, 40, 80, 160), 20
WIDTHS = (32, 64, 128, 256, 512, 1024)
MOST_SECONDS = 120.0
FIGURE = Path("docs/tangent_growth.png")


def vgg11(images: int) -> tuple[nn.Module, Tensor]:
    return _of(VGGConfig(depth=11), (3, 32, 32), images)


def mlp(width: int) -> tuple[nn.Module, Tensor]:
    return _of(MLPConfig(depth=6, width=width), (1, 28, 28), EXAMPLES)


def _of(config: ModelConfig, shape: tuple[int, ...], images: int) -> tuple[nn.Module, Tensor]:
    draws = torch.Generator().manual_seed(0)
    return build(config, shape, 10, seed=0).eval(), torch.randn(images, *shape, generator=draws)


CASES: dict[str, tuple[Callable[[int], tuple[nn.Module, Tensor]], tuple[int, ...], str]] = {
    "VGG11": (vgg11, IMAGES, "images n"),
    f"MLP, six layers, n = {EXAMPLES}": (mlp, WIDTHS, "width"),
}


def rows_of(case: str, sizes: tuple[int, ...], rounds: int, most: float) -> list[dict[str, Any]]:
    make, _, of = CASES[case]
    rows: list[dict[str, Any]] = []
    tools = {"ours": lambda model, x: tangent_kernel(model, x).gram, **present()}
    last = dict.fromkeys(tools, 0.0)
    for size, before in zip(sizes, (sizes[0], *sizes), strict=False):
        model, inputs = make(size)
        expected = {name: seconds * (size / before) ** 2 for name, seconds in last.items()}
        works: dict[str, Callable[[], object]] = {}
        for name, tool in tools.items():
            if name not in last or (name != "ours" and expected[name] > most):
                last.pop(name, None)
                continue
            work = partial(tool, copy.deepcopy(model), inputs)
            try:
                if name != "ours":
                    work()
            except (RuntimeError, NotImplementedError, AttributeError, MemoryError) as error:
                print(f"{case}: {name} fails ({str(error).partition(chr(10))[0][:80]})", flush=True)
                last.pop(name)
                continue
            works[name] = work
        last = in_turns(works, rounds)
        for name, seconds in last.items():
            rows.append({"case": case, "of": of, "size": size, "tool": name, "seconds": seconds})
            print(f"{case:<28}{of} {size:<6}{name:<12}{seconds:9.3f} s", flush=True)
    return rows


def draw(folder: Path, file: Path) -> None:
    """Both axes logarithmic, so that a power is a line; ours in the front."""
    from drawing import new_figure

    table = pd.read_parquet(folder / "growth.parquet")
    figure, axes = new_figure(len(table["case"].unique()))
    for ax, (case, part) in zip(axes, table.groupby("case", sort=False), strict=True):
        for tool, line in part.groupby("tool", sort=False):
            ax.loglog(line["size"], line["seconds"], marker="o", markersize=3, label=tool)
        ax.set(title=case, xlabel=part["of"].iloc[0], ylabel="seconds")
        ax.legend(frameon=False)
    figure.savefig(file, dpi=150)
    print(file)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--most", type=float, default=MOST_SECONDS, help="seconds for a peer's call"
    )
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
    rows: list[dict[str, Any]] = []
    for case, (_, sizes, _) in CASES.items():
        rows += rows_of(case, sizes[:2] if options.quick else sizes, options.rounds, options.most)
        write_timings(rows, options.out / "growth.parquet", __doc__, where)


if __name__ == "__main__":
    main()
