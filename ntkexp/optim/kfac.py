"""KFAC, EKFAC and EKFAC-ra: the gradient divided by a Kronecker-factored empirical Fisher matrix
(Martens and Grosse 2015; George et al. 2018, Algorithm 1).

ntkexp train +exp=mlp_mnist optim=kfac optim.second=batch optim.lr=0.01 optim.damping=0.01
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from ntkexp.curvature.division import (
    Gradient,
    Inverse,
    Matrices,
    Product,
    Rescaling,
    Solved,
    factored,
    gradients_of,
    layouts_of,
)
from ntkexp.curvature.kron import Layout, outer_of, pieces
from ntkexp.errors import Diverged, UserError
from ntkexp.optim.base import Optimiser
from ntkexp.optim.observer import Forward, Passed
from ntkexp.optim.sgd import SgdUpdate
from ntkexp.optim.update import add_, scale_
from ntkexp.options import BELOW_ONE, count, option, positive
from ntkexp.tangent.factors import Outer

if TYPE_CHECKING:
    from ntkexp.objectives.base import Loss

LAYERS = (nn.Linear, nn.Conv1d, nn.Conv2d, nn.Conv3d)


class Second(StrEnum):
    """Where the second moments in the eigenbasis come from. kron: the products of the eigenvalues
    of both factors (KFAC). batch: the gradients of single examples of every mini-batch (EKFAC).
    running: a running mean of the squares of mini-batch gradients (EKFAC-ra)."""

    kron = "kron"
    batch = "batch"
    running = "running"


class Damps(StrEnum):
    """factors: its root is added to the eigenvalues of both (A.4 of George's thesis). moments: it
    is added to the second moments, as Algorithm 1 has it."""

    factors = "factors"
    moments = "moments"


@dataclass
class Kfac(Optimiser):
    """v <- momentum v + F^-1 gradient,  then  w <- w - lr v,  F = the second moments of the
    gradients of single examples, layer by layer, in the eigenbasis of their Kronecker factors."""

    second: Second = option(Second.kron, about="second moments: KFAC's, EKFAC's or EKFAC-ra's")
    period: int = option(50, count("updates"), "from one computation of the factors to the next")
    damping: float = option(0.01, positive(), "added to the Fisher matrix")
    damps: Damps = option(Damps.factors, about="whether both factors are damped or the moments")
    sua: bool = option(False, about="the offsets of a convolution's kernel count as uncorrelated")
    decay: float = option(0.75, BELOW_ONE, "what a running mean keeps in an update")
    momentum: float = option(0.9, BELOW_ONE, "what is left of the last change in the next")
    norm_constraint: bool = option(False, about="changes have length lr by the Fisher matrix")
    halve_every: int | None = option(None, count("updates", null=""), "after them lr is halved")

    def check(self, config: Any = None) -> None:
        super().check(config)
        if config is None:
            return
        if config.transform.linear:
            raise UserError(
                f"optim=kfac: transform={config.transform.name} has no forward through layers; "
                "expected transform=plain"
            )
        for name, probe in config.probe.items():
            if probe.sees_forward():
                raise UserError(
                    f"optim=kfac: probe.{name} takes gradients of the forward of each minibatch by "
                    "weights, which are left out; expected probe.complexity.batch=fixed"
                )

    def refuse(self, network: nn.Module) -> None:
        for name, layer in network.named_modules():
            trained = [weight.requires_grad for weight in layer.parameters(recurse=False)]
            if trained and not (isinstance(layer, LAYERS) and all(trained)):
                raise UserError(
                    f"optim=kfac: layer {name} is a {type(layer).__name__}; expected weights of "
                    "linear layers and convolutions alone, all of which train"
                )

    def build_for(self, network: nn.Module, objective: Loss) -> KfacUpdate:
        return KfacUpdate(network, self)


class KfacUpdate(SgdUpdate):
    """SGD on the divided gradients.

    The factors of the mini-batch of every `period`-th update serve until the next. The memory has,
    for each piece of each layer in turn (one, or with `sua` a convolution's weight and its bias),
    the tensors of `Inverse` or `Rescaling` by their names. They are empty of a layer that ran and
    had no part in the loss; it stays as it is until they are computed anew.
    """

    sees_forward = True
    repeats = False
    stacks = False

    def __init__(self, network: nn.Module, options: Kfac) -> None:
        super().__init__(network.parameters(), momentum=options.momentum, weight_decay=0.0)
        self.options = options
        # KFAC needs no eigenvectors where damping leaves F the product of two matrices.
        product = options.second is Second.kron and options.damps is Damps.factors
        self.kind: type[Inverse | Rescaling] = Inverse if product else Rescaling
        self.names = [*self.kind.__dataclass_fields__]
        self.places = {id(weight): place for place, weight in enumerate(self.parameters)}
        self.examples = 0
        self.layers: list[nn.Module] = []
        self.outers: dict[int, Outer] = {}

    def rate(self, planned: float) -> float:
        every = self.options.halve_every
        return planned if every is None else planned / 2 ** (self.updates // every)

    @property
    def renews(self) -> bool:
        return self.updates % self.options.period == 0

    @contextmanager
    def around_forward(self, model: nn.Module) -> Iterator[None]:
        """Backward leaves out the gradients by weights of linear layers. They are products of what
        passes there; it is cheaper to divide the factors. A bias keeps the layer in the graph."""
        weights = [
            layer.weight
            for layer in model.modules()
            if isinstance(layer, nn.Linear)
            and layer.bias is not None
            and id(layer.weight) in self.places
        ]
        for weight in weights:
            weight.requires_grad_(False)
        try:
            yield
        finally:
            for weight in weights:
                weight.requires_grad_(True)

    def on_forward(self, forward: Forward) -> None:
        self.layers = [passed.layer for passed in forward.passed]
        if len({id(layer.weight) for layer in self.layers}) < len(self.layers):
            raise UserError("optim=kfac: a weight is used twice; expected layers of one call each")
        self.examples = len(forward.outputs)
        every = self.renews or self.options.second is Second.batch
        for place, passed in enumerate(forward.passed):
            if every or isinstance(passed.layer, nn.Linear):
                self._listen(place, passed)

    def _listen(self, place: int, passed: Passed) -> None:
        """Take the gradients that the backward of the mean loss brings to a layer's output, as
        those of each example's own loss."""
        # A hook that knew its own node, as `passed` does, would keep the batch's activations alive.
        layer, inputs, output = passed.layer, passed.inputs, passed.outputs.output_nr

        def receive(gradients: Sequence[Tensor]) -> None:
            self.outers[place] = outer_of(layer, inputs, gradients[output] * self.examples)

        passed.outputs.node.register_prehook(receive)

    @torch.no_grad()
    def take(self, gradients: list[Tensor]) -> None:
        with denormals_flushed():
            if self.renews:
                self._renew()
            divided, squared_length = self._divided(gradients)
            share = float(squared_length.rsqrt()) if self.options.norm_constraint else 1.0
            scale_(self.memory["velocity"], self.momentum)
            add_(self.memory["velocity"], divided, share)
        self.outers.clear()
        self.updates += 1

    def _renew(self) -> None:
        options, spread = self.options, self.options.damps is Damps.factors
        self.memory |= {name: [] for name in self.names}
        try:
            for place, layer in enumerate(self.layers):
                if place not in self.outers:
                    for name in self.names:
                        of_none = [torch.empty(0) for _ in layouts_of(layer, options.sua)]
                        self.memory[name] += of_none
                    continue
                for kron in factored(self.outers[place], options.sua):
                    part = (
                        Inverse.of(kron, options.damping)
                        if self.kind is Inverse
                        else Rescaling.of(kron, options.damping, spread=spread)
                    )
                    for name in self.names:
                        self.memory[name].append(getattr(part, name))
        except (UserError, torch.linalg.LinAlgError) as error:  # type: ignore[attr-defined]
            raise Diverged(
                self.updates,
                why=f"optim=kfac: no factors of the Fisher matrix ({str(error).splitlines()[0]})",
                way_out="expected a smaller optim.lr or a larger optim.damping",
            ) from error

    def _divided(self, gradients: list[Tensor]) -> tuple[list[Tensor], Tensor]:
        """d = F^-1 g of every parameter, 0 where a layer has no part in the loss, and <g, d>."""
        divided, products, piece = [*gradients], [gradients[0].new_zeros(())], 0
        for number, layer in enumerate(self.layers):
            places = [self.places[id(weight)] for weight in layer.parameters(recurse=False)]
            layouts = layouts_of(layer, self.options.sua)
            outers: Sequence[Outer | None] = [None] * len(layouts)
            if number in self.outers:
                outers = pieces(self.outers[number], self.options.sua)
            shared = [places] if len(layouts) == 1 else [[place] for place in places]
            for layout, outer, own in zip(layouts, outers, shared, strict=True):
                of_piece = [gradients[place] for place in own]
                tensors = [self.memory[name][piece] for name in self.names]
                piece += 1
                if not tensors[0].numel():
                    for place in own:
                        divided[place] = torch.zeros_like(gradients[place])
                    continue
                gradient: Gradient = (
                    Product.of(layout, outer)
                    if outer is not None and isinstance(layer, nn.Linear)
                    else Matrices.of(layout, of_piece)
                )
                part = self.kind(*tensors)
                solved, squared_length = self._solved(part, gradient, layout, outer)
                products.append(squared_length)
                moved = gradients_of(layout, solved, of_piece)
                for place, direction in zip(own, moved, strict=True):
                    divided[place] = direction
        return divided, torch.stack(products).sum()

    def _solved(
        self,
        part: Inverse | Rescaling,
        gradient: Gradient,
        layout: Layout,
        outer: Outer | None,
    ) -> Solved:
        second = self.options.second
        if isinstance(part, Inverse):
            return part.solve(gradient, measured=self.options.norm_constraint)
        if second is Second.kron:
            return part.solve(gradient)
        if second is Second.running:
            return part.solve_running(gradient, self.examples, self.options.decay)
        assert outer is not None
        return part.solve_batch(gradient, layout, outer)


@contextmanager
def denormals_flushed() -> Iterator[None]:
    """Numbers below 1e-38, as squares of small gradients are, are taken for 0: processors are slow
    on them."""
    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_flush_denormal(False)
