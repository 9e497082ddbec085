"""All that a training run needs but its folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from torch import nn

from ntkexp.config import TrainConfig
from ntkexp.data import Dataset
from ntkexp.probes import Batch, Probe
from ntkexp.results import Table


@dataclass(frozen=True)
class Prepared:
    """A network, what it is trained on, and what looks at it on which examples.

    `tables` are all that a run of it writes, `facts` what its provenance says of the device.
    """

    config: TrainConfig
    dataset: Dataset
    model: nn.Module
    probes: Mapping[str, Probe]
    batches: Mapping[str, Batch]
    tables: Sequence[Table]
    facts: Mapping[str, Any]
