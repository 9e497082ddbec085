r"""The gradients g whose mean of g g^T a matrix is, example by example, batch after batch.

.. math:: F = \frac{1}{n} \sum_i E_{y \sim p(y|x_i)}[g g^T], \quad g = \nabla_w \log p(y|x_i)

``exact``      the expectation over all classes
``mc``         over a few labels drawn for each example
``empirical``  the label of the data in its place: second moment of the gradients of the losses
``covariance`` the same, less the mean gradient's product with itself (TONGA)
``l2``         J^T J / n of the outputs themselves, which is the exact one of a Gaussian

(George's thesis, 2.4 and 3.2; Le Roux, Manzagol, Bengio, "Topmoumoute online natural gradient
algorithm", 2007; Kunstner, Balles, Hennig, "Limitations of the empirical Fisher approximation",
2019.)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Literal, TypeAlias

import torch
from torch import Tensor, nn
from torch.nn import functional

from ntkexp.errors import UserError
from ntkexp.tangent.batch import Batch, Inputs, Outputs
from ntkexp.tangent.features import Features
from ntkexp.tangent.tangent_features import TangentFeatures

Of = Literal["exact", "mc", "empirical", "l2", "covariance"]
OF = ("exact", "mc", "empirical", "l2", "covariance")
Batches: TypeAlias = Iterable[tuple[Inputs, Tensor]]
Loss: TypeAlias = Callable[[Tensor, Tensor], Tensor]


def cross_entropy(outputs: Tensor, targets: Tensor) -> Tensor:
    """(n,): the loss of each example."""
    return functional.cross_entropy(outputs, targets, reduction="none")


def roots(logits: Tensor) -> Tensor:
    """(n, c - 1): functions whose gradients have the exact Fisher matrix as their second moment.

    By the logits that matrix is diag p - p p^T = D (I - s s^T) D, with s the roots of p and D their
    diagonal. The projection is Q Q^T, Q the reflection that takes s to -e_0, without its first
    column: one output less than classes.
    """
    s = logits.detach().softmax(1).sqrt()
    y = s * logits
    along = ((s * y).sum(1) + y[:, 0]) / (1 + s[:, 0])
    return y[:, 1:] - s[:, 1:] * along.unsqueeze(1)


class Gradients:
    """The gradients of a model at some batches, pairs of inputs and targets, as often as asked."""

    def __init__(
        self,
        model: nn.Module,
        batches: Batches,
        of: Of = "exact",
        *,
        samples: int = 5,
        loss: Loss = cross_entropy,
        parameters: Sequence[str] | None = None,
        seed: int = 0,
    ) -> None:
        if of not in OF:
            raise UserError(f"of={of!r}: expected one of {', '.join(OF)}")
        self.model, self.of, self.samples = model, of, samples
        self.loss, self.parameters, self.seed = loss, parameters, seed
        # Of an iterator a second pass would find nothing.
        self._batches = [*batches] if isinstance(batches, Iterator) else batches
        self._targets, self._draws = torch.empty(0), torch.empty(0)
        choices: dict[str, Outputs] = {"l2": None, "exact": roots, "mc": self._of_drawn_labels}
        self.outputs = choices.get(of, self._of_labels)
        self._features = TangentFeatures(model, outputs=self.outputs, parameters=parameters)
        self._only: Features | None = None

    def squared_norm(self, inputs: Inputs) -> Tensor:
        """sum_ic |g_ic|^2, for inputs that `batches` gave last."""
        return self._features.trace(inputs)

    def batches(self) -> Iterator[Inputs]:
        """The inputs of the batches; `outputs` is about the one that came last."""
        generator = torch.Generator().manual_seed(self.seed)
        for inputs, targets in self._batches:
            self._targets = targets
            if self.of == "mc":
                n = len(Batch.of(inputs))
                self._draws = torch.rand(n, self.samples, generator=generator, dtype=torch.float64)
            yield inputs

    def __iter__(self) -> Iterator[Features]:
        if self._only is not None:
            yield self._only
            return
        found = 0
        for found, inputs in enumerate(self.batches(), start=1):
            features = self._features.factors(inputs)
            self._only = features if found == 1 else None
            yield features
        if not found:
            raise UserError("no batch was given")

    def _of_labels(self, outputs: Tensor, indices: Tensor) -> Tensor:
        return self.loss(outputs, self._targets.to(indices.device)[indices])

    def _of_drawn_labels(self, logits: Tensor, indices: Tensor) -> Tensor:
        """The log-probabilities of drawn labels, (n, samples)."""
        log_shares = logits.log_softmax(1)
        ends = log_shares.detach().double().exp().cumsum(1)
        draws = self._draws.to(indices.device)[indices] * ends[:, -1:]
        labels = torch.searchsorted(ends, draws, right=True).clamp_(max=logits.shape[1] - 1)
        return log_shares.gather(1, labels) / math.sqrt(self.samples)
