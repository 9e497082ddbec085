"""Directions in the space of weights, and how much the outputs change along each of them.

Formulas: ntkexp/probes/directions.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.autograd.functional import jvp
from torch.func import functional_call

from ntkexp.probes.view import View
from ntkexp.seeds import generator
from ntkexp.theory.spectrum import eigenpairs

if TYPE_CHECKING:
    from ntkexp.probes.directions import Directions

EXAMPLES_AT_ONCE = 100

# One tensor a parameter, by its name: a vector in the space of weights.
Direction = dict[str, Tensor]


def variations(view: View, options: Directions) -> Iterator[tuple[str, int, float, str, float]]:
    """(kind, index, singular value, method, variation) of every direction."""
    inputs = view.examples("test").inputs[: options.examples]
    methods = {
        "jvp": _by_jvp(view.network()),
        "perturbation": _by_step(view.network(), options.size),
    }
    for kind, found in (
        ("singular", _singular(view, options.count)),
        ("random", _random(view, options.count)),
    ):
        for index, (value, direction) in enumerate(found):
            for name, vary in methods.items():
                yield kind, index, value, name, _root_mean_square(vary, direction, inputs)


def _singular(view: View, count: int) -> Iterator[tuple[float, Direction]]:
    values, vectors = eigenpairs(view.kernel("train").gram.cpu().numpy())
    inputs = view.batches["train"].inputs
    parameters = _parameters(view.network())
    outputs = view.network()(inputs)
    for value, u in zip(values[:count], vectors.T[:count], strict=True):
        cotangent = torch.from_numpy(u.copy()).to(outputs).view(outputs.shape)
        pulled = torch.autograd.grad(
            outputs, list(parameters.values()), cotangent, retain_graph=True
        )
        yield float(value) ** 0.5, _unit(dict(zip(parameters, pulled, strict=True)))


def _random(view: View, count: int) -> Iterator[tuple[float, Direction]]:
    for index in range(count):
        stream = generator(view.seed, "directions", index)
        drawn = {
            name: torch.randn(w.shape, generator=stream).to(w)
            for name, w in _parameters(view.network()).items()
        }
        yield float("nan"), _unit(drawn)


def _parameters(model: nn.Module) -> Direction:
    return {name: w for name, w in model.named_parameters() if w.requires_grad}


def _unit(direction: Direction) -> Direction:
    norm = torch.linalg.vector_norm(
        torch.stack([torch.linalg.vector_norm(part.double()) for part in direction.values()])
    )
    return {name: part / norm.to(part) for name, part in direction.items()}


Variation = Callable[[Direction, Tensor], Tensor]


def _by_jvp(model: nn.Module) -> Variation:
    weights = {name: w.detach() for name, w in _parameters(model).items()}

    def vary(direction: Direction, inputs: Tensor) -> Tensor:
        def outputs(*moved: Tensor) -> Tensor:
            found: Tensor = functional_call(
                model, dict(zip(weights, moved, strict=True)), (inputs,)
            )
            return found

        # By two backwards: torch.func's forward mode still uses the deprecated torch.jit.
        along = tuple(direction[name] for name in weights)
        change: Tensor = jvp(outputs, tuple(weights.values()), along)[1]  # type: ignore[no-untyped-call]
        return change

    return vary


def _by_step(model: nn.Module, size: float) -> Variation:
    weights = {name: w.detach() for name, w in _parameters(model).items()}

    def vary(direction: Direction, inputs: Tensor) -> Tensor:
        moved = {name: w + size * direction[name] for name, w in weights.items()}
        change: Tensor = functional_call(model, moved, (inputs,)) - model(inputs)
        return change / size

    return vary


def _root_mean_square(vary: Variation, direction: Direction, inputs: Tensor) -> float:
    with torch.no_grad():
        squares = [
            vary(direction, part).double().square().sum()
            for part in torch.split(inputs, EXAMPLES_AT_ONCE)
        ]
    return float((torch.stack(squares).sum() / len(inputs)).sqrt())
