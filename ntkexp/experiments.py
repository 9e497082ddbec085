"""The experiments one can run: every file of configs/exp, here and in projects of one's own.

Read as they stand, without composing them. Imports no torch and no pandas.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib import resources

from omegaconf import DictConfig, OmegaConf

from ntkexp import projects

SEEDS = ("seed", "study.seed")


@dataclass(frozen=True)
class Experiment:
    name: str
    about: str
    figures: tuple[int, ...]
    command: str  # train or study
    sweep: bool  # its file says over what

    @property
    def line(self) -> str:
        many = " -m" if self.sweep else ""
        return f"ntkexp {self.command}{many} +exp={self.name}"


@cache
def experiments() -> tuple[Experiment, ...]:
    """Every file of configs/exp, here and in the projects of one's own."""
    return tuple(_experiment(config) for config in _files())


def _files() -> Iterator[DictConfig]:
    homes = [resources.files("ntkexp.configs"), *projects.configs()]
    for folder in (home.joinpath("exp") for home in homes):
        files = folder.iterdir() if folder.is_dir() else ()
        for file in sorted(files, key=lambda file: file.name):
            if file.name.endswith(".yaml"):
                config = OmegaConf.create(file.read_text(encoding="utf-8"))
                assert isinstance(config, DictConfig)
                yield config


def _experiment(config: DictConfig) -> Experiment:
    overridden = {key for entry in config.get("defaults", []) for key in entry}
    return Experiment(
        name=config.name,
        about=config.get("about", ""),
        figures=tuple(config.get("figures", ())),
        command="study" if "override /study" in overridden else "train",
        sweep=OmegaConf.select(config, "hydra.sweeper.params") is not None,
    )


@cache
def swept_by_themselves() -> dict[str, tuple[str, ...]]:
    """Experiment -> the keys that its own file sweeps."""
    return {
        config.name: tuple(map(str, OmegaConf.select(config, "hydra.sweeper.params") or {}))
        for config in _files()
    }


def axes(experiment: str) -> tuple[str, ...]:
    """What an experiment sweeps over by itself besides the seed; nothing for one not known here."""
    return tuple(key for key in swept_by_themselves().get(experiment, ()) if key not in SEEDS)
