"""launcher=ensemble: jobs of one architecture train as one stack of networks, in one process."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from typing import Any

from omegaconf import DictConfig, OmegaConf

from ntkexp.config import EXECUTION_KEYS
from ntkexp.errors import UserError
from ntkexp.execute import Command, train
from ntkexp.launch.job import Job
from ntkexp.launch.local import run_units
from ntkexp.launch.pool import Unit
from ntkexp.launch.slots import visible_gpus
from ntkexp.models import Model
from ntkexp.threads import cores

# The keys in which members of one ensemble may differ.
FREE = (
    "seed",
    "data.noise",
    "optim.lr",
    "optim.momentum",
    "optim.weight_decay",
    "optim.stop_loss",
    "optim.stop_patience",
)


def run(jobs: Sequence[Job], config: DictConfig, command: Command, settled: int) -> int:
    """Train the jobs of each architecture together; 128 + n when signal n ended the sweep."""
    if command is not train:
        raise UserError("launcher=ensemble: trains networks; for a study take launcher=local")
    for job in jobs:
        refuse_batch_norm(job.config)
    groups = alike(jobs)
    if len(jobs) > 1 and len(groups) == len(jobs):
        raise UserError(
            f"launcher=ensemble: no two of the {len(jobs)} jobs can train together; members may "
            f"differ in {', '.join(FREE)} only; take launcher=local"
        )
    room = config.launcher.jobs or len(visible_gpus()) or cores()
    units = [
        Unit(members, partial(_train_together, members))
        for group in groups
        for members in shared_out(group, -(-room // len(groups)))
    ]
    return run_units(units, config, command, settled)


def alike(jobs: Sequence[Job]) -> list[list[Job]]:
    """Groups of jobs that are the same but for the keys in FREE."""
    groups: dict[str, list[Job]] = {}
    for job in jobs:
        groups.setdefault(_architecture(job.config), []).append(job)
    return list(groups.values())


def shared_out(group: Sequence[Job], processes: int) -> list[Sequence[Job]]:
    """`group` in as many equal parts: two processes of one thread each need not wait for each
    other at every step, as two threads of one process do."""
    count = min(processes, len(group))
    return [group[index::count] for index in range(count)]


def refuse_batch_norm(config: DictConfig) -> None:
    model = OmegaConf.to_object(config.model)
    assert isinstance(model, Model)
    if model.couples_examples():
        raise UserError(
            "launcher=ensemble: model.norm=batch keeps running statistics, which cannot be "
            "stacked; take model.norm=none or launcher=local"
        )


def _architecture(config: DictConfig) -> str:
    told = OmegaConf.to_container(config, resolve=True, enum_to_str=True)
    assert isinstance(told, dict)
    for key in FREE:
        _forget(told, key)
    return json.dumps({k: v for k, v in told.items() if k not in EXECUTION_KEYS}, sort_keys=True)


def _forget(node: dict[Any, Any], key: str) -> None:
    first, _, rest = key.partition(".")
    if rest and first in node:
        _forget(node[first], rest)
    else:
        node.pop(first, None)


def _train_together(members: Sequence[Job]) -> int:
    from ntkexp.launch.together import train_together

    return train_together([(job.config, job.folder, job.asked) for job in members])
