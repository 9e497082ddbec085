"""A Fisher matrix of a network, or one of its like, in a representation that fits."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import torch
from torch import Tensor, nn

from ntkexp.curvature.block import Block, gradient_rows
from ntkexp.curvature.gradients import Batches, Gradients, Loss, Of, cross_entropy
from ntkexp.curvature.implicit import Implicit
from ntkexp.curvature.kinds import WHOLE, blocks_of, check_kind
from ntkexp.curvature.vector import Vector
from ntkexp.errors import UserError
from ntkexp.tangent.batch import Batch, Inputs, Outputs
from ntkexp.tangent.factors import Direct, Factor
from ntkexp.tangent.features import Features, layer_of
from ntkexp.tangent.function import trainable
from ntkexp.tangent.tangent_features import TangentFeatures

Kind: TypeAlias = str | Mapping[str, str]


class Fisher:
    """A matrix F over the parameters of a model, as blocks on its diagonal.

    The operations are the same whatever it is made of; vectors are `Vector`s.
    """

    def __init__(self, model: nn.Module, blocks: Sequence[Block]) -> None:
        self.model, self.blocks = model, blocks
        weights = trainable(model)
        named = {name for block in blocks for name in block.names}
        self.shapes = {name: w.shape for name, w in weights.items() if name in named}

    def mv(self, v: Vector) -> Vector:
        """F v."""
        return self._applied(v, lambda block, rows: block.mv(rows))

    def solve(self, v: Vector, damping: float) -> Vector:
        """(F + damping)^-1 v."""
        if damping <= 0:
            raise UserError(f"damping={damping}: expected a number above 0")
        return self._applied(v, lambda block, rows: block.solve(rows, damping))

    def vTMv(self, v: Vector) -> float:  # noqa: N802 (the name that nngeometry gave it)
        """v^T F v."""
        return self.mv(v).dot(v)

    def trace(self) -> float:
        return sum(float(block.trace()) for block in self.blocks)

    def frobenius(self) -> float:
        """|F|_F."""
        return float(sum(float(block.frobenius()) ** 2 for block in self.blocks) ** 0.5)

    def to_dense(self) -> Tensor:
        """(P, P), the parameters in the order of the model."""
        sizes = {name: shape.numel() for name, shape in self.shapes.items()}
        places, start = {}, 0
        for name, size in sizes.items():
            places[name] = torch.arange(start, start + size)
            start += size
        like = next(iter(trainable(self.model).values())).detach()
        matrix = like.new_zeros(start, start)
        for block in self.blocks:
            at = torch.cat([places[name] for name in block.names])
            matrix[at[:, None], at] = block.dense(like.new_empty(len(at)))
        return matrix

    def kernel(self, x: Inputs, z: Inputs, damping: float, *, outputs: Outputs = None) -> Tensor:
        """J(x) (F + damping)^-1 J(z)^T, (n k, n' k), rows as in a tangent kernel. Of losses it is
        the influence of one example on the loss of another (Koh and Liang, 2017). `outputs` are as
        in `TangentFeatures`; indices count through x and on through z.
        """
        features = TangentFeatures(self.model, outputs=outputs, parameters=[*self.shapes])
        batches = Batch.several([x, z])
        both = features.factors(Batch.joined(batches).inputs)
        n, k = len(batches[0]), both.outputs
        left, right = _by_name(both.part(slice(0, n))), _by_name(both.part(slice(n, None)))
        like = next(iter(trainable(self.model).values()))
        gram = torch.zeros(n * k, len(batches[1]) * k, dtype=like.dtype, device=like.device)
        for block in self.blocks:
            column = 0
            for rows in gradient_rows(right, block.names):
                solved, row = block.solve(rows, damping), 0
                columns = gram[:, column : column + len(rows)]
                for others in gradient_rows(left, block.names):
                    columns[row : row + len(others)] += others @ solved.t()
                    row += len(others)
                column += len(rows)
        return gram

    def _applied(self, v: Vector, apply: Callable[[Block, Tensor], Tensor]) -> Vector:
        if not isinstance(v, Vector):
            raise UserError(f"got a {type(v).__name__}; expected a Vector, as Vector.of(model) is")
        has = {name: part.shape for name, part in v.parts.items()}
        if missing := [name for name, shape in self.shapes.items() if has.get(name) != shape]:
            raise UserError(
                f"the vector lacks {_listed(self.shapes, missing)}; it has {_listed(has, has)}; "
                f"expected {_listed(self.shapes, self.shapes)}"
            )
        parts: dict[str, Tensor] = {}
        for block in self.blocks:
            row = torch.cat([v.parts[name].flatten() for name in block.names])
            sizes = [self.shapes[name].numel() for name in block.names]
            applied = torch.split(apply(block, row.unsqueeze(0))[0], sizes)
            for name, part in zip(block.names, applied, strict=True):
                parts[name] = part.view(self.shapes[name])
        return Vector({name: parts[name] for name in self.shapes})


def fisher(
    model: nn.Module,
    batches: Batches,
    kind: Kind = "kfac",
    *,
    of: Of = "exact",
    samples: int = 5,
    loss: Loss = cross_entropy,
    sua: bool = False,
    seed: int = 0,
) -> Fisher:
    """A Fisher matrix of a network, or one of its like, over the examples of some batches.

    Args:
        model: a classifier, or for "l2" any network, in which examples do not interact.
        batches: pairs of inputs and targets, such as a DataLoader's; each must fit into memory.
            Kinds that need two passes go through them twice.
        kind: a representation (kinds.py), or one for each of some layers by name; other layers are
            then left out.
        of: whose second moment it is (gradients.py): "exact", "mc", "empirical", "l2" or
            "covariance".
        samples: labels drawn for an example, for "mc"; by `seed`.
        loss: of outputs and targets to (n,), for "empirical" and "covariance".
        sua: that the offsets of a convolution's kernel count as uncorrelated, in its factors.

    >>> net = nn.Linear(2, 3)
    >>> F = fisher(net, [(torch.ones(1, 2), torch.zeros(1))], kind="dense")
    >>> v = Vector.of(net)
    >>> abs(F.vTMv(v) - v.dot(F.mv(v))) < 1e-6
    True
    """
    options = {"samples": samples, "loss": loss, "seed": seed}
    return fishers(model, batches, [kind], of=of, sua=sua, **options)[0]


def fishers(
    model: nn.Module,
    batches: Batches,
    kinds: Sequence[Kind],
    *,
    of: Of = "exact",
    sua: bool = False,
    **options: Any,
) -> list[Fisher]:
    """Several representations of one matrix, of the same gradients. The options are those of
    `fisher`."""
    named = [_parameters_of(model, kind, of) for kind in kinds]
    together = [name for name in trainable(model) if any(name in names for names in named)]
    gradients = Gradients(model, batches, of, parameters=together, **options)
    matrices: list[list[Block]] = [
        [Implicit(together, gradients)] if kind == "implicit" else [] for kind in kinds
    ]
    means: dict[str, Tensor] = {}
    turn = 0
    while not all(matrices) or any(b.passes > turn for blocks in matrices for b in blocks):
        examples = 0
        for features in gradients:
            factors = _by_name(features)
            for i, kind in enumerate(kinds):
                if not matrices[i]:
                    matrices[i] = _blocks(kind, {name: factors[name] for name in named[i]}, sua)
            if turn == 0 and of == "covariance":
                _add_means(means, factors)
            examples += features.examples
            wanting = [b for blocks in matrices for b in blocks if b.passes > turn]
            for block in wanting:
                block.add(factors)
        for block in wanting:
            block.finish(examples, _mean(means, block.names, examples))
        turn += 1
    return [Fisher(model, blocks) for blocks in matrices]


def _blocks(kind: Kind, factors: Mapping[str, Factor], sua: bool) -> list[Block]:
    """The blocks of all layers; the parameters come in the order of the model."""
    if isinstance(kind, str) and kind in WHOLE:
        return [*blocks_of(kind, factors, sua)]
    layers: dict[str, dict[str, Factor]] = {}
    for name, factor in factors.items():
        layers.setdefault(layer_of(name), {})[name] = factor
    kinds = dict.fromkeys(layers, kind) if isinstance(kind, str) else kind
    return [b for layer, its in layers.items() for b in blocks_of(kinds[layer], its, sua)]


def _parameters_of(model: nn.Module, kind: Kind, of: str) -> list[str]:
    """The parameters that a matrix is over; what it cannot be is refused."""
    names = [*trainable(model)]
    if isinstance(kind, str):
        check_kind(kind, None, of)
        return names
    layers = dict.fromkeys(map(layer_of, names))
    for layer, its in kind.items():
        if layer not in layers:
            accepted = ", ".join(layers)
            raise UserError(f"kind of layer {layer}: there is none; expected {accepted}")
        check_kind(its, layer, of)
    return [name for name in names if layer_of(name) in kind]


def _listed(shapes: Mapping[str, Sequence[int]], names: Iterable[str]) -> str:
    return ", ".join(f"{name} {tuple(shapes[name])}" for name in names)


def _by_name(features: Features) -> dict[str, Factor]:
    return {name: f for layer in features.layers.values() for name, f in layer.items()}


def _add_means(sums: dict[str, Tensor], factors: Mapping[str, Factor]) -> None:
    for name, factor in factors.items():
        like = factor.values if isinstance(factor, Direct) else factor.v
        total = factor.pulled_back(like.new_ones(like.shape[:2]))
        sums[name] = sums[name] + total if name in sums else total


def _mean(sums: Mapping[str, Tensor], names: Sequence[str], examples: int) -> Tensor | None:
    return torch.cat([sums[name] for name in names]) / examples if sums else None
