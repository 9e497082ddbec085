"""logger=[mlflow]: MLflow, on a server or in files (`logger.mlflow.uri=sqlite:///mlflow.db`).

pip install 'ntkexp[mlflow]'
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, ClassVar

from ntkexp.loggers.base import About, Logger, Series, Sink, Tables
from ntkexp.options import count, option

# The most that a server takes in one request.
METRICS_AT_ONCE, PARAMETERS_AT_ONCE = 1000, 100
LONGEST = 500


@dataclass
class Mlflow(Logger):
    """MLflow's own choice is MLFLOW_TRACKING_URI, or files here."""

    needs: ClassVar[str] = "mlflow"
    begins_anew: ClassVar[bool] = False

    uri: str | None = option(None, about="a server or file; null is MLflow's own choice")
    points: int = option(100, count("steps"), "steps of a table in a commit, at most")

    def open(self, about: About) -> Sink:
        return MlflowSink(self, about)


class MlflowSink:
    """An MLflow run belongs to an MLflow experiment of the same name. Its id is in the folder."""

    def __init__(self, options: Mlflow, about: About) -> None:
        from mlflow import MlflowClient

        self.points = options.points
        self.client: Any = MlflowClient(tracking_uri=options.uri)
        id_file = about.folder / "id"
        if id_file.exists():
            self.id = id_file.read_text()
            self.client.set_terminated(self.id, "RUNNING")
            return
        home = self._experiment(about.experiment)
        self.id = self.client.create_run(home, run_name=about.run).info.run_id
        self._describe(about)
        id_file.write_text(self.id)

    def write(self, tables: Tables, series: Sequence[Series]) -> None:
        from mlflow.entities import Metric

        now = int(time.time() * 1000)
        metrics = [
            Metric(_name(f"{thin.name}/{name}"), number, now, step)
            for thin in (whole.thinned(self.points) for whole in series)
            for name, numbers in thin.values.items()
            for step, number in zip(thin.steps.tolist(), numbers.tolist(), strict=True)
        ]
        for part in _parts(metrics, METRICS_AT_ONCE):
            self.client.log_batch(self.id, metrics=part)

    def close(self, finished: bool) -> None:
        self.client.set_terminated(self.id, "FINISHED" if finished else "KILLED")

    def _experiment(self, name: str) -> str:
        """The id of an experiment: all jobs of a sweep look for it, and one of them makes it."""
        from mlflow.exceptions import MlflowException

        experiment = self.client.get_experiment_by_name(name)
        if experiment is None:
            with suppress(MlflowException):
                return str(self.client.create_experiment(name))
            experiment = self.client.get_experiment_by_name(name)
        return str(experiment.experiment_id)

    def _describe(self, about: About) -> None:
        from mlflow.entities import Param

        parameters = [
            Param(_name(key), str(value)[:LONGEST]) for key, value in about.config.items()
        ]
        for part in _parts(parameters, PARAMETERS_AT_ONCE):
            self.client.log_batch(self.id, params=part)


def _parts(items: list[Any], size: int) -> Iterator[list[Any]]:
    for first in range(0, len(items), size):
        yield items[first : first + size]


def _name(text: str) -> str:
    """A name as MLflow takes it: letters, digits and _ - . / and spaces."""
    return "".join(letter if letter.isalnum() or letter in "_-./ " else "_" for letter in text)
