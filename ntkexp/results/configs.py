"""A run's config with dotted keys. Imports no pandas: `ntkexp list` passes through here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from ntkexp.errors import DamagedRunError, not_read
from ntkexp.keys import DESCRIPTION_KEYS, EXECUTION_KEYS

# Facts of a run that say nothing of what was computed never become columns.
UNTOLD = EXECUTION_KEYS + DESCRIPTION_KEYS
# A run's config is plain YAML, resolved when it was written: libyaml reads it twenty times as fast
# as OmegaConf.
PARSER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def flat_config(folder: Path) -> dict[str, Any]:
    """A run's config with dotted keys, without what says nothing of the result."""
    file = folder / "config.yaml"
    try:
        config = yaml.load(file.read_bytes(), Loader=PARSER)
    except yaml.YAMLError as error:
        reason = str(error).partition("\n")[0]
        raise DamagedRunError(file, f"is not YAML: {reason}") from error
    except OSError as error:
        raise not_read(file, error) from error
    if not isinstance(config, dict):
        raise DamagedRunError(file, "is not a mapping")
    told = flattened({k: v for k, v in config.items() if k not in UNTOLD})
    return {k: v for k, v in told.items() if k not in UNTOLD}


def flattened(node: Mapping[Any, Any]) -> dict[str, Any]:
    """Nested keys as dotted ones."""
    return dict(_flatten(node))


def _flatten(node: Mapping[Any, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in node.items():
        if isinstance(value, dict):
            yield from _flatten(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", str(value) if isinstance(value, list) else value


def varied(configs: Sequence[Mapping[str, Any]]) -> list[str]:
    """The keys in which configs differ."""
    keys = sorted({key for config in configs for key in config})
    return [key for key in keys if len({config.get(key) for config in configs}) > 1]
