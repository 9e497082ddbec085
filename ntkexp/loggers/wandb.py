"""logger=[wandb]: Weights & Biases, with an account or `logger.wandb.mode=offline`.

pip install 'ntkexp[wandb]'
"""

from __future__ import annotations

from dataclasses import dataclass
from secrets import token_hex
from typing import Any, ClassVar

from ntkexp.loggers.base import About, Batch, Logger, Sink, State
from ntkexp.options import Rule, count, one_of, option

NAME = Rule(lambda name: bool(name.strip()), "a name")


@dataclass
class Wandb(Logger):
    """Logs at most `points` steps of a table a commit: a number costs a tenth of a millisecond."""

    needs: ClassVar[str] = "wandb"

    project: str = option("ntkexp", NAME, "where the run is shown")
    mode: str = option("online", one_of("online", "offline"), "with an account, or into files")
    points: int = option(200, count("steps"), "steps of a table in a commit, at most")

    def open(self, about: About, state: State | None) -> Sink:
        return WandbSink(self, about, state)


class WandbSink:
    """A run there has the id of the run here, and goes on with it.

    What was written cannot be read back offline: of a batch that a kill cut off the rest is lost
    rather than anything doubled.
    """

    def __init__(self, options: Wandb, about: About, state: State | None) -> None:
        import wandb

        self.points = options.points
        self.id = state["id"] if state else f"{about.run}-{token_hex(4)}"
        init: Any = wandb.init
        self.run: Any = init(
            project=options.project,
            id=self.id,
            name=f"{about.experiment}/{about.run}",
            group=about.experiment,
            config=dict(about.config),
            dir=about.folder,
            mode=options.mode,
            resume="allow",
            settings=wandb.Settings(console="off", silent=True),
        )
        # Its own counter stands still at one number; tables do not all have the same steps.
        self.run.define_metric("step", hidden=True)
        self.run.define_metric("*", step_metric="step")

    def write(self, batch: Batch) -> None:
        if batch.again:
            return
        for series in (whole.thinned(self.points) for whole in batch.series):
            for place, step in enumerate(series.steps.tolist()):
                logged = {f"{series.name}/{k}": float(v[place]) for k, v in series.values.items()}
                self.run.log({"step": step, **logged})

    def state(self) -> State:
        return {"id": self.id}

    def close(self, finished: bool) -> None:
        self.run.finish(exit_code=0 if finished else 1)
