"""A block of rows of a tangent kernel: a kernel that no memory holds is a sweep of such runs.

ntkexp study -m +exp=kernel_rows 'study.block=range(0,60)'

Each run keeps one block as `rows.npy`, and `ntkexp.results.kernel(FOLDER)` reads them all as one
matrix. Of the kernel of a set with itself a block has the columns up to its own last row, the lower
triangle; `against` another set it has all columns. Features of rows and columns are computed by
passes over both, as many examples at a time as fit into memory.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import torch
from omegaconf import MISSING
from torch import Tensor, nn

from ntkexp import models
from ntkexp.data.base import Data
from ntkexp.data.dataset import Dataset
from ntkexp.errors import UserError
from ntkexp.foreign.weights import Reader, load_into
from ntkexp.models import Model
from ntkexp.models.weights import start_from
from ntkexp.options import MANY, SEED, Rule, count, one_of, option, whole
from ntkexp.references import StartFrom
from ntkexp.results.table import Table, boolean, int64, string
from ntkexp.studies.base import Study
from ntkexp.studies.stepped import Row, SteppedWork
from ntkexp.tangent import summed_kernel, tangent_kernel
from ntkexp.tangent.digest import description
from ntkexp.tangent.function import NetworkFunction

if TYPE_CHECKING:
    from ntkexp.training.place import Place

KERNEL_ROWS = Table(
    "kernel_rows",
    "the block of rows that is in rows.npy",
    {
        "block": int64("its number, from 0"),
        "blocks": int64("of the whole kernel"),
        "first": int64("its first row"),
        "symmetric": boolean("columns right of the diagonal block are left out"),
        "weights": string("digest of the network's weights"),
        "inputs": string("digest of the weights and all inputs"),
    },
)
SUM = "sum"
OUTPUT = Rule(lambda word: word == SUM or word.isdigit(), "sum, or the number of an output, from 0")


@dataclass
class KernelRows(Study):
    """The kernel of `split`, or of its rows with those of `against`. The network is as it was
    drawn, or has the weights of a run or of a file; norms take their running statistics."""

    tables: ClassVar = (KERNEL_ROWS,)
    tiny: ClassVar = {"rows": 20}

    seed: int = option(0, SEED, "of the data and of the weights that are drawn")
    data: Data = option(MISSING, about="the inputs")
    network: Model = option(MISSING, about="the network whose kernel it is")
    network_outputs: int | None = option(
        None, count("outputs", null="for as many as there are classes"), "of the network"
    )
    weights: StartFrom = field(default_factory=StartFrom)
    weights_file: str = option("", about="a file of weights of your own")
    split: str = option("train", one_of("train", "test", "all"), "examples of the rows")
    against: str | None = option(
        None, one_of("train", "test", "all"), "examples of the columns; null: those of the rows"
    )
    output: str | None = option(None, OUTPUT, "of several outputs the one, or their sum")
    rows: int = option(1000, count("rows"), "of a block")
    block: int = option(0, whole(0, MANY, "as a block"), "the number of the block, from 0")

    def check(self, config: Any = None) -> None:
        if self.weights_file and self.weights.run is not None:
            raise UserError(
                f"study.weights_file={self.weights_file}: expected it or study.weights, not both"
            )
        if self.weights_file and not Path(self.weights_file).is_file():
            raise UserError(f"study.weights_file={self.weights_file}: no such file")

    def files(self) -> Mapping[str, str]:
        own = [Path(self.weights_file)] if self.weights_file else []
        read = {str(file): hashlib.sha256(file.read_bytes()).hexdigest() for file in own}
        return {**super().files(), **read}

    def work(self, place: Place) -> Block:
        dataset = place.data(self.data, self.seed)
        outputs = self.network_outputs or dataset.classes or 1
        network = models.build(self.network, dataset.input_shape, outputs, self.seed)
        if self.weights.run is not None:
            start_from(network, self.weights)
        which = load_into(network, Path(self.weights_file), Reader()) if self.weights_file else ""
        rows = examples(dataset, self.split)
        columns = None if self.against is None else examples(dataset, self.against)
        block = Block(self, network.eval().to(place.device), rows, columns, outputs)
        block.remarks = (which,) if which else ()
        return block


def examples(dataset: Dataset, split: str) -> Tensor:
    train, test = dataset.train.inputs, dataset.test.inputs
    return torch.cat([train, test]) if split == "all" else {"train": train, "test": test}[split]


class Block(SteppedWork):
    """One step, which computes the block."""

    offers: frozenset[str] = frozenset()
    remarks: tuple[str, ...] = ()

    def __init__(
        self,
        study: KernelRows,
        network: nn.Module,
        rows: Tensor,
        columns: Tensor | None,
        outputs: int,
    ) -> None:
        super().__init__(last=1, seed=study.seed)
        self.study, self.network, self.inputs, self.columns = study, network, rows, columns
        self.blocks = -(-len(rows) // study.rows)
        if study.block >= self.blocks:
            raise UserError(
                f"study.block={study.block}: {len(rows):,} rows in blocks of {study.rows:,}; "
                f"expected 0 to {self.blocks - 1}"
            )
        one = study.output or "0"
        if outputs > 1 and (study.output is None or (one != SUM and int(one) >= outputs)):
            size = len(rows) * len(rows if columns is None else columns) * outputs**2 * 4 / 2**30
            raise UserError(
                f"study.output={study.output or 'null'}: the network has {outputs} outputs, and "
                f"the whole kernel takes {size:,.4g} GiB; expected sum, or one from 0 to "
                f"{outputs - 1}"
            )
        self.chosen = None if one == SUM else [int(one)]

    def update(self, step: int) -> Row:
        self.keep("rows", self.computed().cpu().numpy())
        function = NetworkFunction(self.network, self.chosen)
        both = (self.inputs,) if self.columns is None else (self.inputs, self.columns)
        row = {"block": self.study.block, "blocks": self.blocks, "first": self.part.start}
        digests = {"weights": description(function), "inputs": description(function, *both)}
        self.write(KERNEL_ROWS.name, {**row, "symmetric": self.columns is None, **digests})
        return {}

    @property
    def part(self) -> slice:
        first = self.study.block * self.study.rows
        return slice(first, min(first + self.study.rows, len(self.inputs)))

    def computed(self) -> Tensor:
        columns = self.inputs[: self.part.stop] if self.columns is None else self.columns
        rows = self.inputs[self.part]
        if self.chosen is None:
            return summed_kernel(self.network, rows, columns, layers=False).gram
        return tangent_kernel(self.network, rows, columns, outputs=self.chosen, layers=False).gram
