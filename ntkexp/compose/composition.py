"""Hands Hydra the components: `model=mlp` is the typed options of `ntkexp/models/mlp.py`.

A ConfigSource on Hydra's search path lists the files of the components' folders and imports the
one that was chosen. configs/ holds what is no component's default: experiments, and named variants
(`model=vgg11` is a file there that builds on `vgg`). The configs of projects of one's own are
searched after it.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import omegaconf
from hydra.core.config_search_path import ConfigSearchPath
from hydra.core.config_store import ConfigStore
from hydra.core.object_type import ObjectType
from hydra.core.plugins import Plugins
from hydra.plugins.config_source import ConfigLoadError, ConfigResult, ConfigSource
from hydra.plugins.search_path_plugin import SearchPathPlugin
from omegaconf import DictConfig, OmegaConf

from ntkexp import components, config, projects
from ntkexp.launch import plugin

CONFIGS = "pkg://ntkexp.configs"
SCHEME = "component"


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
        if group == "probe":
            # Several are chosen at once, each a key of its own below `probe`.
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


class ComponentSearchPath(SearchPathPlugin):
    """Puts the components, and the configs of one's own projects, behind the package's configs."""

    def manipulate_search_path(self, search_path: ConfigSearchPath) -> None:
        search_path.append("ntkexp-components", f"{SCHEME}://ntkexp")
        for _, folder in projects.configs():
            search_path.append("ntkexp-projects", f"file://{folder}")


@cache
def register() -> None:
    """Make all of this known to Hydra and OmegaConf; once a process."""
    plugin.register()
    Plugins.instance().register(ComponentSource)
    Plugins.instance().register(ComponentSearchPath)
    store = ConfigStore.instance()
    for name, node in (
        ("train", config.TrainConfig),
        ("study", config.StudyConfig),
        ("scale", config.ScaleConfig),
        ("launcher", config.LauncherConfig),
    ):
        store.store(group="schema", name=name, node=node)
    store.store(group="schema/launcher", name="slurm", node=config.SlurmConfig)
    # OmegaConf 2.4 warns of the long name; up to 2.3 the short one is something else.
    major, minor = map(int, omegaconf.__version__.split(".")[:2])
    add = "register_resolver" if (major, minor) >= (2, 4) else "register_new_resolver"
    getattr(OmegaConf, add)("at_scale", at_scale, replace=True)


def at_scale(paper: Any, small: Any, *, _root_: DictConfig) -> Any:
    """`${at_scale:'32,64,128','16,32'}`: the value at scale=paper, and that at scale=small.

    For what upper limits cannot say, such as which values are swept.
    """
    return small if _root_.scale.name == "small" else paper


def _parts(config_path: str) -> tuple[str, str]:
    """Group and name; Hydra asks for files, with and without their ending."""
    group, _, name = config_path.strip("/").rpartition("/")
    return group, name.removesuffix(".yaml")
