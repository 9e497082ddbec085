"""The view of a probe: a piece of work as it is at one step."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ntkexp.errors import UserError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from torch import Tensor, nn

    from ntkexp.data import Dataset, Split
    from ntkexp.objectives.base import Loss
    from ntkexp.tangent import TangentFeatures, TangentKernel


@dataclass(frozen=True)
class Batch:
    """Fixed examples that probes look at.

    `clean`: the targets as they were before some were drawn at random, where some were.
    """

    inputs: Tensor
    targets: Tensor
    clean: Tensor | None = None


@dataclass
class View:
    """A work at one step. What it does not offer is refused in one line.

    `last` is true for the look at which the work is over; `event` names what led to a look that
    is not on the schedule. Where many networks train in one run, `member` is the number of this
    one, and `columns` are what tells its rows apart. The kernel of what is trained is
    `kernel_factor` times that of the network "layers".
    """

    step: int
    seed: int
    last: bool
    batches: Mapping[str, Batch] = field(default_factory=dict)
    event: str | None = None
    columns: Mapping[str, object] = field(default_factory=dict)
    member: int = 0
    kernel_factor: float = 1.0

    @property
    def objective(self) -> Loss:
        """The loss that training lowers, and its rule for right answers."""
        raise UserError("no objective to look at")

    def examples(self, split: str) -> Split:
        """All examples of a split, train or test."""
        raise UserError("no examples to look at")

    def network(self, role: str = "model") -> nn.Module:
        """The network of that role, in eval mode."""
        raise UserError(f"no network {role!r} to look at")

    def outputs(self, batch: str) -> Tensor:
        """(n, c): the outputs on a batch."""
        raise UserError("no outputs to look at")

    def kernel(self, batch: str) -> TangentKernel:
        """The tangent kernel of a batch."""
        raise UserError("no tangent kernel to look at")

    def kernel_on(self, inputs: Tensor, outputs: list[int] | None = None) -> TangentKernel:
        """The tangent kernel of any inputs, of all outputs or of some, not split by layer."""
        raise UserError("no tangent kernel to look at")

    def optimiser(self) -> Mapping[str, Any]:
        """The optimiser's memory (WeightUpdate.state): for Adam `mean` and `square`, a tensor for
        each trainable parameter, in their order."""
        raise UserError("no optimiser to look at")

    def labels(self, batch: str) -> NDArray[np.float64]:
        """(n, c): the labels of a batch as numbers, for alignment with a kernel."""
        raise UserError("no labels to look at")

    def clean_labels(self, batch: str) -> NDArray[np.float64] | None:
        """(n, c): the labels of a batch before some were drawn at random; None where none was."""
        return None


class NetworkView(View):
    """A network on a data set, in eval mode.

    Its kernel is `kernel_factor` times that of `kernel_of`, where that is another module;
    `batch_statistics` takes kernels with batch normalisation in train mode instead. `kernels_seen`
    are the kernels of earlier looks, of a network whose kernel never changes; new ones are added.
    """

    def __init__(
        self,
        model: nn.Module,
        dataset: Dataset,
        objective: Loss,
        *,
        kernel_of: nn.Module | None = None,
        kernel_factor: float = 1.0,
        batch_statistics: bool = False,
        kernels_seen: dict[str, TangentKernel] | None = None,
        optimiser: Callable[[], Mapping[str, Any]] | None = None,
        **facts: Any,
    ) -> None:
        super().__init__(kernel_factor=kernel_factor, **facts)
        self._model, self._dataset, self._objective = model, dataset, objective
        self._kernel_of = kernel_of or model
        self._batch_statistics, self._kernels_seen = batch_statistics, kernels_seen
        self._optimiser = optimiser

    @property
    def objective(self) -> Loss:
        return self._objective

    def examples(self, split: str) -> Split:
        return {"train": self._dataset.train, "test": self._dataset.test}[split]

    def network(self, role: str = "model") -> nn.Module:
        """`model` is what is trained; `layers` the network whose layers it is made of."""
        roles = {"model": self._model, "layers": self._kernel_of}
        return roles[role] if role in roles else super().network(role)

    def outputs(self, batch: str) -> Tensor:
        import torch

        with torch.no_grad():
            outputs: Tensor = self._model(self.batches[batch].inputs)
        return outputs

    def kernel(self, batch: str) -> TangentKernel:
        return self._kernels[batch]

    def kernel_on(self, inputs: Tensor, outputs: list[int] | None = None) -> TangentKernel:
        from ntkexp.tangent import TangentFeatures

        if self._batch_statistics:
            raise UserError(
                "probing.batch_norm=train: only kernels of the probing examples are by the batch, "
                "and a probe asks for one of other inputs; expected probing.batch_norm=eval"
            )
        features = (
            self._features if outputs is None else TangentFeatures(self._kernel_of, outputs=outputs)
        )
        kernel = features.kernel(inputs, layers=False)
        return kernel if self.kernel_factor == 1.0 else kernel.times(self.kernel_factor)

    def optimiser(self) -> Mapping[str, Any]:
        return super().optimiser() if self._optimiser is None else self._optimiser()

    def labels(self, batch: str) -> NDArray[np.float64]:
        return self._as_numbers(self.batches[batch].targets)

    def clean_labels(self, batch: str) -> NDArray[np.float64] | None:
        clean = self.batches[batch].clean
        return None if clean is None else self._as_numbers(clean)

    def _as_numbers(self, targets: Tensor) -> NDArray[np.float64]:
        matrix: NDArray[np.float64] = self._objective.label_matrix(targets).double().cpu().numpy()
        return matrix

    @cached_property
    def _features(self) -> TangentFeatures:
        """The tangent features, made once a look: they check the network once."""
        from ntkexp.tangent import TangentFeatures

        return TangentFeatures(self._kernel_of)

    @cached_property
    def _kernels(self) -> Mapping[str, TangentKernel]:
        """The tangent kernel of every batch: made once, when first asked for, for all probes."""
        if self._kernels_seen is None:
            return self._new_kernels()
        if not self._kernels_seen:
            self._kernels_seen.update(self._new_kernels())
        return self._kernels_seen

    def _new_kernels(self) -> Mapping[str, TangentKernel]:
        kernels = self._kernels_of_module()
        if self.kernel_factor == 1.0:
            return kernels
        return {name: kernel.times(self.kernel_factor) for name, kernel in kernels.items()}

    def _kernels_of_module(self) -> Mapping[str, TangentKernel]:
        from ntkexp.tangent import tangent_kernel

        inputs = {name: batch.inputs for name, batch in self.batches.items()}
        if not self._batch_statistics:
            return self._features.kernels(inputs)
        with _batch_statistics(self._kernel_of):
            return {
                name: tangent_kernel(self._kernel_of, x, batch_function=True)
                for name, x in inputs.items()
            }


@contextmanager
def _batch_statistics(model: nn.Module) -> Iterator[None]:
    """Batch normalisation in train mode inside; the running statistics are the engine's to keep."""
    from torch.nn.modules.batchnorm import _BatchNorm

    norms = [module for module in model.modules() if isinstance(module, _BatchNorm)]
    for norm in norms:
        norm.train()
    try:
        yield
    finally:
        for norm in norms:
            norm.eval()


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """Eval mode inside, every module's own mode again afterwards."""
    # Only what differs is set: model.eval() takes a tenth of a small network's step.
    modes = [(module, module.training) for module in model.modules()]
    for module, mode in modes:
        if mode:
            module.training = False
    try:
        yield
    finally:
        for module, mode in modes:
            if module.training is not mode:
                module.training = mode
