"""Reading results back: one run, or a whole sweep as one set of tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import yaml

from ntkexp.config import DESCRIPTION_KEYS, EXECUTION_KEYS, SCHEMA_VERSION
from ntkexp.errors import UserError
from ntkexp.results.status import read_status

# Facts of a run that say nothing of what was computed never become columns.
UNTOLD = EXECUTION_KEYS + DESCRIPTION_KEYS
# A run's config is plain YAML, resolved when it was written: libyaml reads it twenty times as fast
# as OmegaConf.
PARSER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def load(
    paths: Iterable[Path | str] | Path | str, tables: Iterable[str] | None = None
) -> dict[str, pd.DataFrame]:
    """The tables of every finished run under `paths`, joined.

    Each frame has a column `run` (the run's id) and one column for every config key that
    differs between the runs, under its dotted name (`data.noise`, `seed`).
    """
    folders = list(finished(paths))
    configs = {folder: flat_config(folder) for folder in folders}
    varied = _varied(list(configs.values()))
    wanted = set(tables) if tables is not None else None
    frames: dict[str, list[pd.DataFrame]] = {}
    for folder in folders:
        for file in sorted(folder.glob("*.parquet")):
            if wanted is not None and file.stem not in wanted:
                continue
            frame = pd.read_parquet(file)
            frame.insert(0, "run", folder.name)
            for key in varied:
                frame[key] = configs[folder].get(key)
            frames.setdefault(file.stem, []).append(frame)
    return {name: pd.concat(found, ignore_index=True) for name, found in frames.items()}


def finished(paths: Iterable[Path | str] | Path | str) -> Iterator[Path]:
    """The folders of finished runs under `paths`, in order of their names."""
    for folder in runs(paths):
        status = read_status(folder)
        if status is None or status["state"] != "finished":
            continue
        if status["schema"] != SCHEMA_VERSION:
            raise UserError(
                f"{folder} was written with schema {status['schema']}, this ntkexp reads "
                f"{SCHEMA_VERSION}; run it again with rerun=true"
            )
        yield folder


def runs(paths: Iterable[Path | str] | Path | str) -> list[Path]:
    """Every run folder at or under `paths`, whatever its state."""
    roots = [Path(paths)] if isinstance(paths, str | Path) else [Path(path) for path in paths]
    found = {status.parent for root in roots for status in _statuses(root)}
    return sorted(found)


def flat_config(folder: Path) -> dict[str, Any]:
    """A run's config with dotted keys, without what says nothing of the result."""
    file = folder / "config.yaml"
    try:
        config = yaml.load(file.read_bytes(), Loader=PARSER)
    except yaml.YAMLError as error:
        reason = str(error).partition("\n")[0]
        raise UserError(f"{file} is not YAML: {reason}") from error
    if not isinstance(config, dict):
        raise UserError(f"{file} is not a mapping")
    return dict(_flatten({k: v for k, v in config.items() if k not in UNTOLD}))


def _statuses(root: Path) -> Iterator[Path]:
    for pattern in ("status.json", "*/status.json", "*/*/status.json"):
        yield from root.glob(pattern)


def _flatten(node: dict[Any, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in node.items():
        if isinstance(value, dict):
            yield from _flatten(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", str(value) if isinstance(value, list) else value


def _varied(configs: list[dict[str, Any]]) -> list[str]:
    keys = sorted({key for config in configs for key in config})
    return [key for key in keys if len({config.get(key) for config in configs}) > 1]
