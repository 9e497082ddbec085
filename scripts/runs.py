"""Which runs a figure draws: the ledger's choice, so that both speak of the same ones."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NoReturn

import pandas as pd

from ntkexp.claims.choice import choose, of_recipe
from ntkexp.claims.effort import line
from ntkexp.claims.horizon import own_end
from ntkexp.claims.record import Record, collect

MISSING_RUNS = 3
# Most of what is said of a curve along training is decided by then; a run that came less far is
# drawn only where there is no other.
CARRIES = 3000


def chosen(
    experiment: str, places: Sequence[Path], tables: Iterable[str], recipe: str = "paper"
) -> list[Record]:
    """The runs of an experiment that are drawn, of those with the tables; none without one.

    `places`: folders of runs; without them the user's own and those of the reference.
    """
    roots = list(places) or folders(experiment)
    complete = [
        record
        for record in of_recipe(collect(root for root in roots if root.is_dir()), recipe)
        if record.experiment == experiment
        and all(name in record.tables and len(record.tables[name]) for name in tables)
    ]
    found = choose(complete, carries) or choose(complete)
    settings = {record.setting for record in complete}
    if len(settings) > 1:
        print(
            f"{experiment}: runs of {len(settings)} configs, drawing those like {found[0].run}; "
            "--runs chooses others",
            file=sys.stderr,
        )
    return found


def carries(record: Record) -> bool:
    """Whether a run came to its experiment's own end, or far enough for most of what is said."""
    return own_end(record) or record.iteration >= CARRIES


def folders(experiment: str) -> list[Path]:
    """Where the runs of an experiment lie: the user's own and those of the reference."""
    return [Path("outputs", experiment), Path("outputs", "reference", experiment)]


def joined(records: Iterable[Record], tables: Iterable[str]) -> dict[str, pd.DataFrame]:
    """The tables of several runs, each with a column `run` that tells them apart."""
    found = list(records)
    return {
        name: pd.concat([r.tables[name].assign(run=r.run) for r in found], ignore_index=True)
        for name in tables
    }


def missing(experiment: str, places: Sequence[Path], tables: Iterable[str]) -> str:
    """What is not there, and the command that makes it."""
    where = list(places) or folders(experiment)
    gone = next((f"no such folder: {path}" for path in places if not path.is_dir()), None)
    told = gone or f"no finished run with {', '.join(tables)} in {', '.join(map(str, where))}"
    return f"{experiment}: {told}\nto make it: {line(experiment)}"


def stop(words: Iterable[str]) -> NoReturn:
    for word in words:
        print(word, file=sys.stderr)
    raise SystemExit(MISSING_RUNS)
