"""The life of several runs in one process, from their locks to the status that each ends with."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path

from omegaconf import DictConfig, OmegaConf

from ntkexp import multiplications, threads
from ntkexp.config import TrainConfig
from ntkexp.data import reading_once
from ntkexp.errors import Diverged, UserError
from ntkexp.execute import DONE, Asked, Work, begin, cut_short, finish, signals
from ntkexp.results.status import begun_with
from ntkexp.results.store import Run
from ntkexp.training import experiment
from ntkexp.training.ensemble import Ensemble
from ntkexp.training.loop import Trainer


def train_together(jobs: Sequence[tuple[DictConfig, Path, Asked]]) -> int:
    """Train the networks of these configs as one ensemble, every run in its own folder."""
    began = time.monotonic()
    names = [folder.name for _, folder, _ in jobs]
    code = DONE
    with ExitStack() as stack, signals() as asked:
        with reading_once():
            prepared = [experiment.prepare(_plain(config)) for config, _, _ in jobs]
        if asked:
            print("interrupted before the runs began", file=sys.stderr)
            return 128 + asked[0]
        # All locks before any run begins: where one is taken, the others are as they were.
        runs = [
            stack.enter_context(Run(folder, one.tables))
            for (_, folder, _), one in zip(jobs, prepared, strict=True)
        ]
        # One process, one number of threads: that of the member who was begun with most.
        sizes = [multiplications.of_a_step(config) or 0 for config, _, _ in jobs]
        wanted = threads.wanted(jobs[0][0], work=sum(sizes))
        kept = [begun_with(folder).get("threads", 0) for _, folder, _ in jobs]
        wanted = threads.Wanted(max(kept)) if any(kept) else wanted
        trainers = []
        for (config, _, words), one, run in zip(jobs, prepared, runs, strict=True):
            work = Work(one.tables, _never, one.dataset.checksums, one.facts)
            checkpoint = begin(
                run, config, work, words, wanted=wanted, strategy="ensemble", members=names
            )
            trainers.append(Trainer(one, run, checkpoint))
        threads.use(wanted.number)
        unfinished = list(runs)

        def ended(index: int, error: Diverged | None) -> None:
            nonlocal code
            trainer = trainers[index]
            unfinished.remove(trainer.run)
            if error is not None:
                code = cut_short(trainer.run, error, asked)
                return
            experiment.stage_weights(trainer)
            finish(trainer.run, began)

        try:
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


def _plain(config: DictConfig) -> TrainConfig:
    plain = OmegaConf.to_object(config)
    assert isinstance(plain, TrainConfig)
    return plain


def _never(run: Run, checkpoint: bytes | None, stop_asked: object) -> None:
    raise AssertionError("the members of an ensemble advance together")
