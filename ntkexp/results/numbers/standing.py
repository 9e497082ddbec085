"""How runs stand beside each other: in which keys they differ, how far they came, last numbers.

Telling runs apart imports no pandas; their numbers do.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ntkexp.errors import DamagedRunError, UserError
from ntkexp.results.lock import is_locked
from ntkexp.results.status import flat_config, read_status, varied

if TYPE_CHECKING:
    import pandas as pd

NUMBERS = ("loss", "accuracy")
KEYS = ("step", "split", "subset")
MANY = 12


def state_of(folder: Path, status: Mapping[str, Any]) -> str:
    """What its status says; "stopped" where that is "running" and nobody works on it any more."""
    stopped = status.get("state") == "running" and not is_locked(folder / "lock")
    return "stopped" if stopped else str(status.get("state"))


def distinguishing_keys(runs: Sequence[Path]) -> dict[Path, str]:
    """The keys in which each run differs from the others, `model.width=40 seed=1`.

    Empty for a single run, and for a run whose config cannot be read.
    """
    configs: dict[Path, Mapping[str, Any]] = {}
    if len(runs) > 1:
        for run in runs:
            try:
                configs[run] = flat_config(run)
            except DamagedRunError:
                continue  # the line on its state says so
    keys = [key for key in varied(list(configs.values())) if key != "name"]
    return {
        run: " ".join(f"{key}={brief(config.get(key))}" for key in keys if key in config)
        for run, config in configs.items()
    }


def progress(run: Path) -> str:
    """The last step of a run, and its last numbers: `step 1,200 of 2,000; test loss 0.31 ...`."""
    tables = tables_of(run)
    step = last_step(tables)
    if step is None:
        return ", ".join(f"{name}: {len(frame)} rows" for name, frame in tables.items())
    reached = f"step {step:,}{_limit(run)}"
    numbers = dict(last_numbers(tables))
    if len(numbers) > MANY:  # tenths of the examples, say: one line has no room for them
        whole = [f"{split} {name}" for split in ("train", "test") for name in NUMBERS]
        numbers = {key: value for key, value in numbers.items() if key in whole}
    networks = networks_of(tables)
    many = [f"{networks} networks, mean (least to most)"] if networks > 1 else []
    return "; ".join([reached, *many, *(f"{key} {value}" for key, value in numbers.items())])


def last_step(tables: Mapping[str, pd.DataFrame]) -> int | None:
    """The last step that tables tell of; None of a computation without steps."""
    steps = [
        int(frame["step"].max()) for frame in tables.values() if "step" in frame and len(frame)
    ]
    return max(steps, default=None)


def _limit(run: Path) -> str:
    limits = flat_config(run)
    steps, epochs = limits.get("optim.steps"), limits.get("optim.epochs")
    stated = [f"{steps:,} steps"] if steps else []
    stated += [f"{epochs} epochs"] if epochs else []
    return f" of at most {' or '.join(stated)}" if stated else ""


def last_numbers(tables: Mapping[str, pd.DataFrame]) -> Iterator[tuple[str, str]]:
    """(`test loss`, `0.31`) of the last evaluation, of every split and subset.

    Of several networks in one run the mean, the least and the most.
    """
    yield from ((key, _summary(values)) for key, values in _last_values(tables))


def last_means(tables: Mapping[str, pd.DataFrame]) -> dict[str, float]:
    """The numbers of `last_numbers`, each the mean over the networks of a run."""
    return {key: float(values.mean()) for key, values in _last_values(tables)}


def _last_values(tables: Mapping[str, pd.DataFrame]) -> Iterator[tuple[str, pd.Series]]:
    """The last losses and accuracies by name; no accuracy where targets are numbers."""
    frame = tables.get("evals")
    if frame is None or not len(frame):
        return
    last = frame[frame["step"] == frame["step"].max()]
    keys = [key for key in ("split", "subset") if key in last]
    for key, rows in last.groupby(keys, sort=False):
        split, subset = (*map(str, key), "all")[:2]
        part = "" if subset == "all" else f" {subset}"
        for name in NUMBERS:
            if name in rows and (name == "loss" or rows[name].notna().any()):
                yield f"{split}{part} {name}", rows[name]


def _summary(values: pd.Series) -> str:
    mean = f"{values.mean():.4g}"
    return mean if len(values) == 1 else f"{mean} ({values.min():.4g} to {values.max():.4g})"


def networks_of(tables: Mapping[str, pd.DataFrame]) -> int:
    """The number of networks that a run trains: members have a column for each key that differs."""
    frame = tables.get("evals")
    if frame is None:
        return 1
    keys = [key for key in frame if key not in (*KEYS, *NUMBERS)]
    return len(frame[keys].drop_duplicates()) if keys else 1


def compared(first: Path, second: Path) -> list[tuple[str, str, str]]:
    """(key, of the first, of the second) of everything in which two runs differ: their configs, and
    below them their last numbers."""
    configs = [flat_config(first), flat_config(second)]
    rows = [(key, *(brief(config.get(key, "-")) for config in configs)) for key in varied(configs)]
    numbers = [dict(last_numbers(tables_of(run))) for run in (first, second)]
    rows += [(key, *(of_run.get(key, "-") for of_run in numbers)) for key in varied(numbers)]
    return [(key, a, b) for key, a, b in rows]


def tables_of(run: Path) -> dict[str, pd.DataFrame]:
    """The tables of a finished run, or the committed rows of an unfinished one."""
    from ntkexp.results.reading import committed_tables, read_table, table_files

    if (read_status(run) or {}).get("state") != "finished":
        return {
            name: table.to_pandas(use_threads=False)
            for name, table in committed_tables(run).items()
        }
    tables = {}
    for name, file in table_files(run).items():
        try:
            tables[name] = read_table(file)
        except UserError:
            continue  # `ntkexp show` tells of damaged files
    return tables


def brief(value: object) -> str:
    """A value as one would type it."""
    if value is None:
        return "null"
    return str(value).lower() if isinstance(value, bool) else str(value)
