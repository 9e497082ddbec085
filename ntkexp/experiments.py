"""The experiments one can run: every file of configs/exp, here and in projects of one's own.

Read as they stand, without composing them. Imports no torch and no pandas.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf
from yaml import YAMLError

from ntkexp import projects
from ntkexp.errors import UserError

# The paper whose experiments have bare names, and lie in configs/exp itself.
MAIN = "alignment"
# The keys of seeds: of a run, of a study, and of the networks of one run.
SEEDS = ("seed", "study.seed", "members.seed")


@dataclass(frozen=True)
class Experiment:
    name: str
    about: str
    figures: tuple[str, ...]
    command: str  # train or study
    sweep: bool  # its file says over what
    needs: bool = False  # its file names a run that is made first
    paper: str = MAIN
    folder: str | None = None  # of configs that the command line named
    stands_in_for: str = ""  # the paper's network and data, where it has smaller or other ones

    @property
    def line(self) -> str:
        many = " -m" if self.sweep else ""
        where = f" --config-dir {self.folder}" if self.folder else ""
        first = " --with-parents" if self.needs else ""
        return f"ntkexp {self.command}{many}{where}{first} +exp={self.name}"


@cache
def experiments() -> tuple[Experiment, ...]:
    """Every file of configs/exp, here and in the projects of one's own."""
    by_name = {config.name: config for _, config in _files()}
    return tuple(
        replace(
            _experiment(paper, config),
            command="study" if any(map(_chooses_a_study, _chain(config, by_name))) else "train",
            needs=any(map(_names_a_run, _chain(config, by_name))),
            figures=tuple(map(str, _first(config, "figures", by_name) or ())),
            sweep=bool(_swept(config, by_name)),
            stands_in_for=_first(config, "stands_in_for", by_name) or "",
        )
        for paper, config in _files()
    )


def experiments_of(folder: Path) -> tuple[Experiment, ...]:
    """The experiments of a folder of configs that --config-dir names."""
    if not folder.is_dir():
        raise UserError(f"--config-dir {folder}: no such folder; expected one of configs")
    read = []
    for file in sorted((folder / "exp").rglob("*.yaml")):
        try:
            (config,) = _read([file])
        except (YAMLError, UnicodeDecodeError, ValueError, AssertionError) as error:
            raise UserError(f"{file}: no YAML of an experiment") from error
        config.name = file.relative_to(folder / "exp").with_suffix("").as_posix()
        read.append(replace(_experiment(str(folder), config), folder=str(folder)))
    return tuple(read)


@cache
def _files() -> list[tuple[str, DictConfig]]:
    """(paper, config) of every experiment: those in a folder of their own belong to its paper."""
    homes = [(MAIN, resources.files("ntkexp.configs")), *projects.configs()]
    files: list[tuple[str, DictConfig]] = []
    for paper, home in homes:
        places = sorted(_below(home.joinpath("exp")), key=lambda place: place.name)
        files += ((paper, config) for config in _read(places))
        for folder in places:
            inside = sorted(_below(folder), key=lambda file: file.name)
            files += ((folder.name, config) for config in _read(inside))
    return files


def _below(folder: Traversable) -> list[Traversable]:
    """What lies in a folder; not a link to nowhere, the lock of an editor on the file beside it."""
    inside = folder.iterdir() if folder.is_dir() else ()
    return [place for place in inside if place.is_file() or place.is_dir()]


def _read(files: Iterable[Traversable]) -> Iterator[DictConfig]:
    for file in files:
        if file.name.endswith(".yaml"):
            config = OmegaConf.create(file.read_text(encoding="utf-8"))
            assert isinstance(config, DictConfig)
            yield config


def _chain(config: DictConfig, by_name: Mapping[str, DictConfig]) -> Iterator[DictConfig]:
    """An experiment, and those it goes on from."""
    yield config
    for entry in config.get("defaults", []):
        if isinstance(entry, str) and entry in by_name:
            yield from _chain(by_name[entry], by_name)


def _first(config: DictConfig, key: str, by_name: Mapping[str, DictConfig]) -> Any:
    """The value that an experiment gives to a key, or the first it goes on from that gives one."""
    return next((one[key] for one in _chain(config, by_name) if key in one), None)


def _chooses_a_study(config: DictConfig) -> bool:
    return any("override /study" in entry for entry in config.get("defaults", [])
               if not isinstance(entry, str))  # fmt: skip


def _names_a_run(config: DictConfig) -> bool:
    nodes: list[Any] = [OmegaConf.to_container(config)]
    while nodes:
        node = nodes.pop()
        if isinstance(node, dict):
            if isinstance(node.get("run"), str):
                return True
            nodes += node.values()
    return False


def _experiment(paper: str, config: DictConfig) -> Experiment:
    return Experiment(
        name=config.name,
        about=config.get("about") or "",
        figures=tuple(map(str, config.get("figures") or ())),
        command="study" if _chooses_a_study(config) else "train",
        sweep=OmegaConf.select(config, "hydra.sweeper.params") is not None,
        needs=_names_a_run(config),
        paper=paper,
        stands_in_for=config.get("stands_in_for", ""),
    )


@cache
def swept_by_themselves() -> dict[str, tuple[str, ...]]:
    """Experiment -> the keys that it sweeps, of its own and of those it goes on from."""
    by_name = {config.name: config for _, config in _files()}
    return {config.name: tuple(_swept(config, by_name)) for _, config in _files()}


def _swept(config: DictConfig, by_name: Mapping[str, DictConfig]) -> dict[str, Any]:
    return _merged(config, "hydra.sweeper.params", by_name)


def _merged(config: DictConfig, key: str, by_name: Mapping[str, DictConfig]) -> dict[str, Any]:
    """What an experiment and those it goes on from say at a key; `null` forgets what was said."""
    found: dict[str, Any] = {}
    for one in reversed([*_chain(config, by_name)]):
        said: Any = OmegaConf.to_container(one)
        *outer, last = key.split(".")
        for part in outer:
            said = said.get(part) or {}
        if last in said:
            found = {**found, **said[last]} if said[last] else {}
    return found


@cache
def stand_ins() -> dict[str, str]:
    """Experiment -> what it stands in for; nothing for those of the paper's own size."""
    return {
        experiment.name: experiment.stands_in_for
        for experiment in experiments()
        if experiment.stands_in_for
    }


@cache
def axes(experiment: str) -> tuple[str, ...]:
    """The keys that an experiment sweeps over by itself, but for seeds."""
    return tuple(key for key in swept_by_themselves().get(experiment, ()) if key not in SEEDS)


@cache
def followers() -> dict[str, tuple[str, ...]]:
    """Experiment -> keys that have the value of what it sweeps, as `${key}`."""
    by_name = {config.name: config for _, config in _files()}
    following = {}
    for _, config in _files():
        swept = {f"${{{key}}}" for key in axes(config.name)}
        files = [*_chain(config, by_name)] if swept else []
        values = (pair for file in files for pair in _flat(OmegaConf.to_container(file)))
        following[config.name] = tuple(dict.fromkeys(k for k, value in values if value in swept))
    return following


def _flat(node: object, where: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(node, dict):
        for key, value in node.items():
            yield from _flat(value, f"{where}.{key}".lstrip("."))
    else:
        yield where, str(node)


@cache
def members_by_themselves() -> dict[str, frozenset[str]]:
    """Experiment -> the keys in which the networks of one of its runs differ; none where a run has
    one network."""
    by_name = {config.name: config for _, config in _files()}
    return {
        config.name: frozenset(map(str, _merged(config, "members", by_name)))
        for _, config in _files()
    }
