"""What a sweeper of Hydra's gets back from the jobs that it asks for: a number each, or why not."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hydra.core.config_store import ConfigStore
from hydra.core.plugins import Plugins
from hydra.core.utils import JobReturn, JobStatus
from hydra.plugins.launcher import Launcher
from hydra.plugins.sweeper import Sweeper
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig

from ntkexp import results
from tests.conftest import TINY_DISK, Ntkexp

METRIC = "objective_metric=evals.test.loss"
SOLO = [word for word in TINY_DISK if not word.startswith("model.width")]


class Asking(Sweeper):
    """Asks for its batches one after the other, and keeps what it was given."""

    batches: Sequence[Sequence[str]] = ()
    given: list[JobReturn]

    def setup(
        self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig
    ) -> None:
        self.launcher: Launcher = Plugins.instance().instantiate_launcher(
            hydra_context=hydra_context, task_function=task_function, config=config
        )

    def sweep(self, arguments: list[str]) -> None:
        for batch in type(self).batches:
            words = [[*arguments, one] for one in batch]
            type(self).given += self.launcher.launch(words, initial_job_idx=0)


@pytest.fixture
def asking(monkeypatch: pytest.MonkeyPatch) -> Iterator[type[Asking]]:
    home = ModuleType("hydra_plugins.asking")
    home.Asking = Asking  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, home.__name__, home)
    monkeypatch.setattr(Asking, "__module__", home.__name__)
    monkeypatch.setattr(Asking, "given", [], raising=False)
    Plugins.instance().register(Asking)
    store = ConfigStore.instance()
    node: dict[str, Any] = {"_target_": "hydra_plugins.asking.Asking"}
    store.store(group="hydra/sweeper", name="asking", node=node)
    yield Asking
    del store.repo["hydra"]["sweeper"]["asking.yaml"]


def test_every_job_gives_its_number_in_the_order_asked(
    inside: Ntkexp, asking: type[Asking], tmp_path: Path
) -> None:
    # The third is the first again; the last one diverges.
    asking.batches = [
        ["model.width=9", "model.width=8", "model.width=9"],
        ["model.width=8", "optim.lr=1e30"],
    ]
    done = inside("train", "-m", *SOLO, METRIC, "hydra/sweeper=asking", "launcher.jobs=2")
    assert done.returncode == 1
    numbers = {
        run.config["model.width"]: run.metric("evals.test.loss")
        for run in map(results.read, results.finished(tmp_path / "outputs"))
    }
    assert set(numbers) == {8, 9}
    given = asking.given
    widths = [9, 8, 9, 8]
    assert [one.return_value for one in given[:4]] == [numbers[width] for width in widths]
    assert [one.cfg.model.width for one in given[:4] if one.cfg] == widths
    assert given[4].status is JobStatus.FAILED
    with pytest.raises(Exception, match="the loss is not finite"):
        _ = given[4].return_value


def test_a_number_is_needed_of_a_sweeper_that_decides(inside: Ntkexp, asking: type[Asking]) -> None:
    asking.batches = [["model.width=8"]]
    without = inside("train", "-m", *SOLO, "hydra/sweeper=asking")
    assert (without.returncode, without.stderr) == (
        2,
        "ntkexp: hydra/sweeper=asking: needs the number that it is about; expected "
        "objective_metric=TABLE.COLUMN beside it, such as objective_metric=evals.test.loss\n",
    )
    dry = inside("train", "-m", *SOLO, METRIC, "hydra/sweeper=asking", "--dry-run")
    assert dry.stderr.startswith("ntkexp: --dry-run: hydra/sweeper=asking chooses by what it has")
    assert asking.given == []


def test_a_failure_ends_a_sweeper_that_does_not_bear_it(
    inside: Ntkexp, asking: type[Asking], monkeypatch: pytest.MonkeyPatch
) -> None:
    def strict(self: Asking, arguments: list[str]) -> None:
        for one in self.launcher.launch([[*arguments, "optim.lr=1e30"]], initial_job_idx=0):
            _ = one.return_value
        raise AssertionError("it was told of the failure")

    monkeypatch.setattr(asking, "sweep", strict)
    done = inside("train", "-m", *SOLO, METRIC, "hydra/sweeper=asking")
    assert done.returncode == 1
    assert "1 job: 1 failed" in done.stdout


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("hydra/sweeper=ntkexp",), "hydra/sweeper=ntkexp: is about a sweep; expected -m beside"),
        (("hydra.sweeper.n_trials=3",), "hydra.sweeper.n_trials=3: is about a sweep; expected -m"),
        (("-m", "hydra/sweeper=optnua"), "hydra/sweeper=optnua: no such sweeper; expected one of"),
        (
            ("-m", "hydra/launcher=joblib"),
            "hydra/launcher=joblib: Hydra's own settings stand fixed",
        ),
        (("-m", "hydra/launcher=basic"), "hydra/launcher=basic: Hydra's own settings stand fixed"),
    ],
    ids=str,
)
def test_what_may_be_typed_of_sweepers(inside: Ntkexp, words: tuple[str, ...], told: str) -> None:
    done = inside("train", *TINY_DISK, *words)
    assert done.returncode == 2
    assert done.stderr.startswith(f"ntkexp: {told}")
    assert len(done.stderr.splitlines()) == 1


def test_the_plugin_for_optuna_optimises_the_number(tmp_path: Path) -> None:
    pytest.importorskip("hydra_plugins.hydra_optuna_sweeper")
    # Not as the other commands, for which a warning is an error: this one's Optuna has its own.
    words = (
        "-m", *SOLO, METRIC, "hydra/sweeper=optuna", "hydra/sweeper/sampler=random",
        "hydra.sweeper.n_trials=4", "hydra.sweeper.sampler.seed=1", "hydra.sweeper.n_jobs=2",
        "optim.lr=tag(log,interval(0.001,0.1))", "model.width=8,9",
    )  # fmt: skip
    command = [sys.executable, "-m", "ntkexp", "train", *words]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    runs = [results.read(run) for run in results.finished(tmp_path / "outputs")]
    best = min(run.metric("evals.test.loss") for run in runs)
    told = (tmp_path / "outputs" / ".sweep" / "optimization_results.yaml").read_text()
    assert f"best_value: {best}" in told
