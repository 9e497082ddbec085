"""The training data of Examples 1 to 3 of George's thesis, section 5.4.4, for any network.

    ntkexp train +exp=lazy/dense_examples data.example=2

The formulas are those of ntkexp/theory/lazy; closed forms of the quadratic model on the same data:
ntkexp/studies/quadratic_examples.py.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import torch
from torch.nn import functional

from ntkexp.data.base import Data, Shape
from ntkexp.data.dataset import Dataset, Split
from ntkexp.errors import UserError
from ntkexp.options import count, each, option, positive, whole
from ntkexp.theory.lazy import quadratic_model as examples


@dataclass
class Constants:
    """The constants of the examples, by default those of the authors' code."""

    mu: list[float] = option([9.0, 8.0, 7.0, 6.0, 5.0], each(positive(1e6), 1), "of Example 1")
    n: int = option(20, whole(3, 1000, "examples"), "examples of Examples 2 and 3")
    q: int = option(5, count("examples"), "examples of the minority")
    noise_eta: float = option(5.0, positive(1e3), "Example 2: size of the noise")
    spurious_eta: float = option(10.0, positive(1e3), "Example 3: size of the spurious feature")
    core: float = option(1.0, positive(1e3), "Example 3: size of the true feature")

    def refuse_impossible(self, group: str) -> None:
        """Refuse constants of which no example can be made; `group` has them among its options."""
        if self.mu != sorted(self.mu, reverse=True):
            raise UserError(f"{group}.mu={self.mu}: Example 1 has them falling; expected [9,8,...]")
        if self.q >= -(-self.n // 2):
            raise UserError(
                f"{group}.q={self.q}: no minority of {group}.n={self.n} examples; expected fewer"
            )


@dataclass
class QuadraticExample(Constants, Data):
    """One of the examples as a training set; inputs are filled up with zeros.

    Groups: `example1`, `example2` ... in Example 1, `majority` and `minority` in the others. The
    test set is the training set; no draw is made.
    """

    example: int = option(1, whole(1, 3, "as an example of section 5.4.4"), "which of the three")
    inputs: int = option(200, count("numbers", most=100_000), "length of an input, with zeros")

    def subsets(self) -> frozenset[str]:
        if self.example == 1:
            return frozenset(f"example{number + 1}" for number in range(len(self.mu)))
        return frozenset({"majority", "minority"})

    def check(self, config: Any = None) -> None:
        needed = {1: len(self.mu), 2: self.n + 1, 3: self.n + 2}[self.example]
        if self.inputs < needed:
            raise UserError(
                f"data.inputs={self.inputs}: Example {self.example} has inputs of {needed} "
                "numbers; expected that many or more"
            )
        self.refuse_impossible("data")

    def shape(self) -> Shape:
        examples = len(self.mu) if self.example == 1 else self.n
        return Shape(inputs=(self.inputs,), outputs=1, examples=examples)

    def build(self, seed: int, device: torch.device, *, progress: bool) -> Dataset:
        if self.example == 1:
            X, y = examples.reversed_order(self.mu)
            groups = {f"example{i + 1}": torch.arange(len(y)) == i for i in range(len(y))}
        else:
            if self.example == 2:
                X, y = examples.label_noise(self.n, self.q, self.noise_eta)
            else:
                X, y = examples.spurious(self.n, self.q, self.spurious_eta, self.core)
            minority = torch.from_numpy(examples.minority(self.n, self.q))
            groups = {"majority": ~minority, "minority": minority}
        inputs = functional.pad(torch.from_numpy(X).float(), (0, self.inputs - X.shape[1]))
        split = Split.clean(inputs.to(device), torch.from_numpy(y).float().to(device))
        split = replace(split, groups={name: mask.to(device) for name, mask in groups.items()})
        return Dataset(
            name="quadratic_example",
            train=split,
            test=split,
            classes=None,
            input_shape=(self.inputs,),
            checksums={},
        )
