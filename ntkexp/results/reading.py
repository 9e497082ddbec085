"""Results read back: a run or all runs in some folders as records, a sweep as one set of tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import pandas as pd
import pyarrow as pa

from ntkexp.errors import DamagedRunError, UnknownNameError, UserError, meant
from ntkexp.experiments import SEEDS, axes
from ntkexp.home import at_home
from ntkexp.keys import EXECUTION_KEYS
from ntkexp.results.commits import read_chain
from ntkexp.results.files import costing_itself, read_checked
from ntkexp.results.folders import REFERENCE, found, runs, with_name
from ntkexp.results.numbers.standing import state_of
from ntkexp.results.provenance import last_life
from ntkexp.results.record import Record, among
from ntkexp.results.status import (
    UNFINISHED,
    flat_config,
    flattened,
    kept_config,
    read_card,
    read_status,
    refuse_damaged,
    varied,
)
from ntkexp.results.summary import Summary
from ntkexp.results.table import SCHEMA_VERSION, frame_of, table_of


def load(
    paths: Iterable[Path | str] | Path | str, tables: Iterable[str] | None = None
) -> dict[str, pd.DataFrame]:
    """The tables of every finished run under `paths`, joined; each run once.

    Each frame has a column `run` (the run's id) and one column for every config key that
    differs between the runs, under its dotted name (`data.noise`, `seed`). A folder that is not
    there is refused, and so is a table that none of the runs has.
    """
    given = [paths] if isinstance(paths, str | Path) else paths
    roots = [Path(at_home(path)) for path in given]
    for root in roots:
        if not root.is_dir():
            raise UserError(f"{root}: no such folder; expected one with runs in it")
    configs = {folder: flat_config(folder, status) for _, folder, status in _finished(roots)}
    folders = list(configs)
    keys = varied(list(configs.values()))
    wanted = set(tables) if tables is not None else None
    frames: dict[str, list[pd.DataFrame]] = {}
    for folder in folders:
        for name, file in table_files(folder).items():
            if wanted is not None and name not in wanted:
                continue
            with costing_itself(folder):
                frame = read_table(file)
                frame.insert(0, "run", folder.name)
                for key in keys:
                    frame[key] = configs[folder].get(key)
                frames.setdefault(name, []).append(frame)
    if folders and (absent := (wanted or set()).difference(frames)):
        present = sorted({name for folder in folders for name in table_files(folder)})
        raise UserError(
            f"no table {', '.join(sorted(absent))} in the runs under "
            f"{', '.join(map(str, roots))}; they have {', '.join(present)}"
        )
    return {name: pd.concat(of_runs, ignore_index=True) for name, of_runs in frames.items()}


def _finished(
    paths: Iterable[Path | str] | Path | str, *, kept: bool = False
) -> Iterator[tuple[tuple[str, str], Path, dict[str, Any]]]:
    """Finished runs: (experiment, id), their folder, and what their status says; with `kept` also
    those that were kept while they went on."""
    yielded: set[tuple[tuple[str, str], bool]] = set()
    for folder in runs(paths):
        found = None
        with costing_itself(folder):
            status = read_status(folder) or {}
            done = status.get("state") == "finished"
            if not done and not (kept and "kept_at" in status):
                continue
            if "config" not in status:  # of an older run, whose YAML is read once
                status["config"] = flattened(kept_config(folder))
            run = run_key(folder, status)
            if (run, done) in yielded:
                continue
            if done:
                _refuse_other_schema(folder, status)
                # Weights are the most of it, and are looked at when they are read.
                refuse_damaged(folder, status, but=(".pt",))
            found = run, folder, status
        if found is not None:
            yielded.add((run, done))
            yield found


def run_key(folder: Path, status: dict[str, Any] | None = None) -> tuple[str, str]:
    """(experiment, id) of a run: one id under two experiments is two runs."""
    card = read_card(folder)
    return card.experiment if card else str(flat_config(folder, status).get("name")), folder.name


def _refuse_other_schema(folder: Path, status: dict[str, Any]) -> None:
    if status.get("schema") != SCHEMA_VERSION:
        raise UserError(
            f"{folder} was written with schema {status.get('schema')}, this ntkexp reads "
            f"{SCHEMA_VERSION}; run it again with rerun=true"
        )


def table_files(folder: Path, known: dict[str, Any] | None = None) -> dict[str, TableFile]:
    """The tables of a finished run by their names: those that its status lists, no others.

    Runs kept from before there was such a list have no strangers in their folders.
    """
    status = known if known is not None else read_status(folder) or {}
    if "files" not in status:
        return {path.stem: TableFile(path) for path in sorted(folder.glob("*.parquet"))}
    return {
        Path(name).stem: TableFile(folder / name, str(facts["sha256"]), facts.get("rows"))
        for name, facts in sorted(status["files"].items())
        if name.endswith(".parquet")
    }


@dataclass(frozen=True)
class TableFile:
    path: Path
    sha256: str | None = None
    rows: int | None = None


def read_table(file: TableFile, columns: list[str] | None = None) -> pd.DataFrame:
    """A table as it was published; refused in one line where the file has changed since."""
    content = read_checked(file.path, file.sha256)
    try:
        return frame_of(content, columns)
    except (pa.ArrowException, OSError) as error:
        raise DamagedRunError(file.path, "is damaged (no parquet)") from error


def finished(paths: Iterable[Path | str] | Path | str) -> Iterator[Path]:
    """The folders of finished runs under `paths`, each run once; of two copies that under the
    earlier path counts.

    A run with a damaged file is left out, and one line on standard error says so.
    """
    return (folder for _, folder, _ in _finished(paths))


def read(folder: Path | str) -> Record:
    """A finished run with its tables, each read when it is first asked for: by its folder, or by
    the beginning of its id, as `ntkexp show` takes it.

    >>> read("outputs/disk/c57568321b89").tables["evals"]  # doctest: +SKIP
    """
    folder = with_name(Path(at_home(folder)))
    if folder == Path(folder.name) and not folder.exists():
        folder = found(folder.name)
    status = read_status(folder)
    if status is None:
        raise UserError(f"{folder}: is no run; expected a folder that holds a status.json")
    if status["state"] != "finished":
        state = state_of(folder, status)
        way_out = "" if state in ("running", "failed") else " (the same command resumes it)"
        raise UserError(f"{folder}: is {state}; expected a run that is finished{way_out}")
    refuse_damaged(folder, status)
    return _read(folder, status)


def _read(folder: Path, status: dict[str, Any]) -> Record:
    config = flat_config(folder, status)
    life, card = last_life(folder), read_card(folder)
    experiment = str(config["name"])
    words: Sequence[str] = life.get("argv", ())
    if card is not None:
        # The command may have been another run's, which needed this one.
        words = [f"{key}={config.get(key, config.get(f'{key}.name'))}" for key in card.typed]
    return Record(
        experiment,
        folder.name,
        StoredConfig(config),
        StoredTables(folder, status),
        typed(words, experiment),
        life,
        status["state"] == "finished",
        None if card is None else flattened(card.hashed),
        folder,
        str(status.get("time", "")),
        Summary(**status["summary"]) if "summary" in status else None,
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


class StoredConfig(dict[str, Any]):
    """The dotted keys of a config."""

    def __missing__(self, key: str) -> NoReturn:
        beside = [name for name in self if name.startswith(f"{key.partition('.')[0]}.")] or self
        raise UnknownNameError(
            f"{key}: no such key{meant(key, [*self])}; there are {', '.join(beside)}"
        )


class StoredTables(Mapping[str, pd.DataFrame]):
    """Each read when first asked for: a ledger with one claim chosen opens few files."""

    def __init__(self, folder: Path, status: dict[str, Any]) -> None:
        self.files = table_files(folder, status)
        self._read: dict[str, pd.DataFrame] = {}

    def rows(self, name: str) -> int | None:
        """How many rows a table has, where the status says it."""
        return self.files[name].rows

    def __getitem__(self, name: str) -> pd.DataFrame:
        if name not in self.files:
            guess = meant(name, [*self.files])
            raise UnknownNameError(f"no table {name}{guess}; there are {', '.join(self.files)}")
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
    found = sorted(_finished(places, kept=True), key=lambda run: run[2]["state"] != "finished")
    by_key = {run: (folder, status) for run, folder, status in reversed(found)}
    return [record for _, run in sorted(by_key.items()) for record in _record(*run)]


def _record(folder: Path, status: dict[str, Any]) -> Iterator[Record]:
    """The record of a run; nothing, and a line on standard error, where it cannot be read."""
    record = None
    with costing_itself(folder):
        record = _read(folder, status)
    if record is not None:
        yield record


def committed_tables(folder: Path) -> dict[str, pa.Table]:
    """The tables of an unfinished run up to its last commit; none before the first."""
    committed = folder / UNFINISHED / "committed"
    parts: dict[str, list[pa.Table]] = {}
    for commit in read_chain(committed):
        for part in commit.parts:
            parts.setdefault(str(part.table), []).append(table_of(part.read(committed)))
    return {name: pa.concat_tables(tables) for name, tables in parts.items()}


def kept_arrays(folder: Path) -> dict[str, bytes]:
    """The .npy files of a finished run, or those of an unfinished one up to its last commit."""
    committed = folder / UNFINISHED / "committed"
    files = [file for commit in read_chain(committed) for file in commit.files]
    kept = {str(file.published): file.read(committed) for file in files}
    found = kept or {file.name: file.read_bytes() for file in folder.glob("*.npy")}
    return {name: content for name, content in found.items() if name.endswith(".npy")}
