"""What a probe is: something that looks at a network at a step and returns rows of tables.

A new probe is one file here, with a dataclass whose name is the file's in capitals; its fields are
its options (file `weight_norm.py`, class `WeightNorm`, chosen by probe=[weight_norm]):

    @dataclass
    class WeightNorm(Probe):
        tables = (Table("weight_norm", "|w|_2 at a step", {"step": "int64", "norm": "float64"}),)

        def measure(self, moment: Moment) -> Rows:
            norm = sum(w.square().sum() for w in moment.model.parameters()).sqrt()
            return {"weight_norm": {"norm": norm.item()}}

The column `step` is filled in by the training loop.

A probe of single iterations says in `watches` which ones. In such an iteration it is called up to
three times: `listening` surrounds the forward of the minibatch, `hear` follows it while its graph
is whole, `watch` follows the backward, when dw_t is known and the network still at w_t.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from ntkexp.components import Component
from ntkexp.config import BatchNorm
from ntkexp.results.table import Table

if TYPE_CHECKING:
    from torch import Tensor, nn

    from ntkexp.data import Dataset
    from ntkexp.tangent import TangentKernel

# table -> column -> values
Rows = Mapping[str, Mapping[str, object]]


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
        seed: int,
        last: bool,
        model: nn.Module,
        dataset: Dataset,
        batches: Mapping[str, Batch],
        batch_norm: BatchNorm = BatchNorm.eval,
    ) -> None:
        self.step, self.seed, self.last = step, seed, last
        self.model, self.dataset, self.batches = model, dataset, batches
        self.batch_norm = batch_norm

    @cached_property
    def kernels(self) -> Mapping[str, TangentKernel]:
        """The tangent kernel of every batch: made once, when first asked for, for all probes."""
        from ntkexp.tangent import tangent_kernel, tangent_kernels

        inputs = {name: batch.inputs for name, batch in self.batches.items()}
        if self.batch_norm is BatchNorm.eval:
            return tangent_kernels(self.model, inputs)
        with _batch_statistics(self.model):
            return {
                name: tangent_kernel(self.model, x, batch_function=True)
                for name, x in inputs.items()
            }


@contextmanager
def _batch_statistics(model: nn.Module) -> Iterator[None]:
    """Batch normalisation in train mode inside; the running statistics are the engine's to keep."""
    from torch import nn

    norms = [module for module in model.modules() if isinstance(module, nn.BatchNorm2d)]
    for norm in norms:
        norm.train()
    try:
        yield
    finally:
        for norm in norms:
            norm.eval()


@dataclass(frozen=True)
class Forward:
    """The forward of the minibatch of one iteration, in train mode, before the backward."""

    step: int
    seed: int
    model: nn.Module
    inputs: Tensor
    outputs: Tensor


@dataclass(frozen=True)
class Update:
    """One iteration of SGD: |dw_t| is known, the network still at w_t.

    The network is in eval mode if a probe looks at it now, having heard nothing before.
    """

    step: int
    seed: int
    model: nn.Module
    step_norm: Tensor
    batches: Mapping[str, Batch]


@dataclass
class Probe(Component):
    """The base of all probes; its dataclass fields are the options of its config.

    Composing a config imports the probes that it chooses, so what is heavy is imported inside
    their methods.
    """

    kind: ClassVar[str] = "probe"
    tables: ClassVar[tuple[Table, ...]] = ()

    def batches(self) -> frozenset[str]:
        """Which batches it looks at: train, test, easy, difficult."""
        return frozenset({"train", "test"})

    def measure(self, moment: Moment) -> Rows:
        """Rows at a step of the probe schedule."""
        return {}

    def watches(self, step: int) -> bool:
        """Whether it wants to see the iteration of this step."""
        return False

    def hears(self) -> bool:
        """Whether a watched iteration's own forward is what it looks at."""
        return False

    def listening(self, model: nn.Module) -> AbstractContextManager[object]:
        """Surrounds the forward of a watched iteration."""
        return nullcontext()

    def hear(self, forward: Forward) -> None:
        """Looks at the forward of a watched iteration. The graph must stay whole."""

    def watch(self, update: Update) -> Rows:
        """One row of each table; values may be scalars on the device, fetched later with others."""
        return {}

    def state(self) -> dict[str, Any]:
        """What it must remember over a restart: tensors, numbers and strings."""
        return {}

    def restore(self, state: dict[str, Any]) -> None:
        """Take back what `state` gave."""
