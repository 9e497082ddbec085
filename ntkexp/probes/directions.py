"""How much the outputs vary when the weights move along one direction (Figure 7).

Directions: the leading right singular vectors v_j of the Jacobian Phi of the training batch, from
Phi Phi^T u_j = sigma_j^2 u_j and v_j = Phi^T u_j / sigma_j; and directions drawn uniformly from
the unit sphere. The outputs are those of test examples, which Phi has not seen. The variation along
a unit vector d is the root mean square over the examples of

    jvp:           |J(x) d|, exact to first order
    perturbation:  |f_{w + s d}(x) - f_w(x)| / s, for a step s = `size` really taken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.autograd.functional import jvp

from ntkexp.options import MANY, option, positive, whole
from ntkexp.probes.base import Probe, columns
from ntkexp.probes.view import View
from ntkexp.results.table import STEP, Rows, Table, float64, int64, string
from ntkexp.seeds import generator
from ntkexp.tangent.function import called_with
from ntkexp.theory.spectrum import eigenpairs

DIRECTIONS = Table(
    "directions",
    "root mean square change of the outputs on test examples per unit of weight along one "
    "direction; the singular value, of the uncentred Jacobian of the training batch, is not a "
    "number for random directions; index 0 is the first of its kind",
    {
        "step": STEP,
        "kind": string("`singular` or `random`"),
        "index": int64("0 is the first of its kind"),
        "singular_value": float64("of the Jacobian, outputs per unit of weight"),
        "method": string("`jvp` (derivative) or `perturbation` (a step taken)"),
        "variation": float64("root mean square over examples, outputs per unit of weight"),
    },
)

EXAMPLES_AT_ONCE = 100
# A vector in the space of weights: one tensor a parameter, by name.
Direction = dict[str, Tensor]
Variation = Callable[[Direction, Tensor], Tensor]


@dataclass
class Directions(Probe):
    """Looks at the last step only: `count` directions of each kind, on `examples` test examples."""

    tables = (DIRECTIONS,)
    needs = frozenset({"network", "kernel", "examples"})
    looks_at = frozenset({"train"})
    tiny: ClassVar = {"count": 2, "examples": 10}

    count: int = option(50, whole(1, MANY, "directions"), "directions of each kind")
    examples: int = option(1000, whole(1, MANY, "examples"), "test examples whose outputs vary")
    size: float = option(0.01, positive(1e6, least=1e-8), "length of the step that is taken")

    def measure(self, view: View) -> Rows:
        if not view.last:
            return {}
        return {"directions": columns(DIRECTIONS, self.variations(view))}

    def variations(self, view: View) -> Iterator[tuple[str, int, float, str, float]]:
        """(kind, index, singular value, method, variation) of every direction."""
        inputs = view.examples("test").inputs[: self.examples]
        methods = {
            "jvp": _by_jvp(view.network()),
            "perturbation": _by_step(view.network(), self.size),
        }
        for kind, directions in (
            ("singular", _singular(view, self.count)),
            ("random", _random(view, self.count)),
        ):
            for index, (value, direction) in enumerate(directions):
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


def _by_jvp(model: nn.Module) -> Variation:
    weights = {name: w.detach() for name, w in _parameters(model).items()}

    def vary(direction: Direction, inputs: Tensor) -> Tensor:
        def outputs(*moved: Tensor) -> Tensor:
            with_moved = dict(zip(weights, moved, strict=True))
            result: Tensor = called_with(model, with_moved, (inputs,))
            return result

        # By two backwards: torch.func's forward mode still uses the deprecated torch.jit.
        along = tuple(direction[name] for name in weights)
        change: Tensor = jvp(outputs, tuple(weights.values()), along)[1]  # type: ignore[no-untyped-call]
        return change

    return vary


def _by_step(model: nn.Module, size: float) -> Variation:
    weights = {name: w.detach() for name, w in _parameters(model).items()}

    def vary(direction: Direction, inputs: Tensor) -> Tensor:
        moved = {name: w + size * direction[name] for name, w in weights.items()}
        change: Tensor = called_with(model, moved, (inputs,)) - model(inputs)
        return change / size

    return vary


def _root_mean_square(vary: Variation, direction: Direction, inputs: Tensor) -> float:
    with torch.no_grad():
        squares = [
            vary(direction, part).double().square().sum()
            for part in torch.split(inputs, EXAMPLES_AT_ONCE)
        ]
    return float((torch.stack(squares).sum() / len(inputs)).sqrt())
