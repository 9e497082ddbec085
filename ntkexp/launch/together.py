"""The life of several runs in one process, from their locks to the status that each ends with."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path

from omegaconf import DictConfig, OmegaConf

from ntkexp.config import TrainConfig
from ntkexp.data import reading_once
from ntkexp.errors import Diverged, UserError
from ntkexp.execute import DONE, begin, cut_short, finish, signals
from ntkexp.probes import Probe
from ntkexp.results.store import Run
from ntkexp.training import experiment
from ntkexp.training.ensemble import Ensemble


def train_together(jobs: Sequence[tuple[DictConfig, Path]]) -> int:
    """Train the networks of these configs as one ensemble, every run in its own folder."""
    began = time.monotonic()
    names = [folder.name for _, folder in jobs]
    planned: list[tuple[TrainConfig, dict[str, Probe], Run]] = []
    code = DONE
    with ExitStack() as stack, signals() as asked:
        for config, folder in jobs:
            plain = OmegaConf.to_object(config)
            assert isinstance(plain, TrainConfig)
            probes = experiment.build_probes(plain)
            # All locks before any run begins: where one is taken, the others are as they were.
            run = stack.enter_context(Run(folder, experiment.tables(probes)))
            planned.append((plain, probes, run))
        for (config, _), (_, _, run) in zip(jobs, planned, strict=True):
            begin(run, config, strategy="ensemble", members=names)
        unfinished = [run for _, _, run in planned]

        def ended(index: int, error: Diverged | None) -> None:
            nonlocal code
            trainer = trainers[index]
            unfinished.remove(trainer.run)
            if error is not None:
                code = cut_short(trainer.run, error, asked)
                return
            experiment.publish_weights(trainer)
            finish(trainer.run, began)

        try:
            with reading_once():
                trainers = [experiment.trainer_of(*plan) for plan in planned]
            ensemble = Ensemble(trainers, ended)
            ensemble.train(lambda: bool(asked), progress=jobs[0][0].progress)
        except Exception as error:
            # One process, one fate: whatever stopped it stopped all that were still training.
            for run in unfinished:
                with suppress(UserError):
                    code = cut_short(run, error, asked)
            if isinstance(error, UserError):
                raise
    return code
