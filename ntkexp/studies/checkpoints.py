"""The tangent kernels of checkpoints that other code made, in the tables of a training run.

    ntkexp probe --model lit:Net --checkpoints 'ck/*.ckpt' --data lit:load --name mine

The kernel may be that of some outputs only, of each example's own label, or the sum over outputs:
with many classes the whole kernel does not fit.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from torch import nn

from ntkexp import probes
from ntkexp.components import imported
from ntkexp.data.dataset import Split
from ntkexp.errors import UserError, first_line
from ntkexp.foreign.examples import checksums, examples
from ntkexp.foreign.weights import Reader, file_of, load_into, steps_of
from ntkexp.foreign.wrapped import bare
from ntkexp.objectives.evaluate import EVALS
from ntkexp.options import Rule, option
from ntkexp.probes.view import Batch, View
from ntkexp.results.table import Table
from ntkexp.studies.base import Study
from ntkexp.studies.looking import LookedAt, on_device

if TYPE_CHECKING:
    from ntkexp.training.place import Place
    from ntkexp.training.work import Kept

WORDS = ("all", "label", "trace")
PICKED = Rule(
    lambda value: value in WORDS or (value.isdigit() and int(value) > 0),
    "all, label, trace or how many outputs",
)


@dataclass
class Checkpoints(Study):
    """`model` is a class or function without arguments, MODULE:NAME; `data` says ntkexp/foreign/
    examples.py. `outputs`: so many, drawn at random, each example's own `label`, or their `trace`.
    """

    tables: ClassVar[tuple[Table, ...]] = (EVALS,)
    how: ClassVar = frozenset({"allow", "trust"})

    model: str = option("", about="MODULE:NAME that gives the network")
    checkpoints: list[str] = option([], about="the files")
    data: str = option("", about="the examples to look at")
    objective: str = option("usual", about="cross_entropy, binary or squared_error")
    steps: list[int] = option([], about="steps of the files, in their order")
    outputs: str = option("all", PICKED, "outputs of the kernel: all, label, trace or how many")
    weights: str = option("", about="key of the weights in a file that holds several")
    allow: list[str] = option([], about="classes that a checkpoint may make")
    trust: bool = option(False, about="read checkpoints that run code")
    seed: int = option(0, about="decides which outputs are drawn")

    def check(self, config: Any = None) -> None:
        for key in ("model", "checkpoints", "data"):
            if not getattr(self, key):
                raise UserError(
                    f"study.{key}: is not given; ntkexp probe --help says what it may be"
                )

    def files(self) -> Mapping[str, str]:
        files = [file_of(Path(name)) for name in self.checkpoints]
        read = {str(file): hashlib.sha256(file.read_bytes()).hexdigest() for file in files}
        return read | checksums(self.data, self.seed)

    def work(self, place: Place) -> Reading:
        network = made(self.model).to(place.device)
        splits = {
            name: on_device(split, place.device)
            for name, split in examples(self.data, self.seed).items()
        }
        return Reading(self, network, splits, place)


class Reading(LookedAt):
    """Goes from checkpoint to checkpoint; its steps are those at which they were kept."""

    def __init__(
        self, study: Checkpoints, network: nn.Module, splits: Mapping[str, Split], place: Place
    ) -> None:
        self.reader = Reader(study.allow, study.trust, study.weights)
        self.paths = steps_of([Path(name) for name in study.checkpoints], study.steps, self.reader)
        self.loaded = min(self.paths)
        # Refused before there is a folder.
        which = load_into(network, self.paths[self.loaded], self.reader)
        if which:
            print(which, file=sys.stderr)
        built = probes.build(place.config.probe)
        count = place.config.probing.examples
        super().__init__(network, splits, built, study.objective, examples=count,
                         strict=place.config.examples_are_chosen, last=max(self.paths),
                         seed=study.seed, picked=study.outputs)  # fmt: skip
        self.step, self.steps = self.loaded, tuple(self.paths)
        remarks = _examples(network, self.batches), *_told(study.outputs, self.outputs)
        self.remarks = (*remarks, *filter(None, [which.partition(";")[0]]))

    def advance(self, to: int) -> str | None:
        self.step = min((step for step in self.paths if step > self.step), default=self.last)
        return None

    @contextmanager
    def looked_at(self, event: str | None, *, scheduled: bool) -> Iterator[Sequence[View]]:
        if self.loaded != self.step:
            load_into(self.network, self.paths[self.step], self.reader)
            self.loaded = self.step
        with super().looked_at(event, scheduled=scheduled) as views:
            yield views

    def state(self) -> dict[str, Any]:
        return {"step": self.step}

    def restore(self, state: dict[str, Any], kept: Kept) -> None:
        self.step = state["step"]


def made(name: str) -> nn.Module:
    """The network of a class or function without arguments."""
    maker = imported(f"--model {name}", name.replace(":", "."))
    try:
        network = maker()
    except TypeError as error:
        raise UserError(
            f"--model {name}: {first_line(error)}; expected a class or function without arguments"
        ) from error
    if not isinstance(network, nn.Module):
        raise UserError(f"--model {name}: gives a {type(network).__name__}; expected a Module")
    return bare(network)


def _examples(network: nn.Module, batches: Mapping[str, Batch]) -> str:
    """The examples of a figure's kernels, in words, and the statistics that batch norms take."""
    normed = any(
        isinstance(module, nn.modules.batchnorm._BatchNorm) for module in network.modules()
    )
    norms = ", batch norms by their running statistics" if normed else ""
    counts = {name: len(batch.targets) for name, batch in batches.items()}
    each = " and ".join(f"{count} {name}" for name, count in counts.items())
    told = f"{each} examples"
    if len({*counts.values()}) == 1:
        told = f"{min(counts.values())} examples of each split"
    return f"kernels of the first {told}{norms}" if counts else "no kernels"


def _told(picked: str, count: int) -> tuple[str, ...]:
    if picked == "all":
        return ()
    if picked.isdigit():
        return (f"kernels of {min(int(picked), count)} of {count} outputs, drawn at random",)
    words = {"label": "each example's own label", "trace": f"the sum over {count} outputs"}
    return (f"kernels of {words[picked]}",)
