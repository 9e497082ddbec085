"""Which runs a figure draws: the ledger's choice, so that both speak of the same ones."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NoReturn

import pandas as pd

from ntkexp.claims.effort import line
from ntkexp.figures import MISSING_RUNS
from ntkexp.results.folders import OUTPUTS, roots
from ntkexp.results.reading import collect
from ntkexp.results.record import Record
from ntkexp.results.select import Counts, has_rows, of_recipe, runs_to_show


def chosen(
    experiment: str,
    places: Sequence[Path],
    tables: Iterable[str],
    recipe: str = "paper",
    counts: Counts = lambda _: True,
) -> list[Record]:
    """The runs of an experiment that are drawn, of those with the tables; none without one.

    `places`: folders of runs; without them the user's own and those of the reference. `counts`:
    tells whether a run's tables hold what is drawn.
    """
    complete = [r for r in of_experiment(experiment, places, tables, recipe) if counts(r)]
    shown = runs_to_show(complete)
    settings = {record.setting for record in complete}
    if len(settings) > 1:
        print(
            f"{experiment}: runs of {len(settings)} configs, drawing those like {shown[0].run}; "
            "--runs chooses others",
            file=sys.stderr,
        )
    return shown


def of_experiment(
    experiment: str, places: Sequence[Path], tables: Iterable[str], recipe: str = "paper"
) -> list[Record]:
    """All runs of an experiment with the tables, of all settings."""
    roots = list(places) or folders(experiment)
    found = of_recipe(collect(root for root in roots if root.is_dir()), recipe)
    return has_rows(
        [r for r in found if r.experiment == experiment and r.one_of_its_experiment], tables
    )


def chosen_of(
    experiments: Iterable[str],
    places: Sequence[Path],
    tables: Sequence[str],
    choice: Callable[[str, Sequence[Path], Sequence[str]], list[Record]] = chosen,
) -> list[Record]:
    """The runs of the experiments that have some, and for each without the command that makes it;
    where none has, that alone and exit code 3."""
    drawn = {name: choice(name, places, tables) for name in experiments}
    if not any(drawn.values()):
        stop(missing(name, places, tables) for name in drawn)
    for name, records in drawn.items():
        if not records:
            print(f"not drawn, no runs of {name}: {line(name)}", file=sys.stderr)
    return [record for records in drawn.values() for record in records]


def folders(experiment: str) -> list[Path]:
    """The folders of an experiment's runs: the user's own and those of the reference."""
    return [root / experiment for root in roots(OUTPUTS)]


def joined(records: Iterable[Record], tables: Iterable[str]) -> dict[str, pd.DataFrame]:
    """The tables of several runs, each with a column `run` that tells them apart."""
    records = list(records)
    return {
        name: pd.concat([r.tables[name].assign(run=r.run) for r in records], ignore_index=True)
        for name in tables
    }


def needed(experiment: str, places: Sequence[Path], tables: Sequence[str]) -> list[Record]:
    """The runs that `chosen` gives; without one, the command that makes it, and exit code 3."""
    records = chosen(experiment, places, tables)
    if not records:
        stop([missing(experiment, places, tables)])
    return records


def one(experiment: str, places: Sequence[Path], tables: Sequence[str]) -> Record:
    """One run, for figures that cannot show several, and says so of others."""
    first, *others = sorted(needed(experiment, places, tables), key=lambda record: record.run)
    if others:
        print(
            f"{experiment}: drawing {first.run} of {1 + len(others)} runs; --runs chooses another",
            file=sys.stderr,
        )
    return first


def missing(experiment: str, places: Sequence[Path], tables: Iterable[str]) -> str:
    """The message that runs are missing, with the command that makes them."""
    where = list(places) or folders(experiment)
    gone = next((f"no such folder: {path}" for path in places if not path.is_dir()), None)
    reason = gone or f"no finished run with {', '.join(tables)} in {', '.join(map(str, where))}"
    return f"{experiment}: {reason}\nto make it: {line(experiment)}"


def stop(words: Iterable[str]) -> NoReturn:
    for word in words:
        print(word, file=sys.stderr)
    raise SystemExit(MISSING_RUNS)
