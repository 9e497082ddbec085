"""Hands Hydra the components: `model=mlp` is the typed options of `ntkexp/models/mlp.py`.

configs/ holds what is no component's default, experiments and named variants (`model=vgg11`); the
configs of projects of one's own are searched after it.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Any

import hydra
import omegaconf
from hydra._internal.config_loader_impl import ConfigLoaderImpl
from hydra._internal.utils import create_config_search_path
from hydra.core.config_loader import ConfigLoader
from hydra.core.config_search_path import ConfigSearchPath
from hydra.core.config_store import ConfigStore
from hydra.core.global_hydra import GlobalHydra
from hydra.core.object_type import ObjectType
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from hydra.core.plugins import Plugins
from hydra.plugins.config_source import ConfigLoadError, ConfigResult, ConfigSource
from hydra.plugins.search_path_plugin import SearchPathPlugin
from hydra.types import RunMode
from omegaconf import DictConfig, ListConfig, OmegaConf, open_dict
from omegaconf.errors import OmegaConfBaseException

from ntkexp import components, config, projects
from ntkexp.compose import experiment_file, swaps

CONFIGS = "pkg://ntkexp.configs"
SCHEME, EXPERIMENT, RESOLVER = "component", "experiment", "at_scale"
# Where Hydra finds the sweeper and the launcher of ntkexp/launch/plugin.py.
SWEEPERS = "hydra_plugins.ntkexp"


class ComponentSource(ConfigSource):
    """`component://`: a group a kind of component, a config a component."""

    @staticmethod
    def scheme() -> str:
        return SCHEME

    def load_config(self, config_path: str) -> ConfigResult:
        if not self.is_config(config_path):
            raise ConfigLoadError(f"no component {config_path}")
        group, name = _parts(config_path)
        node = components.node_of(group, name)
        if group in components.GROUPS_OF_MANY:
            # Several are chosen at once, each a key of its own below `probe` or `logger`.
            node = OmegaConf.create({components.key_of(name): node})
        return ConfigResult(
            provider=self.provider, path=self.full_path(), config=node, header={"package": None}
        )

    def available(self) -> bool:
        return True

    def is_group(self, config_path: str) -> bool:
        return config_path.strip("/") in ("", *components.GROUPS)

    def is_config(self, config_path: str) -> bool:
        group, name = _parts(config_path)
        return group in components.GROUPS and ("." in name or name in components.names(group))

    def list(self, config_path: str, results_filter: ObjectType | None) -> list[str]:
        group = config_path.strip("/")
        if group in components.GROUPS and results_filter is not ObjectType.GROUP:
            return components.names(group)
        if not group and results_filter is not ObjectType.CONFIG:
            return sorted(components.GROUPS)
        return []


class ExperimentSource(ConfigSource):
    """`experiment://`: the files of experiments, without what the words at work leave out
    (ntkexp/compose/swaps.py). An experiment is about the whole config, so its file need not say so.
    """

    @staticmethod
    def scheme() -> str:
        return EXPERIMENT

    def load_config(self, config_path: str) -> ConfigResult:
        file = experiment_file.find(_experiment(config_path))
        assert file is not None, "Hydra asks for what is_config knows"
        file.refuse_mistakes()
        config = swaps.settled(file)
        defaults: Any = config._get_node("defaults")
        # Hydra would look for what a base goes on from below the folder of that base.
        if isinstance(defaults, ListConfig):
            for number, entry in enumerate(defaults):
                if isinstance(entry, str) and experiment_file.find(entry) is not None:
                    defaults[number] = f"/exp/{entry}"
        return ConfigResult(
            provider=self.provider,
            path=self.full_path(),
            config=config,
            header={"package": "_global_"},
        )

    def available(self) -> bool:
        return True

    def is_group(self, config_path: str) -> bool:
        return False

    def is_config(self, config_path: str) -> bool:
        name = _experiment(config_path)
        return bool(name) and experiment_file.find(name) is not None

    def list(self, config_path: str, results_filter: ObjectType | None) -> list[str]:
        return []


class ComponentSearchPath(SearchPathPlugin):
    """Puts the experiments before the package's configs, and the components and the configs of
    one's own projects behind them. Other applications of Hydra find nothing of them."""

    def manipulate_search_path(self, search_path: ConfigSearchPath) -> None:
        if CONFIGS not in [element.path for element in search_path.get_path()]:
            return
        search_path.prepend("ntkexp-experiments", f"{EXPERIMENT}://ntkexp")
        search_path.append("ntkexp-components", f"{SCHEME}://ntkexp")
        for _, folder in projects.configs():
            search_path.append("ntkexp-projects", f"file://{folder}")


def _experiment(config_path: str) -> str:
    """The name of the experiment that Hydra asks for; empty where it asks for something else."""
    group, _, name = config_path.strip("/").removesuffix(".yaml").partition("/")
    return name if group == "exp" else ""


def _parts(config_path: str) -> tuple[str, str]:
    """Group and name; Hydra asks for files, with and without their ending."""
    group, _, name = config_path.strip("/").rpartition("/")
    return group, name.removesuffix(".yaml")


@dataclass
class SweeperNode:
    _target_: str = f"{SWEEPERS}.SweepSweeper"
    params: dict[str, str] | None = None


@dataclass
class LauncherNode:
    _target_: str = f"{SWEEPERS}.SweepLauncher"


def register() -> None:
    """Make all of this known to Hydra and OmegaConf, unless it is; both keep it."""
    if ComponentSource in Plugins.instance().discover(ConfigSource):
        return
    Plugins.instance().register(ComponentSource)
    Plugins.instance().register(ExperimentSource)
    Plugins.instance().register(ComponentSearchPath)
    store = ConfigStore.instance()
    for name, node in (
        ("train", config.TrainConfig),
        ("study", config.StudyConfig),
        ("scale", config.ScaleConfig),
    ):
        store.store(group="schema", name=name, node=node)
    store.store(group="hydra/sweeper", name="ntkexp", node=SweeperNode)
    store.store(group="hydra/launcher", name="ntkexp", node=LauncherNode)
    # OmegaConf 2.4 warns of the long name; up to 2.3 the short one is something else.
    major, minor = map(int, omegaconf.__version__.split(".")[:2])
    add = "register_resolver" if (major, minor) >= (2, 4) else "register_new_resolver"
    getattr(OmegaConf, add)(RESOLVER, at_scale, replace=True)


def at_scale(paper: Any, small: Any, *, _root_: DictConfig) -> Any:
    """`${at_scale:'32,64,128','16,32'}`: the value at scale=paper, and that at others.

    For what upper limits cannot say, such as which values are swept.
    """
    return paper if _root_.scale.name == "paper" else small


_at_work: ContextVar[ConfigLoader | None] = ContextVar("_at_work", default=None)


def compose(command: str, words: Sequence[str]) -> DictConfig:
    """The config that these words make for a subcommand, without Hydra's own node."""
    with swaps.typed_here(words):
        config = _loader().load_configuration(command, list(words), run_mode=RunMode.RUN)
    with open_dict(config):
        del config["hydra"]
    return config


@cache
def composed_once(command: str, *words: str) -> DictConfig:
    """The same, not to be changed."""
    return compose(command, words)


def _loader() -> ConfigLoader:
    """The loader of the command at work, which knows its folders of configs."""
    if (at_work := _at_work.get()) is not None:
        return at_work
    session = GlobalHydra.instance()
    if session.is_initialized():
        return session.config_loader()
    register()
    return ConfigLoaderImpl(create_config_search_path(CONFIGS))


@contextmanager
def by_itself(config_dir: Path | None = None) -> Iterator[None]:
    """Inside the block `compose` uses no Hydra application.

    The caller may be such an application, with configs and a `version_base` of its own.
    """
    register()
    with _version_base():
        path = create_config_search_path(CONFIGS)
        if config_dir is not None:
            path.append("command-line", f"file://{config_dir.absolute()}")
            places = path.get_path()
            places.append(places.pop(-2))  # Hydra wants the schema last
        token = _at_work.set(ConfigLoaderImpl(path))
        try:
            with experiment_file.folders_named((config_dir,) if config_dir else ()):
                yield
        finally:
            _at_work.reset(token)


@contextmanager
def _version_base() -> Iterator[None]:
    """Hydra 1.3 composes by the habits of the version that is set for the process."""
    if not hydra.__version__.startswith("1.3"):
        yield
        return
    from hydra.version import VersionBase, setbase

    base = VersionBase.instance()
    before = base.version_base
    setbase("1.3")
    try:
        yield
    finally:
        base.version_base = before


# Values that can be set on a finished config without a second thought.
PLAIN = (bool, int, float, str, type(None))


class Kind(Enum):
    choice = "an option of a group"
    plain = "a value for a key"
    other = "anything else: an added key, a whole node"


class Composer:
    """The configs of a sweep's jobs, on top of the sweep's own config, `master`.

    Hydra takes a quarter of a second for each. They mostly differ in plain values (`seed=3`), which
    it sets last: what comes before is composed once and shared.
    """

    def __init__(self, loader: ConfigLoader, master: DictConfig) -> None:
        self.loader, self.master = loader, master
        self._parser = OverridesParser.create(config_loader=loader)
        self._read = cache(self._parse)
        # The loader would copy it for each question: ten milliseconds a word.
        assert isinstance(loader, ConfigLoaderImpl)
        self._repository = loader.repository
        self._bases: dict[tuple[str, ...], DictConfig] = {}

    def compose(self, overrides: Sequence[str]) -> DictConfig:
        """The config of one job, as `load_sweep_config` has it, without Hydra's own node."""
        read = [self._read(override) for override in overrides]
        plain = [override for override, kind in read if kind is Kind.plain]
        if _overlap(plain, [override for override, kind in read if kind is Kind.other]):
            return self._by_hydra(overrides)
        base = tuple(o for o, (_, kind) in zip(overrides, read, strict=True) if kind != Kind.plain)
        if base not in self._bases:
            self._bases[base] = self._by_hydra(base)
        config = copy.deepcopy(self._bases[base])
        try:
            for override in plain:
                OmegaConf.update(config, override.key_or_group, override.value(), merge=True)
        except OmegaConfBaseException:
            # Wrong in some way: Hydra says it in its own words, which we know how to explain.
            return self._by_hydra(overrides)
        return config

    def _by_hydra(self, overrides: Sequence[str]) -> DictConfig:
        with swaps.typed_here(overrides):
            config = self.loader.load_sweep_config(self.master, list(overrides))
        with open_dict(config):
            del config["hydra"]
        return config

    def _parse(self, text: str) -> tuple[Override, Kind]:
        override = self._parser.parse_override(text)
        value = override.value()
        options = self._repository.get_group_options(override.key_or_group, ObjectType.CONFIG)
        if options and not isinstance(value, dict):
            return override, Kind.choice
        plain = (
            text[0] not in "+~"
            and override.package is None
            and not override.key_or_group.startswith("hydra")
            and isinstance(value, PLAIN)
            and "${" not in text
        )
        return override, Kind.plain if plain else Kind.other


def _overlap(plain: Sequence[Override], others: Sequence[Override]) -> bool:
    """True if the order matters in which plain values and other overrides are applied."""
    return any(
        f"{value.key_or_group}.".startswith(f"{other.key_or_group}.")
        for value in plain
        for other in others
    )
