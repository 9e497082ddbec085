"""Two sweepers and one launcher for Hydra, registered by name.

Hydra finds plugins by walking the namespace package hydra_plugins, which editable installs do not
take part in, and it only makes objects of classes that live there. So these are registered
explicitly, and this module is given a second name in that package.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.plugins import Plugins
from hydra.core.utils import JobReturn
from hydra.plugins.launcher import Launcher
from hydra.plugins.sweeper import Sweeper
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig

from ntkexp.compose.composition import SWEEPERS
from ntkexp.compose.overrides import check_sweep
from ntkexp.errors import SweepStopped

if TYPE_CHECKING:
    from ntkexp.launch.task import Task

# Exit codes above it tell of the signal that ended a process.
SIGNALS = 128
# Sweepers that are registered here.
OWN = ("ntkexp", "search")


class SweepSweeper(Sweeper):
    """Every combination of the comma-separated values, in order.

    Hydra's own sweeper composes every job to see that it can be, before the launcher composes
    it again; our launcher does that once, and checks more. `params` are the values that an
    experiment sweeps by itself; a key that is given on the command line takes their place.
    """

    def __init__(self, params: dict[str, str] | None = None) -> None:
        self.declared = [f"{key}={values}" for key, values in (params or {}).items()]
        self.context: HydraContext | None = None
        self.launcher: Launcher | None = None

    def setup(
        self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig
    ) -> None:
        from ntkexp.launch.task import Task

        if isinstance(task_function, Task) and task_function.one_run:
            self.declared = []
        self.context = hydra_context
        self.launcher = Plugins.instance().instantiate_launcher(
            hydra_context=hydra_context, task_function=task_function, config=config
        )

    def sweep(self, arguments: list[str]) -> Any:
        assert self.context is not None
        assert self.launcher is not None
        parser = OverridesParser.create(config_loader=self.context.config_loader)
        overrides = parser.parse_overrides([*self.declared, *arguments])
        check_sweep(overrides)
        [batch] = BasicSweeper.split_arguments(overrides, max_batch_size=None)
        return self.launcher.launch(batch, initial_job_idx=0)


class SearchSweeper(Sweeper):
    """Optuna chooses the values (ntkexp/launch/search.py)."""

    def __init__(self, params: dict[str, str] | None = None, **options: Any) -> None:
        self.declared = [f"{key}={values}" for key, values in (params or {}).items()]
        self.options = options
        self.config: DictConfig | None = None
        self.launcher: Launcher | None = None

    def setup(
        self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig
    ) -> None:
        self.config = config
        self.launcher = Plugins.instance().instantiate_launcher(
            hydra_context=hydra_context, task_function=task_function, config=config
        )

    def sweep(self, arguments: list[str]) -> Any:
        from ntkexp.launch.search import Search

        assert self.config is not None
        assert self.launcher is not None
        Search(self.options, self.config, self.launcher).go_on([*self.declared, *arguments])


class SweepLauncher(Launcher):
    """Gives a batch of jobs to the engine that `launcher` names."""

    def __init__(self) -> None:
        self.context: HydraContext | None = None
        self.task: Task | None = None
        self.config: DictConfig | None = None

    def setup(
        self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig
    ) -> None:
        from ntkexp.launch.task import Task

        assert isinstance(task_function, Task)
        self.context, self.task, self.config = hydra_context, task_function, config
        if config.hydra.runtime.choices["hydra/sweeper"] != OWN[0]:
            from ntkexp.launch.returns import refuse_without_metric

            refuse_without_metric(config)

    def launch(
        self, job_overrides: Sequence[Sequence[str]], initial_job_idx: int
    ) -> Sequence[JobReturn]:
        from ntkexp.launch.returns import returns, tell
        from ntkexp.launch.sweep import sweep

        assert self.context is not None
        assert self.task is not None
        assert self.config is not None
        before = len(self.task.codes)
        jobs = sweep(self.context.config_loader, self.config, job_overrides, self.task)
        if max(self.task.codes[before:], default=0) > SIGNALS:
            raise SweepStopped
        sweeper = self.config.hydra.runtime.choices["hydra/sweeper"]
        if sweeper == OWN[0] and not self.config.launcher.dry_run:
            tell(jobs, self.config.objective_metric)
        if sweeper not in OWN:
            # What a sweeper of others writes about itself goes there.
            Path(self.config.hydra.sweep.dir).mkdir(parents=True, exist_ok=True)
        return returns(jobs, job_overrides, self.config.objective_metric)


def register() -> None:
    """Make the sweepers and the launcher known to Hydra, unless they are. Their options are known
    already: composing needs those alone (ntkexp/compose/composition.py)."""
    plugins = Plugins.instance()
    if SweepLauncher in plugins.discover(Launcher):
        return
    for plugin in (SweepSweeper, SearchSweeper, SweepLauncher):
        plugin.__module__ = SWEEPERS
        plugins.register(plugin)
    _move_in()


def _move_in() -> None:
    package, _, name = SWEEPERS.partition(".")
    # There is such a package only where some plugin is installed; Hydra has looked already.
    home = sys.modules.setdefault(package, ModuleType(package))
    sys.modules[SWEEPERS] = sys.modules[__name__]
    setattr(home, name, sys.modules[__name__])
