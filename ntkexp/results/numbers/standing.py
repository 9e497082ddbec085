"""How runs stand beside each other: in which keys they differ, how far they came, last numbers.

Telling runs apart imports no pandas; their numbers do.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ntkexp.errors import DamagedRunError, UserError
from ntkexp.results.lock import is_locked
from ntkexp.results.status import LOCK, flat_config, read_status, varied
from ntkexp.results.summary import NUMBERS, WHOLE, Summary, summary_of

if TYPE_CHECKING:
    import pandas as pd

MANY = 12


def state_of(folder: Path, status: Mapping[str, Any]) -> str:
    """What its status says; "stopped" where that is "running" and nobody works on it any more."""
    stopped = status.get("state") == "running" and not is_locked(folder / LOCK)
    return "stopped" if stopped else str(status.get("state"))


def distinguishing_keys(runs: Sequence[Path]) -> dict[Path, str]:
    """The keys in which each run differs from the others, `model.width=40 seed=1`.

    Where one of many alone has another value of a key, it alone tells it. Empty for a single run,
    and for a run whose config cannot be read.
    """
    configs: dict[Path, Mapping[str, Any]] = {}
    if len(runs) > 1:
        for run in runs:
            try:
                configs[run] = flat_config(run)
            except DamagedRunError:
                continue  # the line on its state says so
    keys = [key for key in varied(list(configs.values())) if key != "name"]
    usual: dict[str, str] = {}
    for key in keys if len(configs) > 2 else ():
        [(value, number)] = Counter(str(of.get(key)) for of in configs.values()).most_common(1)
        usual |= {key: value} if number == len(configs) - 1 else {}
    return {
        run: " ".join(
            f"{key}={brief(config.get(key))}"
            for key in keys
            if key in config and usual.get(key) != str(config[key])
        )
        for run, config in configs.items()
    }


def progress(run: Path) -> str:
    """The last step of a run, and its last numbers: `step 1,200 of 2,000; test loss 0.31 ...`."""
    status = read_status(run) or {}
    told = summary(run, status)
    if told.step is None:
        return ", ".join(f"{name}: {rows} rows" for name, rows in told.rows.items())
    reached = f"step {told.step:,}{_limit(flat_config(run, status))}"
    numbers = last_numbers(told)
    if len(numbers) > MANY:  # tenths of the examples, say: one line has no room for them
        whole = [f"{split} {name}" for split in ("train", "test") for name in NUMBERS]
        numbers = {key: value for key, value in numbers.items() if key in whole}
    several = f"{told.networks} networks, mean (least to most)"
    many = [several] if told.networks > 1 else []
    return "; ".join([reached, *many, *(f"{key} {value}" for key, value in numbers.items())])


def summary(run: Path, status: Mapping[str, Any]) -> Summary:
    """What the status says of a run's tables; of an older run, and of one that is not finished,
    what they say themselves."""
    if "summary" in status:
        return Summary(**status["summary"])
    return summary_of(tables_of(run, steps_alone=True))


def _limit(limits: Mapping[str, Any]) -> str:
    steps, epochs = limits.get("optim.steps"), limits.get("optim.epochs")
    stated = [f"{steps:,} steps"] if steps else []
    stated += [f"{epochs} epochs"] if epochs else []
    return f" of at most {' or '.join(stated)}" if stated else ""


def last_numbers(told: Summary) -> dict[str, str]:
    """`test loss`: `0.31` of the last evaluation, of every split and subset.

    Of several networks in one run the mean, the least and the most.
    """
    return {
        name: f"{mean:.4g}" if values == 1 else f"{mean:.4g} ({least:.4g} to {most:.4g})"
        for name, (mean, least, most, values) in told.last.items()
    }


def compared(first: Path, second: Path) -> list[tuple[str, str, str]]:
    """(key, of the first, of the second) of everything in which two runs differ: their configs, and
    below them their last numbers."""
    configs = [flat_config(first), flat_config(second)]
    rows = [(key, *(brief(config.get(key, "-")) for config in configs)) for key in varied(configs)]
    numbers = [last_numbers(summary(run, read_status(run) or {})) for run in (first, second)]
    rows += [(key, *(of_run.get(key, "-") for of_run in numbers)) for key in varied(numbers)]
    return [(key, a, b) for key, a, b in rows]


def tables_of(run: Path, *, steps_alone: bool = False) -> dict[str, pd.DataFrame]:
    """The tables of a finished run, or the committed rows of an unfinished one; `steps_alone`: but
    for those of `WHOLE` no other column than the steps."""
    from ntkexp.results.reading import committed_tables, read_table, table_files

    if (read_status(run) or {}).get("state") != "finished":
        return {
            name: table.to_pandas(use_threads=False)
            for name, table in committed_tables(run).items()
        }
    tables = {}
    for name, file in table_files(run).items():
        try:
            tables[name] = read_table(file, ["step"] if steps_alone and name not in WHOLE else None)
        except UserError:
            continue  # `ntkexp show` tells of damaged files
    return tables


def brief(value: object) -> str:
    """A value as one would type it."""
    if value is None:
        return "null"
    return str(value).lower() if isinstance(value, bool) else str(value)
