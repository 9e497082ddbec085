"""Runs as records (ntkexp/results/record.py): all those in some folders, or one."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import pandas as pd

from ntkexp.errors import DamagedRunError, UserError
from ntkexp.experiments import SEEDS, axes
from ntkexp.keys import EXECUTION_KEYS
from ntkexp.results.status import flat_config, flattened
from ntkexp.results.folders import REFERENCE, runs
from ntkexp.results.provenance import last_life
from ntkexp.results.reading import finished, identity, read_table, table_files
from ntkexp.results.record import Record, among
from ntkexp.results.status import read_card, read_status, refuse_damaged


class StoredTables(Mapping[str, pd.DataFrame]):
    """Each read when first asked for: a ledger with one claim chosen opens few files."""

    def __init__(self, folder: Path) -> None:
        self.files = table_files(folder)
        self._read: dict[str, pd.DataFrame] = {}

    def __getitem__(self, name: str) -> pd.DataFrame:
        if name not in self._read:
            self._read[name] = read_table(self.files[name])
        return self._read[name]

    def __contains__(self, name: object) -> bool:
        return name in self.files

    def __iter__(self) -> Iterator[str]:
        return iter(self.files)

    def __len__(self) -> int:
        return len(self.files)


def collect(roots: Iterable[Path]) -> list[Record]:
    """Every run at or below `roots` or their folders `reference` that is finished, or was kept
    while it went on (scripts/tools/keep_reference.py); each once, a finished one first."""
    places = [place for root in roots for place in (root, root / REFERENCE)]
    kept = {identity(folder): folder for folder in reversed(_kept_unfinished(places))}
    done = {identity(folder): folder for folder in reversed(list(finished(places)))}
    by_identity = sorted((kept | done).items())
    return [record for key, folder in by_identity for record in _record(folder, key in done)]


def _kept_unfinished(places: Sequence[Path]) -> list[Path]:
    kept = []
    for folder in runs(places):
        try:
            if "kept_at" in (read_status(folder) or {}):
                identity(folder)  # or refused, as damaged
                kept.append(folder)
        except DamagedRunError:
            pass  # `finished` looks at the same folders, and says so
    return kept


def read(folder: Path | str) -> Record:
    """A finished run with its tables, each read when it is first asked for.

    >>> read("outputs/disk/c57568321b89").tables["evals"]  # doctest: +SKIP
    """
    folder = Path(folder)
    status = read_status(folder)
    if status is None:
        raise UserError(f"{folder}: is no run; expected a folder that holds a status.json")
    if status["state"] != "finished":
        raise UserError(f"{folder}: is {status['state']}; expected a run that is finished")
    refuse_damaged(folder, status)
    return _read(folder, True)


def _record(folder: Path, done: bool) -> Iterator[Record]:
    """One record; none, and a line that says so, of a run that does not say where it is from."""
    try:
        yield _read(folder, done)
    except UserError as error:
        print(f"skipped: {error}", file=sys.stderr)


def _read(folder: Path, done: bool) -> Record:
    config, life, card = flat_config(folder), last_life(folder), read_card(folder)
    experiment = str(config["name"])
    words: Sequence[str] = life.get("argv", ())
    if card is not None:
        # The command may have been another run's, which needed this one.
        words = [f"{key}={config.get(key)}" for key in card.typed]
    return Record(
        experiment,
        folder.name,
        config,
        StoredTables(folder),
        typed(words, experiment),
        life,
        done,
        None if card is None else flattened(card.hashed),
        folder,
    )


def typed(argv: Sequence[str], experiment: str) -> tuple[str, ...]:
    """The overrides of a command, but those that every run of the experiment may have.

    >>> typed(["ntkexp", "train", "+exp=disk", "seed=3", "optim.lr=0.1"], "disk")
    ('optim.lr=0.1',)
    """
    harmless = {*SEEDS, *EXECUTION_KEYS, "exp", "recipe", "scale", *axes(experiment)}
    return tuple(
        word
        for word in argv
        if "=" in word and not word.startswith(("-", "hydra")) and not among(word, harmless)
    )
