"""What became of a disturbed run, beside an undisturbed one."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd
import torch

from ntkexp import results
from ntkexp.errors import UserError

# What a job printed may differ, and a lock file that nobody holds keeps nobody out.
ALLOWED = ("log.txt", "lock")


@dataclass
class Verdict:
    lost: int = 0
    doubled: int = 0
    differing: int = 0
    left_over: int = 0
    tracebacks: int = 0
    notes: list[str] = field(default_factory=list)


def compare(outputs: Path, undisturbed: Path, put_there: frozenset[str] = frozenset()) -> Verdict:
    """Compare every run under `undisturbed`, its tables and weights, with that under `outputs`.

    `put_there` are files, relative to `outputs`, that the campaign itself left behind.
    """
    verdict = Verdict()
    for expected in runs(undisturbed):
        folder = outputs / expected.relative_to(undisturbed)
        _compare_status(folder, verdict)
        for table in sorted(expected.glob("*.parquet")):
            compare_tables(_frame(folder / table.name), pd.read_parquet(table), table.name, verdict)
        for weights in sorted(expected.glob("*.pt")):
            _compare_weights(folder / weights.name, weights, verdict)
    extra = set(files(outputs)) - set(files(undisturbed)) - put_there
    for name in sorted(extra):
        if Path(name).name not in ALLOWED:
            verdict.left_over += 1
            verdict.notes.append(f"left over: {name}")
    return verdict


def compare_loaded(outputs: Path, undisturbed: Path) -> tuple[Verdict, str]:
    """Compare the tables as figures load them; gives the refusal, too, if there was one.

    A run that it leaves out altogether is not compared.
    """
    verdict = Verdict()
    if not outputs.is_dir():
        return verdict, ""
    try:
        tables = results.load(outputs)
    except UserError as error:
        return verdict, str(error)
    except Exception as error:  # anything else is nothing a user should see
        verdict.tracebacks += 1
        verdict.notes.append(f"results.load: {type(error).__name__}: {str(error)[:200]}")
        return verdict, ""
    expected = results.load(undisturbed)
    loaded = {run for frame in tables.values() for run in frame["run"]}
    for name, frame in expected.items():
        got = tables.get(name, frame.iloc[:0])
        for run, rows in frame.groupby("run"):
            if run in loaded:
                kept = got[got["run"] == run]
                compare_tables(kept[rows.columns.intersection(kept.columns)], rows, name, verdict)
    for name in tables.keys() - expected.keys():
        verdict.differing += 1
        verdict.notes.append(f"a table that nobody wrote is loaded: {name}")
    return verdict, ""


def runs(outputs: Path) -> list[Path]:
    return sorted(status.parent for status in outputs.glob("*/*/status.json"))


def files(outputs: Path) -> Iterator[str]:
    for path in outputs.rglob("*"):
        if not path.is_dir() or not any(path.iterdir()):
            yield str(path.relative_to(outputs))


def compare_tables(
    got: pd.DataFrame | None, expected: pd.DataFrame, name: str, verdict: Verdict
) -> None:
    """Rows as a multiset first, which tells lost from doubled; then types and order."""
    if got is None:
        verdict.lost += len(expected)
        verdict.notes.append(f"{name} is missing or cannot be read")
        return
    present, wanted = _rows(got), _rows(expected)
    missing, extra = wanted - present, present - wanted
    doubled = sum(count for row, count in extra.items() if row in wanted)
    foreign = extra.total() - doubled
    lost = max(0, missing.total() - foreign)
    if missing or extra:
        verdict.notes.append(
            f"{name}: {len(got)} rows for {len(expected)}; "
            f"{lost} lost, {doubled} doubled, {foreign} other"
        )
    elif list(got.dtypes) != list(expected.dtypes) or list(got) != list(expected):
        foreign = 1
        verdict.notes.append(f"{name}: other columns or types")
    elif not got.reset_index(drop=True).equals(expected.reset_index(drop=True)):
        foreign = 1
        verdict.notes.append(f"{name}: rows in another order")
    verdict.lost += lost
    verdict.doubled += doubled
    verdict.differing += foreign


def _rows(frame: pd.DataFrame) -> Counter[str]:
    return Counter(map(repr, frame.itertuples(index=False, name=None)))


def _frame(path: Path) -> pd.DataFrame | None:
    try:
        return pd.read_parquet(path)
    except Exception:  # whatever pyarrow makes of a damaged file
        return None


def _compare_weights(file: Path, expected: Path, verdict: Verdict) -> None:
    whole = torch.load(expected, weights_only=True)
    try:
        weights = torch.load(file, weights_only=True)
    except Exception as error:  # whatever torch makes of a damaged file
        verdict.differing += 1
        verdict.notes.append(f"{file.name}: {type(error).__name__}")
        return
    same = weights.keys() == whole.keys() and all(
        weights[name].dtype == whole[name].dtype and torch.equal(weights[name], whole[name])
        for name in whole
    )
    if not same:
        verdict.differing += 1
        verdict.notes.append(f"{file.name}: other weights")


def _compare_status(folder: Path, verdict: Verdict) -> None:
    try:
        state = json.loads((folder / "status.json").read_text())["state"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        state = f"status.json cannot be read: {type(error).__name__}"
    if state != "finished":
        verdict.differing += 1
        verdict.notes.append(f"{folder.name} is not finished: {state}")
