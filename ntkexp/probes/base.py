"""What a probe is: something that looks at a network at a step and returns rows of tables.

A new probe is one file here, with a dataclass whose name is the file's in capitals (file
`weight_norm.py`, class `WeightNorm`), and one file in configs/probe/ with its options:

    @dataclass
    class WeightNorm(Probe):
        tables = (Table("weight_norm", "|w|_2 at a step", {"step": "int64", "norm": "float64"}),)

        def measure(self, moment: Moment) -> Rows:
            norm = sum(w.square().sum() for w in moment.model.parameters()).sqrt()
            return {"weight_norm": {"norm": norm.item()}}

The column `step` is filled in by the training loop.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from torch import Tensor, nn

from ntkexp.config import TrainConfig
from ntkexp.data import Dataset
from ntkexp.errors import UserError
from ntkexp.results.table import Table
from ntkexp.tangent import TangentKernel, tangent_kernels
from ntkexp.theory.centring import CENTRINGS

# table -> column -> values
Rows = Mapping[str, Mapping[str, object]]


def check_centring(key: str, kind: str) -> None:
    if kind not in CENTRINGS:
        raise UserError(f"{key}={kind}: expected one of {', '.join(CENTRINGS)}")


@dataclass(frozen=True)
class Batch:
    """Fixed examples that probes look at."""

    inputs: Tensor
    targets: Tensor


class Moment:
    """A network at one step of its training, in eval mode, and what probes may ask of it."""

    def __init__(
        self,
        *,
        step: int,
        last: bool,
        model: nn.Module,
        dataset: Dataset,
        batches: Mapping[str, Batch],
    ) -> None:
        self.step, self.last = step, last
        self.model, self.dataset, self.batches = model, dataset, batches

    @cached_property
    def kernels(self) -> Mapping[str, TangentKernel]:
        """The tangent kernel of every batch: made once, when first asked for, for all probes."""
        return tangent_kernels(
            self.model, {name: batch.inputs for name, batch in self.batches.items()}
        )


@dataclass(frozen=True)
class Update:
    """One iteration of SGD, seen while the network is still at w_t and dw_t is known."""

    step: int
    model: nn.Module
    step_norm: Tensor
    batches: Mapping[str, Batch]


@dataclass
class Probe:
    """The base of all probes; its dataclass fields are the options of its config."""

    tables: ClassVar[tuple[Table, ...]] = ()

    def check(self, config: TrainConfig) -> None:
        """Refuse, before anything is loaded, a config in which this probe has no meaning."""

    def batches(self) -> frozenset[str]:
        """Which batches it looks at: train, test, easy, difficult."""
        return frozenset({"train", "test"})

    def measure(self, moment: Moment) -> Rows:
        """Rows at a step of the probe schedule."""
        return {}

    def watches(self, step: int) -> bool:
        """Whether it wants to see the update of this step."""
        return False

    def watch(self, update: Update) -> Rows:
        """Rows at an update."""
        return {}

    def state(self) -> dict[str, Any]:
        """What it must remember over a restart: tensors, numbers and strings."""
        return {}

    def restore(self, state: dict[str, Any]) -> None:
        """Take back what `state` gave."""
