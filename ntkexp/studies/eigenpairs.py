"""The leading eigenpairs of a network's tangent kernel at its initialisation, on all images of a
set: the eigenfunctions that tasks are made of (data=eigenfunctions).

ntkexp study +exp=linearised/pairs_mlp

    K_ij = <grad f(x_i), grad f(x_j)>,  K v_j = mu_j v_j,  lambda_j = mu_j / n,  phi_j = sqrt(n) v_j

on training and test images together, n of them (Ortiz-Jimenez et al. 2021, section 2). Up to
DENSE images all eigenpairs are computed in float64 and the leading ones kept; of more, block Krylov
iteration finds them from the kernel's lower triangle (ntkexp/tangent/krylov.py), or from the
gradients where that takes less or memory does not hold the triangle. All is in memory alone: a run
that is stopped begins again.
"""

from __future__ import annotations

import copy
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy.linalg
import torch
from omegaconf import MISSING
from torch import Tensor

from ntkexp import models
from ntkexp.data.images.first import first_images
from ntkexp.data.images.options import Standardise
from ntkexp.data.images.sources import files_here, kind_of
from ntkexp.machine import available_bytes, refuse_beyond
from ntkexp.models import Model
from ntkexp.options import FOR_ALL, SEED, count, one_of, option
from ntkexp.results.table import Table, float64, int64
from ntkexp.seeds import generator
from ntkexp.studies.base import Found, Study
from ntkexp.tangent import TangentFeatures, tangent_kernel
from ntkexp.tangent.krylov import Matrix, Pairs, block_and_basis, leading_eigenpairs
from ntkexp.tangent.row_blocks import ROWS, RowBlocks, triangle_bytes
from ntkexp.tangent.stored_factors import StoredFactors

EIGENPAIRS = Table(
    "eigenpairs",
    "an eigenpair of the tangent kernel at initialisation, on all images",
    {
        "index": int64("j, from 1: the largest eigenvalue first"),
        "eigenvalue": float64("lambda_j = mu_j / n"),
        "residual": float64("|K v - mu v| of the unit eigenvector, in units of its mu"),
    },
)
# So many images, and all eigenpairs are computed: 1.2 GB a matrix, and two minutes of a core.
DENSE = 12_000


@dataclass
class Eigenpairs(Study):
    """The network has one output, and the weights that a training run of this `seed` begins with;
    batch norms take their first running statistics. Images are the first of both files, None for
    all; eigenvectors are the rows of `vectors`."""

    tables: ClassVar = (EIGENPAIRS,)
    small: ClassVar = {"train_examples": 2000, "test_examples": 1000}
    tiny: ClassVar = {"train_examples": 40, "test_examples": 30, "count": 20}

    images: str = option("cifar10", one_of("cifar10", "mnist"), "the images")
    network: Model = option(MISSING, about="the network whose kernel it is")
    seed: int = option(0, SEED, "the start of all random numbers")
    train_examples: int | None = option(None, FOR_ALL, "training images of the kernel")
    test_examples: int | None = option(None, FOR_ALL, "test images of the kernel")
    standardise: Standardise = option(Standardise.published, about="by whose mean and deviation")
    extended: bool = option(False, about="test images by extension, no part of the kernel")
    count: int = option(1000, count("eigenpairs"), "how many leading pairs are kept")

    def files(self) -> Mapping[str, str]:
        return files_here(kind_of(self.images))

    def compute(self) -> Found:
        images = first_images(
            self.images,
            {"train": self.train_examples, "test": self.test_examples},
            torch.device("cpu"),
            self.standardise,
            progress=False,
        )
        network = models.build(self.network, images.input_shape, 1, self.seed).eval()
        train, test = images.train.inputs, images.test.inputs
        inputs = train if self.extended else torch.cat([train, test])
        pairs = self.pairs(network, inputs)
        signed = pairs.vectors * signs(pairs.vectors)
        table = {
            "index": np.arange(1, len(pairs.values) + 1),
            "eigenvalue": pairs.values.numpy() / len(inputs),
            "residual": (pairs.residuals / pairs.values).numpy(),
        }
        if self.extended:
            signed = extended(network, train, test, signed, pairs.values)
        return {
            "eigenpairs": table,
            "vectors": signed.t().contiguous().float().numpy(),
        }

    def pairs(self, network: torch.nn.Module, inputs: Tensor) -> Pairs:
        """The leading eigenpairs of K on these inputs."""
        examples = len(inputs)
        if examples <= DENSE:
            # ResNet18's eigenvalues fall by eight powers of ten, which is what float32 has.
            exact = copy.deepcopy(network).double()
            gram = tangent_kernel(exact, inputs.double(), layers=False).gram
            return dense(gram, min(self.count, examples))
        # The basis and the eigenvectors; the gradients are gone by then, and take less.
        vectors = 4 * examples * (block_and_basis(examples, self.count)[1] + 2 * self.count)
        room, triangle = available_bytes(), triangle_bytes(examples, 4)
        weights = sum(parameter.numel() for parameter in network.parameters())
        refuse_beyond(
            f"study.train_examples={self.train_examples}",
            f"{self.count:,} eigenpairs of {examples:,} images",
            vectors,
            room,
        )
        why = ""
        if examples >= 2 * weights:
            why = f"{examples:,} images are twice the {weights:,} weights or more"
        elif triangle + vectors > room:
            why = f"the kernel of {examples:,} images takes {triangle / 2**30:.3g} GiB"
        if why:
            print(f"products by the gradients, without the kernel: {why}", file=sys.stderr)
            kernel: Matrix = TangentFeatures(network, check=False).operator(inputs)
        else:
            kernel = RowBlocks.triangle(StoredFactors.of(network, inputs))
        return leading_eigenpairs(kernel, self.count, generator(self.seed, "krylov"))


def dense(kernel: Tensor, count: int) -> Pairs:
    """The leading eigenpairs among all."""
    gram = kernel.numpy()
    last = len(gram)
    values, vectors = scipy.linalg.eigh(gram, subset_by_index=[last - count, last - 1])
    values, vectors = values[::-1].copy(), vectors[:, ::-1].copy()
    residuals = np.linalg.norm(gram @ vectors - vectors * values, axis=0)
    return Pairs(*map(torch.from_numpy, (values, vectors, residuals)))


def extended(
    network: torch.nn.Module, train: Tensor, test: Tensor, vectors: Tensor, values: Tensor
) -> Tensor:
    """Eigenvectors of training images with further rows for test images, by
    phi_j(x) = k(x, X) v_j / mu_j, as columns that phi_j is sqrt(n) times, n all images."""
    stored = StoredFactors.of(network, torch.cat([train, test]))
    of_train, count = slice(0, len(train)), len(stored)
    blocks = [
        stored.gram(slice(start, min(start + ROWS, count)), of_train) @ (vectors / values).to(train)
        for start in range(len(train), count, ROWS)
    ]
    whole = torch.cat([vectors, *(block.to(vectors) for block in blocks)])
    return whole.mul_((len(train) / count) ** 0.5)


def signs(vectors: Tensor) -> Tensor:
    """The sign of each column's largest entry: an eigenvector has none of its own."""
    largest = vectors.abs().argmax(0)
    return vectors.gather(0, largest[None])[0].sign()
