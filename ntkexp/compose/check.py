"""Refuses configs that no run can have, before anything is loaded or built."""

from __future__ import annotations

from collections.abc import Iterator

from omegaconf import DictConfig, OmegaConf

from ntkexp import components
from ntkexp.components import Component
from ntkexp.compose import size
from ntkexp.config import ExperimentConfig, Spacing, TrainConfig
from ntkexp.errors import UserError
from ntkexp.options import check_options
from ntkexp.results.numbers import metric


def check(config: DictConfig) -> None:
    """Refuse values that no run can have; each message names its key."""
    complete_chosen(config)
    check_options(config)
    if config.probing.spacing == Spacing.list and not config.probing.steps:
        raise UserError("probing.steps=[]: probing.spacing=list needs one step or more, [0, 10]")
    plain = OmegaConf.to_object(config)
    assert isinstance(plain, ExperimentConfig)
    if plain.objective_metric is not None:
        metric.parsed(plain.objective_metric)
    for component in components_of(plain):
        component.check(plain)
    if isinstance(plain, TrainConfig):
        size.check(plain)


def complete_chosen(config: DictConfig) -> None:
    """Give the options of a probe or logger that were written down without choosing it their
    types."""
    for group in components.MANY:
        for key in map(str, config[group]):
            node = config[group][key]
            if component_type(node) is None:
                name = node.get("name", key) if isinstance(node, DictConfig) else key
                made = components.made(group, str(name), node, f"{group}.{key}")
                config[group][key] = OmegaConf.structured(made)


def component_nodes(config: DictConfig) -> Iterator[tuple[str, DictConfig]]:
    """(key, node) of every component of a composed config."""
    for key in map(str, config):
        if component_type(config[key]):
            yield key, config[key]
    for group in components.MANY:
        for key in map(str, config.get(group, {})):
            if component_type(config[group][key]):
                yield f"{group}.{key}", config[group][key]


def components_of(config: ExperimentConfig) -> Iterator[Component]:
    """Every component of a plain config."""
    for value in vars(config).values():
        if isinstance(value, Component):
            yield value
    yield from config.probe.values()
    yield from config.logger.values()


def component_type(node: object) -> type[Component] | None:
    """The component whose options a config node has, if it has those of one."""
    kind = OmegaConf.get_type(node) if isinstance(node, DictConfig) else None
    return kind if isinstance(kind, type) and issubclass(kind, Component) else None
