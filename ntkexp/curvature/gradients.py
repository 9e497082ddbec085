r"""The gradients g whose mean of g g^T a matrix is, example by example, batch after batch.

.. math:: F = \frac{1}{n} \sum_i E_{y \sim p(y|x_i)}[g g^T], \quad g = \nabla_w \log p(y|x_i)

``exact``      the expectation over all classes
``mc``         over a few labels drawn for each example
``empirical``  the label of the data in its place: second moment of the gradients of the losses
``covariance`` the same, less the mean gradient's product with itself (TONGA)
``l2``         J^T J / n of the outputs themselves, which is the exact one of a Gaussian

Each is a sum over some slopes r by the outputs f of an example, J^T r r^T J. (George's thesis, 2.4
and 3.2; Le Roux, Manzagol, Bengio, "Topmoumoute online natural gradient algorithm", 2007; Kunstner,
Balles, Hennig, "Limitations of the empirical Fisher approximation", 2019.)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Literal, TypeAlias

import torch
from torch import Tensor, nn
from torch.nn import functional

from ntkexp.errors import UserError, first_line
from ntkexp.tangent.backwards import output_cotangents
from ntkexp.tangent.batch import Batch, Inputs
from ntkexp.tangent.factors import norm_workspace, squared_norms
from ntkexp.tangent.features import Features
from ntkexp.tangent.function import trainable
from ntkexp.tangent.tangent_features import TangentFeatures

Of = Literal["exact", "mc", "empirical", "l2", "covariance"]
OF = ("exact", "mc", "empirical", "l2", "covariance")
Batches: TypeAlias = Iterable[tuple[Inputs, Tensor]]
Loss: TypeAlias = Callable[[Tensor, Tensor], Tensor]


def cross_entropy(outputs: Tensor, targets: Tensor) -> Tensor:
    """(n,): the loss of each example."""
    return functional.cross_entropy(outputs, targets, reduction="none")


def roots(logits: Tensor) -> Sequence[Tensor]:
    """Slopes (n, c), one less than classes, whose r r^T add up to diag p - p p^T.

    That is D (1 - s s^T) D, with s the roots of p and D their diagonal; and the reflection that
    takes s to -e_0, without its first column, is a root of the projection.
    """
    s = logits.softmax(1).sqrt()
    w = s.clone()
    w[:, 0] += 1
    slopes = []
    for label in range(1, s.shape[1]):
        column = -w * (s[:, label] / w[:, 0]).unsqueeze(1)
        column[:, label] += 1
        slopes.append(s * column)
    return slopes


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
        self.model, self.of, self.samples, self.loss, self.seed = model, of, samples, loss, seed
        # Of an iterator a second pass would find nothing.
        self._batches = [*batches] if isinstance(batches, Iterator) else batches
        self._targets, self._draws = torch.empty(0), torch.empty(0)
        self._features = TangentFeatures(model, parameters=parameters)
        self._only: Features | None = None

    def batches(self) -> Iterator[Inputs]:
        """The inputs of the batches; `slopes` are about the one that came last."""
        generator, found = torch.Generator().manual_seed(self.seed), False
        for batch in self._batches:
            if isinstance(batch, Tensor):
                raise UserError("batches: a tensor is no pair; expected pairs, such as [(x, y)]")
            inputs, targets = batch
            self._targets, found = targets, True
            if self.of == "mc":
                size = len(Batch.of(inputs)), self.samples
                self._draws = torch.rand(size, generator=generator, dtype=torch.float64)
            yield inputs
        if not found:
            raise UserError("no batch was given")

    def __iter__(self) -> Iterator[Features]:
        if self._only is not None:
            yield self._only
            return
        for number, inputs in enumerate(self.batches()):
            features = self._features.factors(inputs, self.slopes)
            self._only = features if number == 0 else None
            yield features

    def trace(self) -> Tensor:
        """mean_i sum |g_i|^2, from norms alone."""
        workspace = norm_workspace(next(iter(trainable(self.model).values())).detach())
        total, examples = torch.zeros((), dtype=torch.float64), 0
        for features in self:
            factors = (f for layer in features.layers.values() for f in layer.values())
            total = total + squared_norms(factors, workspace).to(total.device)
            examples += features.examples
        return total / examples

    def slopes(self, outputs: Tensor, indices: Tensor) -> Sequence[Tensor]:
        """The slopes r, (n, c) each."""
        if self.of == "l2":
            return output_cotangents(outputs)
        if self.of == "exact":
            return roots(outputs)
        if self.of == "mc":
            return self._of_drawn_labels(outputs, indices)
        with torch.enable_grad():
            outputs = outputs.detach().requires_grad_()
            losses = self._losses(outputs, self._targets.to(outputs.device)[indices])
            return torch.autograd.grad(losses.sum(), outputs)

    def _losses(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """(n,); a loss that does not go with the targets is refused."""
        given = f"outputs {tuple(outputs.shape)} and targets {tuple(targets.shape)}"
        try:
            losses = self.loss(outputs, targets)
        except (IndexError, RuntimeError, TypeError, ValueError) as error:
            raise UserError(f"loss of {given}: {first_line(error)}") from error
        if losses.shape != (n := (len(outputs),)):
            raise UserError(f"loss of {given}: gives {tuple(losses.shape)}; expected {n}, one each")
        return losses

    def _of_drawn_labels(self, logits: Tensor, indices: Tensor) -> Sequence[Tensor]:
        shares = logits.softmax(1)
        ends = shares.double().cumsum(1)
        draws = self._draws.to(logits.device)[indices] * ends[:, -1:]
        labels = torch.searchsorted(ends, draws, right=True).clamp_(max=logits.shape[1] - 1)
        slopes = []
        for drawn in labels.t():
            slope = shares.clone()
            slope[torch.arange(len(drawn), device=drawn.device), drawn] -= 1
            slopes.append(slope / math.sqrt(self.samples))
        return slopes
