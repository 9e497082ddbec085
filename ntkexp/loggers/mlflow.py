"""logger=[mlflow]: MLflow, on a server or in files (`logger.mlflow.uri=sqlite:///mlflow.db`).

pip install 'ntkexp[mlflow]'
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, ClassVar

from ntkexp.loggers.base import About, Batch, Logger, Sink, State
from ntkexp.options import count, option

# What a server takes in one request.
METRICS_AT_ONCE, PARAMETERS_AT_ONCE = 1000, 100
LONGEST = 500


@dataclass
class Mlflow(Logger):
    """MLflow's own choice is MLFLOW_TRACKING_URI, or files here."""

    needs: ClassVar[str] = "mlflow"

    uri: str | None = option(None, about="a server or file; null is MLflow's own choice")
    points: int = option(100, count("steps"), "steps of a table in a commit, at most")

    def open(self, about: About, state: State | None) -> Sink:
        return MlflowSink(self, about, state)


class MlflowSink:
    """An MLflow run belongs to an MLflow experiment of the same name. After a kill it asks the
    server which rows it has."""

    def __init__(self, options: Mlflow, about: About, state: State | None) -> None:
        from mlflow import MlflowClient

        self.points = options.points
        self.client: Any = MlflowClient(tracking_uri=options.uri)
        if state is not None:
            self.id = str(state["id"])
            self.client.set_terminated(self.id, "RUNNING")
            return
        home = self._experiment(about.experiment)
        self.id = self.client.create_run(home, run_name=about.run).info.run_id
        self._describe(about)

    def write(self, batch: Batch) -> None:
        from mlflow.entities import Metric

        now, waiting = int(time.time() * 1000), []
        for series in (whole.thinned(self.points) for whole in batch.series):
            for name, numbers in series.values.items():
                key = _name(f"{series.name}/{name}")
                there = self._steps(key) if batch.again else set[int]()
                waiting += [
                    Metric(key, number, now, step)
                    for step, number in zip(series.steps.tolist(), numbers.tolist(), strict=True)
                    if step not in there
                ]
        for part in _parts(waiting, METRICS_AT_ONCE):
            self.client.log_batch(self.id, metrics=part)

    def state(self) -> State:
        return {"id": self.id}

    def close(self, finished: bool) -> None:
        self.client.set_terminated(self.id, "FINISHED" if finished else "KILLED")

    def _experiment(self, name: str) -> str:
        """The jobs of a sweep all look for it, and one of them makes it."""
        from mlflow.exceptions import MlflowException

        experiment = self.client.get_experiment_by_name(name)
        if experiment is None:
            with suppress(MlflowException):
                return str(self.client.create_experiment(name))
            experiment = self.client.get_experiment_by_name(name)
        return str(experiment.experiment_id)

    def _steps(self, key: str) -> set[int]:
        return {metric.step for metric in self.client.get_metric_history(self.id, key)}

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
