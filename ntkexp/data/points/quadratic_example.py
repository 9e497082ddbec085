"""Examples 1 to 3 of George's thesis as data sets; formulas: ntkexp/theory/lazy."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch.nn import functional

from ntkexp.data.dataset import Dataset, Split
from ntkexp.data.quadratic_example import QuadraticExample
from ntkexp.theory.lazy import quadratic_examples as examples


def load_quadratic_example(config: QuadraticExample, device: torch.device) -> Dataset:
    if config.example == 1:
        X, y = examples.reversed_order(config.mu)
        groups = {f"example{i + 1}": torch.arange(len(y)) == i for i in range(len(y))}
    else:
        if config.example == 2:
            X, y = examples.label_noise(config.n, config.q, config.noise_eta)
        else:
            X, y = examples.spurious(config.n, config.q, config.spurious_eta, config.core)
        few = torch.from_numpy(examples.minority(config.n, config.q))
        groups = {"majority": ~few, "minority": few}
    inputs = functional.pad(torch.from_numpy(X).float(), (0, config.inputs - X.shape[1]))
    split = Split.clean(inputs.to(device), torch.from_numpy(y).float().to(device))
    split = replace(split, groups={name: mask.to(device) for name, mask in groups.items()})
    return Dataset(
        name="quadratic_example",
        train=split,
        test=split,
        classes=None,
        input_shape=(config.inputs,),
        checksums={},
    )
