"""`ntkexp.watch`: the probes look at a network while code of one's own trains it.

with ntkexp.watch(model, batches={"train": (x, y), "test": (x, y)}, out="outputs/mine/0") as w:
    for step, (inputs, targets) in enumerate(loader, start=1):
        ...
        optimizer.step()
        w.after_step(step, loss)

Looks are log-spaced, from step 0 to the last. Between looks it keeps the loss and does nothing
else; a look leaves weights, modes, buffers, gradients and random numbers as they are.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from numbers import Integral, Real
from pathlib import Path
from typing import Any

import torch
from omegaconf import OmegaConf
from torch import Tensor, nn

from ntkexp import probes as all_probes
from ntkexp.data.dataset import Split
from ntkexp.errors import UserError
from ntkexp.foreign.examples import bytes_of, inputs_of, splits_of
from ntkexp.foreign.wrapped import bare
from ntkexp.home import at_home
from ntkexp.loggers.mirror import scalar_tables, series_of
from ntkexp.objectives.evaluate import EVALS
from ntkexp.options import MANY
from ntkexp.probes.base import Probe
from ntkexp.results import Run
from ntkexp.results.numbers.standing import tables_of
from ntkexp.results.provenance import provenance
from ntkexp.results.reading import kept_arrays
from ntkexp.results.status import flat_config, read_status, refuse_damaged
from ntkexp.results.table import STEP, Table, float64
from ntkexp.studies.looking import LookedAt, on_device
from ntkexp.tangent.batch import Inputs, parts_of
from ntkexp.training.loop import Loop
from ntkexp.training.prepared import refuse_unoffered
from ntkexp.training.schedule import listed, log_steps

LOSSES = Table(
    "losses",
    "the loss that a watched loop gave of a step",
    {"step": STEP, "loss": float64("of a step, as it was given; of several batches their mean")},
)


class Watch:
    """Watches `model` as a context.

    Args:
        model: the network; what DistributedDataParallel, torch.compile or accelerate put around it
            or its submodules comes off for a look.
        batches: `train` and `test`, inputs and targets of the examples to look at.
        out: the run's folder, outputs/NAME/ANY: `ntkexp figures alignment 2 3 --exp NAME` draws it.
        probes: their names.
        objective: cross_entropy, binary or squared_error; what suits the targets unless told.
        log: is given the scalars of every look, and its step, as `wandb.log` takes them.
        resume: the step from which training goes on; what the folder has of later ones is dropped.
        anew: True begins a run anew where the folder holds one and nothing says `resume`, and at
            `resume` where it holds none; both are refused otherwise.
    """

    def __init__(
        self,
        model: nn.Module,
        *,
        batches: Mapping[str, tuple[Inputs, Tensor]],
        out: str | Path,
        probes: Sequence[str] = ("spectrum", "alignment"),
        objective: str = "usual",
        log: Callable[..., object] | None = None,
        resume: int | None = None,
        anew: bool = False,
    ) -> None:
        self.network, self.log, self.out = bare(model), log, Path(at_home(out))
        self.resume, self.anew = resume, anew
        self.idle = torch.distributed.is_available() and torch.distributed.is_initialized() and (
            torch.distributed.get_rank() != 0)  # fmt: skip
        self.looks = frozenset(log_steps(MANY))
        self.probes: dict[str, Probe] = all_probes.build({name: {"name": name} for name in probes})
        self._losses: list[tuple[int, list[Any]]] = []
        self._since_update: list[Any] = []
        if self.idle:
            return
        device = next(self.network.parameters()).device
        if not isinstance(batches, Mapping):
            raise UserError(f"batches: got a {type(batches).__name__}; expected "
                            "{'train': (x, y), 'test': (x, y)}")  # fmt: skip
        if missing := {"train", "test"} - batches.keys():
            raise UserError(f"batches: no {' and '.join(sorted(missing))}; expected train and test")
        splits = splits_of("batches", batches)
        splits = {name: on_device(split, device) for name, split in splits.items()}
        self.work = LookedAt(
            self.network,
            splits,
            self.probes,
            objective,
            examples=min(len(split) for split in splits.values()),
            last=MANY,
        )
        refuse_unoffered(self.probes, self.work)
        self.sums = {name: _sum(split) for name, split in splits.items()}
        self.config = {"name": self.out.parent.name, "seed": 0, "watch": self.sums,
                       "probe": {name: {"name": name} for name in probes}}  # fmt: skip

    def __enter__(self) -> Watch:
        if self.idle:
            return self
        of_probes = [table for probe in self.probes.values() for table in probe.tables]
        self.run = Run(self.out, [EVALS, LOSSES, *of_probes])
        kept = self._kept()
        self.run.__enter__()
        try:
            self._begin(*kept)
        except BaseException:
            # Nobody calls __exit__ then.
            self.run.__exit__()
            raise
        return self

    def _begin(self, kept: Mapping[str, Any], arrays: Mapping[str, bytes]) -> None:
        """Before a file changes there is a commit: a kill leaves what was there, or this; and a
        network that cannot be looked at leaves no folder."""
        self.loop = Loop(self.work, self.run, looks=listed(()), probes=[self.probes])
        if self.resume is None or not len(kept.get("evals", ())):
            self._look(self.resume or 0)
        else:
            for name, frame in kept.items():
                self.run.add(name, {column: frame[column].to_numpy() for column in frame})
            for name, content in arrays.items():
                self.run.keep(name, content)
            self.work.step = self.resume
            self.loop.looked = int(kept["evals"]["step"].max())
            self.loop.commit()
        self.run.begin(OmegaConf.to_yaml(OmegaConf.create(self.config)), provenance())

    def after_step(self, step: int, loss: Any = None) -> None:
        """Call it after `optimizer.step()`, with the number of steps made by then. Where gradients
        are accumulated it may be called after each batch: the same number again brings no look,
        and the loss of a step is the mean of those since the step before."""
        if self.idle:
            return
        if not isinstance(step, Integral):
            raise UserError(f"after_step({step!r}): expected a whole number of steps")
        one = loss.numel() == 1 if isinstance(loss, Tensor) else isinstance(loss, Real | None)
        if not one:
            came = tuple(loss.shape) if isinstance(loss, Tensor) else repr(loss)
            raise UserError(f"after_step({step}): the loss is {came}; expected one number")
        if step < self.work.step:
            raise UserError(f"after_step({step}): comes after step {self.work.step}; expected the "
                            "steps made since training began, over all epochs")  # fmt: skip
        if loss is not None:
            # A copy: the loop may write its next loss into the same tensor.
            kept = loss.detach().clone() if isinstance(loss, Tensor) else loss
            self._since_update.append(kept)
        if step > self.work.step and self._since_update:
            self._losses.append((step, self._since_update))
            self._since_update = []
        if step in self.looks and step > self.loop.looked:
            self._look(step)
        self.work.step = step

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        if self.idle:
            return
        try:
            try:
                if self.loop.looked < self.work.step:
                    self._look(self.work.step)
            except UserError:  # of weights that are not finite, for example
                if kind is None:  # else the caller hears of what ended the loop
                    raise
            if kind is None:
                self.run.finish()
        finally:
            self.run.__exit__(kind, *error)

    def _look(self, step: int) -> None:
        self.work.step = step
        # Under autocast outputs are of half precision, and of weights before the last update: it
        # keeps their copies to the end of its block.
        with torch.autocast(next(self.network.parameters()).device.type, enabled=False):
            self.loop.look(None, scheduled=True)
        for of_step, losses in self._losses:
            mean = sum(map(float, losses)) / len(losses)
            self.run.add("losses", {"step": of_step, "loss": mean})
        self._losses = []
        if self.log is not None:
            rows = scalar_tables(self.run.pending())
            self.log(
                {f"{series.name}/{column}": float(values[-1])
                 for series in series_of(rows) for column, values in series.values.items()},
                step=step,
            )  # fmt: skip
        self.loop.commit()

    def _kept(self) -> tuple[dict[str, Any], dict[str, bytes]]:
        """Tables and arrays of the folder, up to the step from which training goes on."""
        holds_run = (self.out / "status.json").exists()
        if self.resume is None or not holds_run:
            if holds_run and not self.anew:
                raise UserError(
                    f"{self.out}: holds a run, and this training begins at step 0; anew=True "
                    "begins anew, resume=STEP goes on (callbacks hear of it from their trainer)"
                )
            if self.resume is not None and not self.anew:
                raise UserError(
                    f"resume={self.resume}: {self.out} holds no run; anew=True begins one there"
                )
            return {}, {}
        refuse_damaged(self.out, read_status(self.out) or {})
        before = flat_config(self.out)
        for name, sum_ in self.sums.items():
            if before.get(f"watch.{name}") != sum_:
                raise UserError(f"batches: {name} is not the batch that {self.out} looked at")
        tables = tables_of(self.out)
        if others := sorted(tables.keys() - self.run.tables.keys()):
            raise UserError(f"probes: {self.out} has tables of others ({', '.join(others)}); "
                            "expected those probes, too")  # fmt: skip
        until = {name: rows[rows["step"] <= self.resume] for name, rows in tables.items()}
        arrays = kept_arrays(self.out)  # NAME.STEP.npy
        return until, {k: v for k, v in arrays.items() if int(k.split(".")[-2]) <= self.resume}


watch = Watch


def _sum(split: Split) -> str:
    digest = hashlib.sha256()
    for tensor in (*parts_of(inputs_of(split, slice(None))), split.targets):
        digest.update(bytes_of(tensor))
    return digest.hexdigest()
