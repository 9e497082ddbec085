"""An update of KFAC, EKFAC and EKFAC-ra, in updates of SGD: the deep auto-encoder, and VGG11.

    OMP_NUM_THREADS=1 python scripts/tools/bench/second_order.py --out outputs/bench     6 minutes
    OMP_NUM_THREADS=1 python scripts/tools/bench/second_order.py --rounds 1              a try

Processor seconds of one thread, medians over rounds in which all take turns: of an update that
computes factors or basis anew (`anew`), and of another; `mean` has one of the former in `period`.
Inputs are random. VGG11 has 16 channels and SUA.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import torch
from torch import Tensor, nn

from ntkexp.models.autoencoder import Autoencoder
from ntkexp.models.base import Model
from ntkexp.models.vgg import Vgg
from ntkexp.objectives.base import Loss
from ntkexp.objectives.cross_entropy import CrossEntropyLoss
from ntkexp.objectives.reconstruction import BernoulliLoss
from ntkexp.optim.kfac import Kfac, KfacUpdate, Second
from ntkexp.optim.observer import Forward, recorded
from ntkexp.optim.sgd import SgdUpdate
from ntkexp.optim.update import WeightUpdate
from ntkexp.scripts.tools.bench.peers import in_turns
from ntkexp.scripts.tools.bench.timings import write_timings

CASES: dict[str, tuple[Model, tuple[int, ...], Loss, int]] = {
    "autoencoder": (Autoencoder(), (1, 28, 28), BernoulliLoss(784), 50),
    "vgg11": (Vgg(depth=11, base=16), (3, 32, 32), CrossEntropyLoss(10), 500),
}
RATE = 1e-6  # so that the numbers stay what they are


def make_update(
    update: WeightUpdate, net: nn.Module, loss: Loss, x: Tensor, y: Tensor, anew: bool = False
) -> None:
    if isinstance(update, KfacUpdate):
        update.updates = 0 if anew else 1
        with update.around_forward(net), recorded(net) as passed:
            outputs = net(x)
        update.on_forward(Forward(0, 0, net, x, outputs, y, loss, passed))
    else:
        outputs = net(x)
    loss.losses(outputs, y).mean().backward()  # type: ignore[no-untyped-call]
    update.compute()
    update.apply(RATE)


def works(case: str, batch: int, constrained: bool) -> dict[str, Callable[[], None]]:
    """An update by name; those that compute anew come first."""
    model, shape, loss, _ = CASES[case]
    torch.manual_seed(0)
    net = model.build(shape, loss.outputs)
    x = torch.rand(batch, *shape)
    y = x.flatten(1) if isinstance(loss, BernoulliLoss) else torch.randint(0, 10, (batch,))
    sgd = SgdUpdate(net.parameters(), momentum=0.9, weight_decay=0.0)
    found = {"sgd": partial(make_update, sgd, net, loss, x, y)}
    for second in Second:
        options = Kfac(second=second, damping=1e-4, norm_constraint=constrained, sua=True)
        update = KfacUpdate(net, options)
        found[f"{second} anew"] = partial(make_update, update, net, loss, x, y, True)
        found[second] = partial(make_update, update, net, loss, x, y)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--batch", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--constrained", action="store_true", help="changes of one length by F")
    parser.add_argument("--out", type=Path, help="folder of the table")
    given = parser.parse_args()
    torch.set_num_threads(1)
    rows = []
    for case, (_, _, _, period) in CASES.items():
        seconds = in_turns(
            works(case, given.batch, given.constrained), given.rounds, time.process_time
        )
        one = seconds["sgd"]
        for second in Second:
            anew, other = seconds[f"{second} anew"], seconds[second]
            mean = (anew + (period - 1) * other) / period
            rows.append(
                {
                    "network": case,
                    "second": str(second),
                    "period": period,
                    "anew": anew,
                    "seconds": other,
                    "mean": mean,
                    "updates_of_sgd": mean / one,
                }
            )
            print(
                f"{case:12} {second:8} anew {anew:.3f} s, else {other:.3f} s, mean {mean:.3f} s, "
                f"{mean / one:.2f} of SGD's {one:.3f} s"
            )
    if given.out:
        words = ", changes of one length" if given.constrained else ""
        where = f"1 thread, processor seconds, batches of {given.batch}{words}"
        write_timings(rows, given.out / "second_order.parquet", __doc__, where)


if __name__ == "__main__":
    main()
