"""From a reference to the config of the run that it means.

The other run is its experiment, with the options that the reference sets; scale, recipe, device,
folder and the like are those of the run that refers to it. Both its config and the words that one
would type for it come from here.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from hydra.errors import HydraException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import ConfigAttributeError, ConfigKeyError, OmegaConfBaseException

from ntkexp.components import GROUPS
from ntkexp.compose.composition import composed_once
from ntkexp.compose.overrides import at, comparable, explained, no_such_key
from ntkexp.compose.words import word
from ntkexp.errors import UserError, meant
from ntkexp.experiments import experiments
from ntkexp.keys import EXECUTION_KEYS
from ntkexp.options import first_line
from ntkexp.references import is_reference

CHOICES = ("recipe", "scale", *(group for group in GROUPS if group not in EXECUTION_KEYS))
# Keys that a run does not hand on to the runs that it needs, and those that it does.
NEVER_INHERITED = ("rerun", "objective_metric")
INHERITED = (
    *(key for key in EXECUTION_KEYS if key not in NEVER_INHERITED),
    "tf32",
    "deterministic",
)
# All that a run takes from the run that needs it.
HANDED_ON = (*INHERITED, "recipe", "scale")


@dataclass
class Composed:
    """A config, and the words and keys that were typed for it."""

    config: DictConfig
    words: list[str]
    typed: frozenset[str] = frozenset()


def composed(key: str, reference: DictConfig, child: DictConfig) -> Composed:
    """The run that `reference`, the node `key` of the config `child`, means."""
    run, options = str(reference.run), _set_options(key, reference)
    by_name = {experiment.name: experiment for experiment in experiments()}
    if run not in by_name:
        raise UserError(
            f"{key}.run={run}: no experiment{meant(run, list(by_name))} and no folder of a run; "
            "ntkexp list has all"
        )
    command = by_name[run].command
    base = composed_once(command, f"+exp={run}")
    choices = [*_inherited_choices(base, child, options), *_choices(options)]
    try:
        config = copy.deepcopy(composed_once(command, f"+exp={run}", *choices))
    except HydraException as error:
        raise UserError(f"{key}.set: {explained(error)}") from error
    parent = Composed(config, [f"+exp={run}", *choices])
    _inherit(parent, child)
    for name, value in _values(options, config):
        _set(parent, name, value, f"{key}.set.{name}")
    parent.typed |= {str(name) for name in options}
    return parent


def _inherited_choices(
    base: DictConfig, child: DictConfig, options: Mapping[str, Any]
) -> Iterator[str]:
    keys = [k for k in ("recipe", "scale") if k in base and k in child and k not in options]
    if "recipe" in keys and child.recipe != base.recipe:
        yield f"recipe={child.recipe}"
    if "scale" in keys and child.scale.name != base.scale.name:
        yield f"scale={child.scale.name}"


def _inherit(parent: Composed, child: DictConfig) -> None:
    config = parent.config
    for key in INHERITED:
        if key in config and key in child and key != "launcher":
            config[key] = copy.deepcopy(child[key])
            if key in ("tf32", "deterministic") and child[key]:
                parent.words.append(f"{key}=true")
    config.probing.check = child.probing.check
    if config.paths.outputs != "outputs":
        parent.words.append(f"paths.outputs={word(config.paths.outputs)}")
    if "scale" in config and "scale" in child:
        for key in map(str, config.scale):
            if config.scale[key] != child.scale[key]:
                _set(parent, f"scale.{key}", child.scale[key], f"scale.{key}")


def _choices(options: Mapping[str, Any]) -> Iterator[str]:
    """The words that choose components and other groups."""
    for group in CHOICES:
        value = options.get(group)
        if isinstance(value, str):
            yield f"{group}={value}"
        elif isinstance(value, list) and group == "probe":
            yield f"probe=[{','.join(map(str, value))}]"
        elif isinstance(value, Mapping) and group != "probe" and "name" in value:
            yield f"{group}={value['name']}"


def _values(options: Mapping[str, Any], node: Any, where: str = "") -> Iterator[tuple[str, Any]]:
    """(dotted key, value) of every option that is set, down to the last key."""
    for key, value in options.items():
        full = f"{where}.{key}".lstrip(".")
        if not where and key in CHOICES and not isinstance(value, Mapping):
            continue
        if key == "name" and where in CHOICES:
            continue
        inner = OmegaConf.select(node, key) if isinstance(node, DictConfig) else None
        if is_reference(value):
            yield full, {k: v for k, v in value.items() if k not in ("id", "folder")}
        elif isinstance(value, Mapping) and isinstance(inner, DictConfig):
            yield from _values(value, inner, full)
        else:
            yield full, value


def _set(parent: Composed, key: str, value: Any, where: str) -> None:
    try:
        before = at(parent.config, key)
        OmegaConf.update(parent.config, key, value, merge=True)
    except (ConfigAttributeError, ConfigKeyError) as error:
        line = no_such_key(key, error.parent_node)
        raise UserError(f"{where.removesuffix(key)}{line}") from error
    except OmegaConfBaseException as error:
        raise UserError(f"{where}: {first_line(error)}") from error
    # Under a scale what is typed stays, even where it is the default.
    scaled = "scale" in parent.config and parent.config.scale.name != "paper"
    if scaled or before != comparable(value):
        parent.words.append(f"{key}={word(value)}")
    parent.typed |= {key}


def _set_options(key: str, reference: DictConfig) -> dict[str, Any]:
    """The options that a reference sets, as plain values."""
    if reference.set is not None and not isinstance(reference.set, DictConfig):
        raise UserError(f"{key}.set={reference.set}: expected options, such as {{seed: 3}}")
    plain = OmegaConf.to_container(reference, resolve=True, enum_to_str=True)
    assert isinstance(plain, dict)
    return {str(name): value for name, value in (plain["set"] or {}).items()}
