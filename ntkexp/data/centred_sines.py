"""A sum of sines on [-1, 1), a control of ours: on [0, 1) networks fit the ends of the line
first.

ntkexp train +exp=spectral/symmetric
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from ntkexp.data.dataset import Dataset
from ntkexp.data.sines import Sines
from ntkexp.theory.float64 import Array


@dataclass
class CentredSines(Sines):
    """Inputs 2 z - 1, targets as in `sines`."""

    def inputs_at(self, z: Array) -> Tensor:
        return torch.from_numpy(2 * z[:, None] - 1).float()

    def build(self, seed: int, device: torch.device, *, progress: bool) -> Dataset:
        return self.dataset("centred_sines", seed, device)
