"""From a checked config to a network on its data, with the probes that look at it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import cast

import torch

from ntkexp import data, models, probes
from ntkexp.config import TrainConfig
from ntkexp.models.weights import start_from
from ntkexp.objectives.metrics import of_objective
from ntkexp.probes import Probe
from ntkexp.results.table import Table
from ntkexp.training import device as devices
from ntkexp.training.function_space.routes import work_of
from ntkexp.training.members.side_by_side import tables_of_members
from ntkexp.training.members.stacked import StackedMembers
from ntkexp.training.place import probe_batches, subset_of
from ntkexp.training.prepared import NetworkOnData, Ready, check_of
from ntkexp.training.schedule import looks_of
from ntkexp.training.supervised import Supervised
from ntkexp.training.work import refuse_unoffered
from ntkexp.transforms.linearise import Linearised

# The values in which one of many networks differs from the others, and its config.
Member = tuple[Mapping[str, object], TrainConfig]


def build_probes(config: TrainConfig) -> dict[str, Probe]:
    """The probes of a checked config."""
    return probes.build(config.probe)


def tables(config: TrainConfig, built: Mapping[str, Probe]) -> list[Table]:
    """Every table that a run with these probes writes."""
    tables = Supervised.tables(config)
    for probe in built.values():
        tables += [table for table in probe.tables if table not in tables]
    return tables


def prepare(
    config: TrainConfig, members: Sequence[Member] = (), *, one_of_many: bool = False
) -> Ready:
    """Data, network and probes, built and checked together; nothing of a run is written.

    `one_of_many`: the network is one of several in its run.
    """
    if members:
        return prepare_members(config, members)
    built = build_probes(config)
    device = devices.resolve(config.device)
    devices.set_precision(device, tf32=config.tf32, deterministic=config.deterministic)
    prepared = network_on_data(config, built, device)
    # Looked up here: a subset or metric that does not exist is refused before the run begins.
    for name in config.evaluate.subsets:
        subset_of(prepared.dataset.train, name, f"evaluate.subsets={name}:")
    of_objective(prepared.objective, config.evaluate.metrics)
    if isinstance(prepared.model, Linearised):
        work, route = work_of(prepared, one_of_many=one_of_many)
    else:
        work, route = Supervised(prepared), {}
    refuse_unoffered(built, work)
    return Ready(
        work=work,
        tables=tables(config, built),
        looks=looks_of(config.probing, work.last),
        probes=[built],
        data=prepared.dataset.checksums,
        keep_at=config.keep.weights,
        check=check_of(config),
        limit=work.limit,
        device=device,
        about=devices.facts(device) | {"remarks": prepared.dataset.remarks} | route,
    )


def prepare_members(config: TrainConfig, members: Sequence[Member]) -> Ready:
    """Many networks in one run; what they have in common lies in memory once."""
    columns = [values for values, _ in members]
    with data.sharing():
        singles = [prepare(member, one_of_many=True) for _, member in members]
    written = tables_of_members(singles[0].tables, columns[0])
    works = [cast(Supervised, single.work) for single in singles]
    work = StackedMembers(works, columns, written)
    return replace(
        singles[0],
        work=work,
        tables=written,
        looks=looks_of(config.probing, work.last),
        probes=[probes for single in singles for probes in single.probes],
        check=next((single.check for single in singles if single.check), False),
        label=f"{len(members)} networks",
        limit=singles[0].limit if len({single.limit for single in singles}) == 1 else "",
    )


def network_on_data(
    config: TrainConfig, built: Mapping[str, Probe], device: torch.device
) -> NetworkOnData:
    dataset = data.load(config.data, config.seed, device, progress=config.progress)
    dataset = config.objective.seen(dataset)
    objective = config.objective.build(dataset.train.targets, dataset.classes)
    model = models.build(config.model, dataset.input_shape, objective.outputs, config.seed)
    if config.weights.run is not None:
        start_from(model, config.weights)
    transformed = config.transform.build(model.to(device), dataset.train)
    return NetworkOnData(
        config=config,
        dataset=dataset,
        objective=objective,
        model=transformed.module,
        transformed=transformed,
        probes=built,
        batches=probe_batches(config, dataset, built, config.seed),
    )
