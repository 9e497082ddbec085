"""The function that Hydra calls with a composed config."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from ntkexp.compose.explain import explained
from ntkexp.compose.finalise import finalise
from ntkexp.compose.overrides import typed_keys
from ntkexp.errors import UserError, denied
from ntkexp.execution.outcome import DONE
from ntkexp.execution.run import Typed, run
from ntkexp.identity import folder_of


class Task:
    """Carries out the config of a single run.

    Hydra takes functions, swallows what they return in a sweep, and puts lines of its own before
    what they raise: so codes and complaints are kept here.

    `one_run`: a sweep is about one run alone, also where its experiment sweeps keys by itself.
    """

    def __init__(self, *, one_run: bool = False) -> None:
        self.one_run = one_run
        self.codes = [0]
        self.complaints: list[UserError] = []

    def __call__(self, config: DictConfig) -> Any:
        # As they were typed: a value such as ${seed} means nothing outside of the config.
        words = OmegaConf.to_container(HydraConfig.get().overrides.task, resolve=False)
        assert isinstance(words, list)
        typed = Typed(frozenset(typed_keys(words)))
        try:
            finalise(config, typed.keys)
            folder = folder_of(config)
            self.codes.append(code := run(config, folder, typed))
            if code == DONE and config.objective_metric is not None:
                number = metric_of(folder, config.objective_metric)
                print(f"{config.objective_metric} = {number:.6g}")
                return number
        except UserError as error:
            self.complaints.append(error)
        except PermissionError as error:
            self.complaints.append(denied(error))
        except OmegaConfBaseException as error:
            self.complaints.append(UserError(explained(error)))
        return None


def metric_of(folder: Path, path: str) -> float:
    """The number that `path` names of the finished run in `folder`."""
    from ntkexp.results import read  # pandas is for those who ask

    return read(folder).metric(path)
