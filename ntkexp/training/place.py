"""The place of a work: its run's config, the device, data, and the examples that probes look at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from ntkexp import data, probes
from ntkexp.config import ExperimentConfig, StudyConfig
from ntkexp.data import Dataset, Split
from ntkexp.data.base import Data
from ntkexp.errors import UserError
from ntkexp.probes import Batch, Probe
from ntkexp.probes.how_many import settle_for
from ntkexp.seeds import generator

SPLITS = ("train", "test")


@dataclass(frozen=True)
class Place:
    """Config, device and data for a study's work. `config` is that of the whole run, with
    `config.progress`, `config.probing` and `config.paths.outputs`."""

    config: StudyConfig
    device: torch.device

    def data(self, options: Data, seed: int) -> Dataset:
        """The examples of a data set, on the device."""
        return data.load(options, seed, self.device, progress=self.config.progress)

    def batches(self, dataset: Dataset, seed: int) -> dict[str, Batch]:
        """The fixed examples that the run's probes look at."""
        return probe_batches(self.config, dataset, probes.build(self.config.probe), seed)


def subset_of(split: Split, name: str, who: str) -> Tensor:
    """The mask of a named subset."""
    subsets = split.subsets()
    if name not in subsets:
        raise UserError(f"{who} asks for the subset {name}; there are {', '.join(subsets)}")
    return subsets[name]


def probe_batches(
    config: ExperimentConfig, dataset: Dataset, built: Mapping[str, Probe], seed: int
) -> dict[str, Batch]:
    """The fixed examples that the probes look at, drawn by the seed alone."""
    count, strict = config.probing.examples, config.examples_are_chosen
    wanted = frozenset[str]().union(*(probe.batches() for probe in built.values()))
    drawn = {}
    first = [name for name in (*SPLITS, "easy", "difficult") if name in wanted]
    for name in (*first, *sorted(wanted - set(first))):
        split = dataset.test if name == "test" else dataset.train
        members = subset_of(split, "all" if name in SPLITS else name, "a probe")
        pool = members.nonzero()[:, 0].cpu()
        # Of easy and difficult examples there are equally many: they are compared.
        settle_for(len(pool), count, name, strict=strict or name not in SPLITS)
        order = torch.randperm(len(pool), generator=generator(seed, f"probe {name}"))
        numbers = pool[order[:count]].to(split.targets.device)
        redrawn = bool(split.corrupted[numbers].any())
        clean = split.clean_targets[numbers] if redrawn else None
        drawn[name] = Batch(split.inputs[numbers], split.targets[numbers], clean)
    return drawn
