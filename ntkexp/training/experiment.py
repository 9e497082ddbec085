"""From a checked config to a network on its data, with the probes that look at it."""

from __future__ import annotations

import sys
from collections.abc import Mapping

import torch

from ntkexp import data, models, probes
from ntkexp.config import TrainConfig
from ntkexp.models.weights import start_from
from ntkexp.objectives.metrics import of_objective
from ntkexp.probes import Probe
from ntkexp.training import device as devices
from ntkexp.training.place import probe_batches, subset_of
from ntkexp.training.prepared import NetworkOnData, Ready, check_of, refuse_unoffered
from ntkexp.training.schedule import looks_of
from ntkexp.training.supervised import Supervised


def prepare(config: TrainConfig, *, one_of_many: bool = False) -> Ready:
    """Data, network and probes, built and checked together; nothing of a run is written.

    `one_of_many`: the network is one of several in its run.
    """
    built = probes.build(config.probe)
    device = devices.resolve(config.device)
    devices.set_precision(device, tf32=config.tf32, deterministic=config.deterministic)
    prepared = network_on_data(config, built, device)
    # Looked up here: a subset that does not exist is refused before the run begins.
    for name in config.evaluate.subsets:
        subset_of(prepared.dataset.train, name, f"evaluate.subsets={name}:")
    if config.transform.linear:
        from ntkexp.training.function_space.routes import work_of

        work, route = work_of(prepared, one_of_many=one_of_many)
    else:
        work, route = Supervised(prepared), {}
    refuse_unoffered(built, work)
    if (beyond := [step for step in config.keep.weights if step > work.last]) and not one_of_many:
        print(f"keep.weights={beyond}: beyond the last step, {work.last:,}", file=sys.stderr)
    return Ready(
        work=work,
        tables=probes.all_tables(Supervised.tables(config), built),
        looks=looks_of(config.probing, work.last),
        probes=[built],
        data=prepared.dataset.checksums,
        keep_at=config.keep.weights,
        check=check_of(config),
        limit=work.limit,
        device=device,
        about=devices.facts(device) | {"remarks": prepared.dataset.remarks} | route,
    )


def network_on_data(
    config: TrainConfig, built: Mapping[str, Probe], device: torch.device
) -> NetworkOnData:
    dataset = data.load(config.data, config.seed, device, progress=config.progress)
    dataset = config.objective.seen(dataset)
    objective = config.objective.build(dataset.train.targets, dataset.classes)
    named = config.evaluate.metrics
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
        metrics=of_objective(objective, named) if named else (),
    )
