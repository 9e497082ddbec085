"""logger=[wandb]: Weights & Biases, with an account or `logger.wandb.mode=offline`.

pip install 'ntkexp[wandb]'
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from secrets import token_hex
from typing import Any, ClassVar

from ntkexp.loggers.base import About, Logger, Series, Sink, Tables
from ntkexp.options import Rule, count, one_of, option

NAME = Rule(lambda name: bool(name.strip()), "a name")


@dataclass
class Wandb(Logger):
    """Logs at most `points` steps of a table a commit: a number costs a tenth of a millisecond."""

    needs: ClassVar[str] = "wandb"
    begins_anew: ClassVar[bool] = False

    project: str = option("ntkexp", NAME, "where the run is shown")
    mode: str = option("online", one_of("online", "offline"), "with an account, or into files")
    points: int = option(200, count("steps"), "steps of a table in a commit, at most")

    def open(self, about: About) -> Sink:
        return WandbSink(self, about)


class WandbSink:
    """A run there has one id over all lives of the run here. The id is in the folder."""

    def __init__(self, options: Wandb, about: About) -> None:
        import wandb

        self.points = options.points
        id_file = about.folder / "id"
        if not id_file.exists():
            id_file.write_text(f"{about.run}-{token_hex(4)}")
        init: Any = wandb.init
        self.run: Any = init(
            project=options.project,
            id=id_file.read_text(),
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

    def write(self, tables: Tables, series: Sequence[Series]) -> None:
        for thin in (whole.thinned(self.points) for whole in series):
            for place, step in enumerate(thin.steps.tolist()):
                logged = {f"{thin.name}/{k}": float(v[place]) for k, v in thin.values.items()}
                self.run.log({"step": step, **logged})

    def close(self, finished: bool) -> None:
        self.run.finish(exit_code=0 if finished else 1)
