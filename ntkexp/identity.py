"""What makes two runs the same run. Imports no torch.

A run's id is a hash of what decides its numbers: which components it is made of, with their
versions, and every option whose value differs from its neutral one. The neutral value of an option
is fixed when the option appears, so that every run from before has it: a new option moves no id,
and nor does a default that changes later. A component's version changes only when equal options
give other numbers, beyond rounding.

    {"work": "supervised@1", "data": {"is": "mnist@1"}, "model": {"is": "mlp@1", "depth": 3},
     "probe": {"spectrum": {"is": "spectrum@1"}}, "optim": {"lr": 0.02}}

What says how or where a run is made (device, paths), what describes it (name, figures), and what
only chose values that are hashed anyway (recipe, scale) stays out.
"""

from __future__ import annotations

import hashlib
import importlib
import json
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any

import yaml
from omegaconf import DictConfig, OmegaConf

from ntkexp.config import (
    DESCRIPTION_KEYS,
    EXECUTION_KEYS,
    SCHEMA_VERSION,
    DiskConfig,
    ImagesConfig,
    StudyConfig,
    TrainConfig,
)
from ntkexp.errors import UserError
from ntkexp.models.size import schema_of

NO_PART = (*EXECUTION_KEYS, *DESCRIPTION_KEYS, "name", "recipe", "scale")
# Options whose default is another than what runs from before they appeared have done.
NEUTRAL: Mapping[tuple[str, str], Mapping[str, Any]] = {
    ("study", "supernat"): {"loss": "half_sum"},
}
# Component -> version, for those that have given equal options other numbers since they appeared.
VERSIONS: Mapping[tuple[str, str], int] = {}


def identity(config: DictConfig) -> str:
    """Twelve characters that all runs of these numbers share, and no others."""
    return digest(hashed(plain(config)))


def digest(told: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()[:12]


def plain(config: DictConfig) -> dict[str, Any]:
    container = OmegaConf.to_container(config, resolve=True, enum_to_str=True)
    assert isinstance(container, dict)
    return {str(key): value for key, value in container.items()}


def hashed(config: Mapping[str, Any]) -> dict[str, Any]:
    """What of a config, as plain values, decides the numbers of its run."""
    if "study" in config:
        found = {"work": "study@1", "study": component("study", _mapping("study", config["study"]))}
        return found | differing(_without(config, "study"), neutral_of(StudyConfig), "")
    found = {
        "work": "supervised@1",
        "data": component("data", config["data"]),
        "model": component("model", config["model"]),
        "probe": {
            name: component("probe", {**_mapping(f"probe.{name}", options), "name": name})
            for name, options in config["probe"].items()
        },
    }
    rest = _without(config, "data", "model", "probe")
    return found | differing(rest, neutral_of(TrainConfig), "")


def component(group: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """A component by name and version, with the options in which it is not neutral."""
    name = str(options.get("name"))
    given = {key: value for key, value in options.items() if key != "name"}
    version = VERSIONS.get((group, name), 1)
    return {"is": f"{name}@{version}"} | differing(given, neutral(group, name), group)


def differing(given: Mapping[str, Any], neutral: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Those of the values `given` that differ from `neutral`, node by node."""
    found: dict[str, Any] = {}
    for key, value in given.items():
        if not where and key in NO_PART:
            continue
        usual = neutral.get(key)
        if isinstance(value, Mapping) and isinstance(usual, Mapping):
            if part := differing(value, usual, f"{where}.{key}"):
                found[key] = part
        elif (value := _like(value, usual)) != usual:
            found[key] = value
    return found


@cache
def neutral(group: str, name: str) -> Mapping[str, Any]:
    """The neutral options of a component, as plain values."""
    if group == "data":
        return neutral_of(DiskConfig if name == "disk" else ImagesConfig)
    if group == "model":
        return neutral_of(schema_of(name))
    return {**_from_configs(group, name), **NEUTRAL.get((group, name), {})}


def neutral_of(kind: Any) -> dict[str, Any]:
    container = OmegaConf.to_container(OmegaConf.structured(kind), enum_to_str=True)
    assert isinstance(container, dict)
    return {str(key): value for key, value in container.items()}


def _from_configs(group: str, name: str) -> dict[str, Any]:
    file = resources.files("ntkexp.configs").joinpath(group, f"{name}.yaml")
    if not file.is_file():
        return _from_class(group, name)
    node = OmegaConf.to_container(OmegaConf.create(file.read_text(encoding="utf-8")))
    assert isinstance(node, dict)
    options = node.get(name, {}) if group == "probe" else node
    return {str(key): value for key, value in options.items() if key != "name"}


def _from_class(group: str, name: str) -> dict[str, Any]:
    """The neutral options of a probe that somebody has added: its class says them."""
    home = "ntkexp.probes" if group == "probe" else "ntkexp.studies.computations"
    known = importlib.import_module(home.removesuffix(".computations")).names()
    if name not in known:
        raise UserError(f"{group}.name={name}: no such {group}; there are {', '.join(known)}")
    module = importlib.import_module(f"{home}.{name}")
    words = name.split("_")
    kind = getattr(module, "Config", None) or getattr(
        module, "".join(w.capitalize() for w in words)
    )
    return neutral_of(kind)


def _like(value: Any, usual: Any) -> Any:
    """The same number in the type of its option: 1 is 1.0 where a fraction may stand."""
    if isinstance(usual, float) and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if isinstance(usual, list) and isinstance(value, list) and usual:
        return [_like(item, usual[0]) for item in value]
    return value


def _mapping(key: str, options: Any) -> Mapping[str, Any]:
    if options is not None and not isinstance(options, Mapping):
        raise UserError(f"{key}={options}: expected a mapping of options, or {{}}")
    return options or {}


def _without(config: Mapping[str, Any], *keys: str) -> dict[str, Any]:
    return {key: value for key, value in config.items() if key not in keys}


def identity_of_version_1(config: Mapping[str, Any]) -> str:
    """The id that ntkexp 0.1 gave: a hash of the whole config."""
    told = _without(config, *EXECUTION_KEYS, *DESCRIPTION_KEYS) | {"schema_version": SCHEMA_VERSION}
    return digest(told)


def read_plain(text: str) -> dict[str, Any]:
    """A kept config as plain values; 1e-05 is a number, which YAML 1.1 takes for a word."""
    try:
        found = OmegaConf.to_container(OmegaConf.create(text))
    except yaml.YAMLError as error:
        raise UserError(f"not YAML: {error}") from error
    if not isinstance(found, dict):
        raise UserError("not a mapping")
    return {str(key): value for key, value in found.items()}
