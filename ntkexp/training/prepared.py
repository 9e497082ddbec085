"""All that a run needs but its folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn

from ntkexp.config import ExperimentConfig, TrainConfig
from ntkexp.data import Dataset
from ntkexp.errors import UserError
from ntkexp.models.torch import Torch
from ntkexp.objectives.base import Loss
from ntkexp.objectives.metrics import Metric
from ntkexp.probes import Batch, Probe
from ntkexp.results.table import Table
from ntkexp.tangent.independence import Check
from ntkexp.training.schedule import Looks
from ntkexp.training.work import Work
from ntkexp.transforms.base import Transformed

CPU = torch.device("cpu")


@dataclass(frozen=True)
class NetworkOnData:
    """A network, its data and its objective, and the probes with the batches that they look at.

    `model` is trained: the network, or the module that a transform made of it. `batches` are those
    of the probes, `metrics` what `evaluate.metrics` names.
    """

    config: TrainConfig
    dataset: Dataset
    objective: Loss
    model: nn.Module
    transformed: Transformed
    probes: Mapping[str, Probe]
    batches: Mapping[str, Batch]
    metrics: Sequence[Metric] = ()

    def how_evaluated(self, split: str) -> dict[str, Any]:
        """The options of `judged` (ntkexp/objectives/evaluate.py) for a split."""
        config = self.config.evaluate
        return {
            "examples": config.train_examples if split == "train" else config.test_examples,
            "batch_size": config.batch_size,
            "subsets": config.subsets,
            "metrics": self.metrics,
        }


@dataclass(frozen=True)
class Ready:
    """A work that is built and checked, and what the loop needs beside it.

    `probes` has the probes of each of its views, `tables` all that a run of it writes, `keep_at`
    the steps at which its files are kept. `data` are the checksums of what it reads, kept for all
    lives of the run; `about` are further facts for the provenance of this life. `check` is that of
    the tangent kernels (tangent/independence.py). `limit` is the option that ends it at the latest,
    where several could. `device` is the one it computes on.
    """

    work: Work
    tables: Sequence[Table]
    looks: Looks = field(default_factory=Looks)
    probes: Sequence[Mapping[str, Probe]] = ()
    data: Mapping[str, str] = field(default_factory=dict)
    about: Mapping[str, Any] = field(default_factory=dict)
    check: Check = True
    label: str = "training"
    limit: str = ""
    keep_at: Sequence[int] = ()
    device: torch.device = CPU


def check_of(config: ExperimentConfig) -> Check:
    """The check that kernels make for coupled examples; False for networks of ntkexp, which couple
    none."""
    kinds = (getattr(config, "model", None), getattr(config, "transform", None))
    foreign = isinstance(kinds[0], Torch)
    if not foreign and all(type(kind).__module__.startswith("ntkexp.") for kind in kinds):
        return False
    return "warn" if config.probing.check == "warn" else True


def refuse_unoffered(probes: Mapping[str, Probe], work: Work) -> None:
    """Refuse probes that ask for what the work does not have."""
    for name, probe in probes.items():
        if missing := probe.needs - work.offers:
            offered = ", ".join(sorted(work.offers)) or "nothing"
            raise UserError(
                f"probe.{name}: looks at {', '.join(sorted(missing))}; there is {offered} to see; "
                f"~probe.{name} leaves it out"
            )
