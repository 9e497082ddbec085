"""The id of a run: which runs are one run.

It is a hash of what decides a run's numbers: which components it is made of, with their versions,
and every option whose value differs from its neutral one, which is what runs did before the option
appeared. So a new option moves no id, and nor does a default that changes later.

    {"work": "supervised@1", "data": {"is": "mnist@1"}, "model": {"is": "mlp@1", "depth": 3},
     "probe": {"spectrum": {"is": "spectrum@1"}}, "optim": {"lr": 0.02},
     "weights": "run:3fa9c2d17b60/weights.pt"}
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from omegaconf import DictConfig, OmegaConf

from ntkexp.components import GROUPS, find, inside
from ntkexp.config import StudyConfig, TrainConfig
from ntkexp.errors import UserError
from ntkexp.keys import DESCRIPTION_KEYS, EXECUTION_KEYS
from ntkexp.members import expanded
from ntkexp.options import neutral_of
from ntkexp.references import hashed_reference, is_reference

NOT_HASHED = (*EXECUTION_KEYS, *DESCRIPTION_KEYS, "name", "recipe", "scale")


def digest(values: Mapping[str, Any]) -> str:
    """Twelve characters, the same for all runs with the same numbers and different for all
    others."""
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()[:12]


def plain(config: DictConfig) -> dict[str, Any]:
    container = OmegaConf.to_container(config, resolve=True, enum_to_str=True)
    assert isinstance(container, dict)
    return {str(key): value for key, value in container.items()}


def hashed(config: Mapping[str, Any]) -> dict[str, Any]:
    """The part of a config that decides the numbers of its run, as plain values."""
    if config.get("members"):
        config = {**config, "members": expanded(config["members"])}
    decides: dict[str, Any] = {"work": "study@1" if "study" in config else "supervised@1"}
    for group, kind in GROUPS.items():
        if group in EXECUTION_KEYS:
            continue
        if group == "probe" and group in config:
            # Studies had no probes before there were any for them.
            if "study" in config and not config[group]:
                continue
            decides[group] = {
                key: component(group, _mapping(f"probe.{key}", options), key)
                for key, options in config[group].items()
            }
        elif group in config:
            options = component(group, _mapping(group, config[group]), kind.neutral)
            if options["is"] == f"{kind.neutral}@1":
                del options["is"]
            if options:
                decides[group] = options
    rest = {key: value for key, value in config.items() if key not in GROUPS}
    return decides | differing(rest, neutral_of(StudyConfig if "study" in config else TrainConfig))


def component(group: str, options: Mapping[str, Any], name: str | None = None) -> dict[str, Any]:
    """A component by name and version, with the options in which it is not neutral.

    `name` serves where the options do not say it. Components among its options stand there in the
    same way, also where they are the default.
    """
    name = str(options.get("name", name))
    chosen = find(group, name, importing=False)
    values = {key: v for key, v in options.items() if key != "name" and key not in chosen.how}
    nested = {
        key: component(nested_group, values.pop(key))
        for key, nested_group in inside(chosen).items()
        if values.get(key) is not None
    }
    not_neutral = differing(values, neutral_of(chosen), group)
    return {"is": f"{name}@{chosen.version}"} | not_neutral | nested


def differing(
    values: Mapping[str, Any], neutral: Mapping[str, Any], where: str = ""
) -> dict[str, Any]:
    """The part of `values` that differs from `neutral`, node by node."""
    different: dict[str, Any] = {}
    for key, value in values.items():
        if f"{where}.{key}".removeprefix(".") in NOT_HASHED:
            continue
        usual = neutral.get(key)
        if is_reference(value):
            if value["run"] is not None:
                different[key] = hashed_reference(value)
        elif isinstance(value, Mapping) and isinstance(usual, Mapping):
            if part := differing(value, usual, f"{where}.{key}"):
                different[key] = part
        elif (value := _in_type_of(value, usual)) != usual or key not in neutral:
            different[key] = value
    return different


def _in_type_of(value: Any, usual: Any) -> Any:
    """A number in the type of its option: 1 becomes 1.0 where a fraction may stand."""
    if isinstance(usual, float) and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if isinstance(usual, list) and isinstance(value, list) and usual:
        return [_in_type_of(item, usual[0]) for item in value]
    return value


def _mapping(key: str, options: Any) -> Mapping[str, Any]:
    if options is not None and not isinstance(options, Mapping):
        raise UserError(f"{key}={options}: expected a mapping of options, or {{}}")
    return options or {}
