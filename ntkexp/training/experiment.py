"""From a checked config to a trained network: data, model, probes, then the loop."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch

from ntkexp import data, models, probes
from ntkexp.config import TrainConfig
from ntkexp.data import Dataset
from ntkexp.errors import UserError
from ntkexp.freed_memory import keep_freed_memory
from ntkexp.probes import Batch, Probe
from ntkexp.results import Run, Table
from ntkexp.seeds import generator
from ntkexp.training import device as devices
from ntkexp.training.loop import TABLES, Trainer
from ntkexp.training.prepared import Prepared
from ntkexp.training.saving import saved
from ntkexp.training.schedule import probe_steps


def build_probes(config: TrainConfig) -> dict[str, Probe]:
    """The probes of a checked config."""
    return probes.build(config.probe)


def tables(built: Mapping[str, Probe]) -> list[Table]:
    """Every table that a run with these probes writes."""
    found = list(TABLES)
    for probe in built.values():
        found += [table for table in probe.tables if table not in found]
    return found


def prepare(config: TrainConfig) -> Prepared:
    """Data, model and probes, built and checked together; nothing of a run is written."""
    built = build_probes(config)
    keep_freed_memory()
    device = devices.resolve(config.device)
    devices.set_precision(tf32=config.tf32, deterministic=config.deterministic)
    dataset = data.load(config.data, config.seed, device, progress=config.progress)
    model = models.build(config.model, dataset.input_shape, dataset.outputs, config.seed).to(device)
    probe_steps(config.probing, last=0)
    return Prepared(
        config=config,
        dataset=dataset,
        model=model,
        probes=built,
        batches=probe_batches(config, dataset, built),
        tables=tables(built),
        facts=devices.facts(device) | {"remarks": dataset.remarks},
    )


def train(
    prepared: Prepared, run: Run, checkpoint: bytes | None, stop_asked: Callable[[], bool]
) -> None:
    """Train until fitted or at the limit, probing along the way; rows and weights go to `run`."""
    trainer = Trainer(prepared, run, checkpoint)
    trainer.train(stop_asked)
    stage_weights(trainer)


def stage_weights(trainer: Trainer) -> None:
    # Copies: a weight may be part of a larger tensor, which would be saved whole.
    weights = {name: part.to("cpu", copy=True) for name, part in trainer.model.state_dict().items()}
    trainer.run.stage("weights.pt", saved(weights))


def probe_batches(
    config: TrainConfig, dataset: Dataset, built: Mapping[str, Probe]
) -> dict[str, Batch]:
    """The fixed examples that the probes look at, drawn by the seed alone."""
    wanted = frozenset[str]().union(*(probe.batches() for probe in built.values()))
    pools = {
        "train": (dataset.train, torch.ones_like(dataset.train.difficult)),
        "test": (dataset.test, torch.ones_like(dataset.test.difficult)),
        "easy": (dataset.train, ~dataset.train.difficult),
        "difficult": (dataset.train, dataset.train.difficult),
    }
    drawn = {}
    for name, (split, members) in pools.items():
        if name not in wanted:
            continue
        pool = members.nonzero()[:, 0].cpu()
        if len(pool) < config.probing.examples:
            raise UserError(
                f"probing.examples={config.probing.examples}: "
                f"there are {len(pool)} {name} examples; expected at most that many"
            )
        order = torch.randperm(len(pool), generator=generator(config.seed, f"probe {name}"))
        chosen = pool[order[: config.probing.examples]].to(split.targets.device)
        drawn[name] = Batch(split.inputs[chosen], split.targets[chosen])
    return drawn
