"""Refuses a run that needs files of other runs which are not there and not asked for."""

from __future__ import annotations

from omegaconf import DictConfig, OmegaConf

from ntkexp.compose.check import steps_an_epoch
from ntkexp.compose.finalise import Parent, parents
from ntkexp.compose.size import parameters
from ntkexp.config import StudyConfig, TrainConfig
from ntkexp.errors import UserError
from ntkexp.studies.base import Study


def refuse_unmet(config: DictConfig) -> None:
    """Refuse a run that needs what is not there and not asked for, or what no run writes."""
    for parent in parents(config):
        if parent.finished:
            parent.checksum  # noqa: B018 - which names the files that there are
            continue
        if parent.how is not None:
            _refuse_unwritten(parent, parent.how.config)
            _refuse_other_network(parent, parent.how.config, config)
        if parent.how is None or not config.with_parents:
            raise UserError(missing(parent))
        refuse_unmet(parent.how.config)


def missing(parent: Parent) -> str:
    """The message that a needed run is not there, and how to make it."""
    if parent.how is None:
        return f"{parent.key}.run={parent.folder}: is not finished; expected a run that is"
    return (
        f"{parent.key}: needs {parent.file} of {parent.folder}, which is not finished; "
        f"--with-parents makes it first, as does\n{parent.how.line}"
    )


def _refuse_unwritten(parent: Parent, config: DictConfig) -> None:
    """Refuse a file that the run of `config` will not write."""
    made = OmegaConf.to_object(config)
    weights = _weights(config) if isinstance(made, TrainConfig) else []
    if parent.file in weights or _may_write(made, parent.file):
        return
    # torch is worth its second only where a table is asked for.
    only_weights = parent.key == "weights" and bool(weights)
    there = [*weights, *([] if only_weights else _tables(made))]
    if parent.file not in there:
        raise UserError(
            f"{parent.key}.file={parent.file}: {config.name} with these options does not write it; "
            f"it writes {', '.join(there)}"
        )


def _weights(config: DictConfig) -> list[str]:
    """The weights that a training run keeps: the last ones, and those of steps that it reaches."""
    epochs, an_epoch = config.optim.epochs, steps_an_epoch(config)
    limits = [config.optim.steps, epochs and an_epoch and epochs * an_epoch]
    last = min((limit for limit in limits if limit is not None), default=None)
    reached = [step for step in config.keep.weights if last is None or step <= last]
    return ["weights.pt", *(f"weights.{step}.pt" for step in reached)]


def _may_write(made: object, file: str) -> bool:
    """Which arrays a study keeps, and which files the work of one has, is known when it is run."""
    if not isinstance(made, StudyConfig) or file.endswith(".parquet"):
        return False
    return file.endswith(".npy") or type(made.study).work is not Study.work


def _tables(made: object) -> list[str]:
    if isinstance(made, TrainConfig):
        from ntkexp.training import experiment

        tables = experiment.tables(made, experiment.build_probes(made))
    else:
        from ntkexp.training import study

        assert isinstance(made, StudyConfig)
        tables = study.tables_of(made)
    names = [*(table.name for table in tables), *(["members"] if made.members else [])]
    return [f"{name}.parquet" for name in names]


def _refuse_other_network(parent: Parent, config: DictConfig, child: DictConfig) -> None:
    """Refuse weights of a network with more or fewer parameters, where options tell their number.

    Its layers are compared when the weights are there.
    """
    if parent.key != "weights" or config.members or child.members or child.weights.fresh:
        return
    theirs, ours = parameters(config), parameters(child)
    if theirs and ours and theirs != ours and theirs[1] == ours[1]:
        raise UserError(
            f"weights: the network of {config.name} has {theirs[0]:,} parameters, this one "
            f"{ours[0]:,}; expected a network like this, or weights.fresh=[...] for layers that "
            "begin anew"
        )
