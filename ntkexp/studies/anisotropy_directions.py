"""Neural anisotropy directions: for which linear tasks a network's tangent kernel is aligned.

ntkexp study +exp=linearised/directions_lenet

The labels y = sign(u^T x) of a direction u have, to first order in x, the alignment |M u|^2 with
the tangent kernel, M = grad_x grad_theta f the mixed derivative at x = 0. So the directions are
the eigenvectors of M^T M, from the most aligned on (Ortiz-Jimenez et al. 2021, Theorem 1). The text
takes M at the origin in place of its mean over data; beside it is the mean over Gaussian inputs,
which its data are but for one direction.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from omegaconf import MISSING
from torch import Tensor, nn
from torch.func import functional_call, grad, jvp, vjp, vmap

from ntkexp import models
from ntkexp.models import Model
from ntkexp.options import MANY, SEED, count, option, whole
from ntkexp.results.table import Table, float64, int64
from ntkexp.seeds import generator
from ntkexp.studies.base import Found, Study
from ntkexp.tangent.krylov import leading_pairs
from ntkexp.transforms.linearise import load_rules_of_duals

DIRECTIONS = Table(
    "directions",
    "a direction of inputs, an eigenvector of the mixed derivative's Gram matrix at the origin",
    {
        "index": int64("1 for the most aligned"),
        "alignment": float64("its eigenvalue, which is the alignment"),
        "gaussian": float64("u^T M^T M u with M the mean over Gaussian inputs; NaN without them"),
    },
)
PIXELS = Table(
    "direction_pixels",
    "the entries of a leading direction as an image",
    {
        "index": int64("1 for the most aligned"),
        "row": int64("of the image"),
        "column": int64("of the image"),
        "value": float64("of the direction of length 1"),
    },
)
# So many leading directions stand in a table, as the text shows them.
SHOWN = 10
# Vectors that go through the network at once, and of the Krylov space for each direction.
BLOCK, BASIS = 16, 10


@dataclass
class AnisotropyDirections(Study):
    """Images of `side` x `side` pixels with one channel, one output, all in float64; batch norms
    take their first running statistics. Directions are the rows of `vectors`."""

    tables: ClassVar = (DIRECTIONS, PIXELS)
    may_be_infinite: ClassVar = {"directions": ("gaussian",)}
    small: ClassVar = {"side": 8, "gaussian": 20}
    tiny: ClassVar = {"side": 6, "gaussian": 5}

    network: Model = option(MISSING, about="the network at its initialisation")
    seed: int = option(0, SEED, "the start of all random numbers")
    side: int = option(32, count("pixels"), "pixels of an image's side")
    count: int | None = option(None, count("directions", null="for all"), "leading directions")
    gaussian: int = option(100, whole(0, MANY, "as inputs"), "Gaussian inputs of the mean")

    def compute(self) -> Found:
        network = models.build(self.network, (1, self.side, self.side), 1, self.seed).double()
        network.eval()
        at_origin = mixed_gram(network, torch.zeros(1, 1, self.side, self.side).double())
        values, vectors = self.directions(at_origin)
        frame = {
            "index": np.arange(1, len(values) + 1),
            "alignment": values.numpy(),
            "gaussian": np.full(len(values), np.nan),
        }
        if self.gaussian:
            shape = (self.gaussian, 1, self.side, self.side)
            drawn = torch.randn(shape, generator=generator(self.seed, "gaussian")).double()
            product = mixed_gram(network, drawn)(vectors)
            frame["gaussian"] = (vectors * product).sum(0).numpy()
        shown = vectors[:, :SHOWN].t().reshape(-1, self.side, self.side).numpy()
        index, row, column = np.indices(shown.shape).reshape(3, -1)
        pixels = {"index": index + 1, "row": row, "column": column, "value": shown.ravel()}
        return {
            "directions": frame,
            "direction_pixels": pixels,
            "vectors": vectors.t().contiguous().numpy(),
        }

    def directions(self, product: Callable[[Tensor], Tensor]) -> tuple[Tensor, Tensor]:
        """The leading eigenvalues and unit eigenvectors, as columns with a positive largest
        entry."""
        pixels = self.side**2
        wanted = min(self.count or pixels, pixels)
        basis = BASIS * wanted
        if basis < pixels:
            first = torch.randn(pixels, wanted, generator=generator(self.seed, "krylov")).double()
            pairs = leading_pairs(product, first, wanted, basis)
            values, vectors = pairs.values, pairs.vectors
        else:
            values, vectors = torch.linalg.eigh(product(torch.eye(pixels).double()))
            values, vectors = values[-wanted:].flip(0), vectors[:, -wanted:].flip(1)
        largest = vectors.abs().argmax(0)
        return values, vectors * vectors.gather(0, largest[None]).sign()


def mixed_gram(network: nn.Module, points: Tensor) -> Callable[[Tensor], Tensor]:
    """V (pixels, m) -> M^T M V, M the mean over `points` of grad_x grad_theta f.

    With g(d) the gradient by the weights of the mean of f(x + d) over the points, M is its
    Jacobian at d = 0: M V is a forward derivative and M^T one backwards, so M is never there.
    """
    load_rules_of_duals()
    weights = {name: w.detach() for name, w in network.named_parameters()}
    shape = points.shape[1:]

    def mean(at: dict[str, Tensor], shift: Tensor) -> Tensor:
        outputs: Tensor = functional_call(network, at, (points + shift,))
        return outputs.mean()

    def gradient(shift: Tensor) -> dict[str, Tensor]:
        gradients: dict[str, Tensor] = grad(mean)(weights, shift)
        return gradients

    origin = points.new_zeros(shape)

    def product(vector: Tensor) -> Tensor:
        moved = jvp(gradient, (origin,), (vector.view(shape),))[1]
        back: Tensor = vjp(gradient, origin)[1](moved)[0]
        return back.flatten()

    return lambda vectors: vmap(product, in_dims=1, out_dims=1, chunk_size=BLOCK)(vectors)
