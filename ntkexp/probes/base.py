"""A probe looks at a work at a step and returns rows of tables.

A new probe is one file here, with a dataclass whose name is the file's in capitals; its fields are
its options (file `weight_norm.py`, class `WeightNorm`, chosen by probe=[weight_norm]):

    @dataclass
    class WeightNorm(Probe):
        tables = (Table("weight_norm", "|w|_2", {"step": STEP, "norm": float64("|w|_2")}),)
        needs = frozenset({"network"})

        def measure(self, view: View) -> Rows:
            norm = sum(w.square().sum() for w in view.network().parameters()).sqrt()
            return {"weight_norm": {"norm": norm.item()}}

The column `step` is filled in by the loop. What is no table is an array: one that the probe
declares among its `arrays` and returns by its name is kept as NAME.STEP.npy.

A probe of single updates says in `watches` which ones. In such an update it is called up to three
times: `around_forward` surrounds the forward of the minibatch, `on_forward` follows it while its
graph is whole, `before_update` follows the backward, when the coming change of the weights is known
and the network still as it was.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

from ntkexp.components import Component
from ntkexp.optim.observer import Forward
from ntkexp.probes.view import Batch, View
from ntkexp.results.table import Array, Rows, Table

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from torch import Tensor, nn

# Table -> its columns, array -> its values.
Measured: TypeAlias = "Mapping[str, Mapping[str, object] | NDArray[np.generic]]"


@dataclass(frozen=True)
class Update:
    """One update of the weights: |dw_t| is known, the network still at w_t.

    The kernel of what is trained is `kernel_factor` times that of `model`.
    The network is in eval mode if a probe looks at it now, having seen no forward before.
    """

    step: int
    seed: int
    model: nn.Module
    step_norm: Tensor
    batches: Mapping[str, Batch]
    kernel_factor: float = 1.0


@dataclass
class Probe(Component):
    """The base of all probes; its dataclass fields are the options of its config.

    `looks_at` names the batches that it looks at: train, test, or subsets of the training examples.
    `needs` names what it asks of a work and its views: outputs, network, kernel, labels, examples;
    layers, where the network must be its layers and nothing else; activations, where they must be
    part of it; updates, to see them; optimiser, what it remembers; or training, where `check`
    reads the data, the model or the optimiser of the config, which a study has not.
    """

    kind: ClassVar[str] = "probe"
    tables: ClassVar[tuple[Table, ...]] = ()
    arrays: ClassVar[tuple[Array, ...]] = ()
    needs: ClassVar[frozenset[str]] = frozenset({"network"})
    looks_at: ClassVar[frozenset[str]] = frozenset({"train", "test"})

    def batches(self) -> frozenset[str]:
        """`looks_at`, unless options decide."""
        return self.looks_at

    def measure(self, view: View) -> Measured:
        """Rows and arrays at a step of the probe schedule."""
        return {}

    def watches(self, step: int) -> bool:
        """True if it wants to see the update of this step."""
        return False

    def sees_forward(self) -> bool:
        """True if it looks at the forward of the update that it watches."""
        return False

    def around_forward(self, model: nn.Module) -> AbstractContextManager[object]:
        """Surrounds the forward of a watched update."""
        return nullcontext()

    def on_forward(self, forward: Forward) -> None:
        """Looks at the forward of a watched update. The graph must stay whole."""

    def before_update(self, update: Update) -> Rows:
        """One row of each table; values may be scalars on the device, fetched later with others."""
        return {}

    def state(self) -> dict[str, Any]:
        """Tensors, numbers and strings that the probe must remember over a restart."""
        return {}

    def restore(self, state: dict[str, Any]) -> None:
        """Take back what `state` gave."""


def columns(table: Table, rows: Iterable[tuple[object, ...]]) -> dict[str, list[object]]:
    """Rows in the order of the table's columns, without the step, as columns by name."""
    names = [name for name in table.columns if name != "step"]
    return dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
