"""A matrix of curvature before any optimiser's step, in a training loop of one's own."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn

from ntkexp.curvature.fisher import Fisher, Kind, fisher
from ntkexp.curvature.gradients import Of
from ntkexp.curvature.vector import Vector
from ntkexp.errors import UserError
from ntkexp.tangent.batch import Inputs


class Preconditioner:
    """Gradients g become (F + damping)^-1 g, F found anew every `period` steps from the mini-batch.

        loss.backward()
        precondition.step(x, y)
        optimiser.step()

    Args:
        model, kind, of, options: as in `fisher`.
        damping: what is added to F.
        period: steps for which a matrix serves.

    >>> import torch
    >>> net, x, y = nn.Linear(2, 3), torch.ones(4, 2), torch.zeros(4, dtype=torch.long)
    >>> precondition = Preconditioner(net, damping=0.1)
    >>> nn.functional.cross_entropy(net(x), y).backward()
    >>> precondition.step(x, y)
    """

    def __init__(
        self,
        model: nn.Module,
        kind: Kind = "kfac",
        *,
        of: Of = "empirical",
        damping: float,
        period: int = 1,
        **options: Any,
    ) -> None:
        if period < 1:
            raise UserError(f"period={period}: expected a whole number of steps, 1 or more")
        self.model, self.damping, self.period = model, damping, period
        self._options = {"kind": kind, "of": of, **options}
        self.matrix: Fisher | None = None
        self.steps = 0

    def step(self, inputs: Inputs, targets: Tensor) -> None:
        """Change the gradients that the parameters hold, of the loss of this mini-batch."""
        gradient = Vector.gradients(self.model)
        if self.matrix is None or self.steps % self.period == 0:
            self.matrix = fisher(self.model, [(inputs, targets)], **self._options)
        self.steps += 1
        solved = self.matrix.solve(gradient, self.damping)
        for name, parameter in self.model.named_parameters():
            if name in solved.parts:
                parameter.grad = solved.parts[name]
