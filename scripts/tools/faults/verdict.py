"""What became of a disturbed work, beside an undisturbed one."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import torch

from ntkexp.scripts.tools.faults.works import Reference, files

Found = Iterator[tuple[str, str]]  # lost | doubled | changed | leftover, and a sentence

# What a job printed is as long as its lives were many.
LOG = "log.txt"


def compare(home: Path, reference: Reference) -> Found:
    """Every file that the undisturbed work leaves, and none beside them."""
    expected, outputs = dict(files(reference.home)), home / "outputs"
    for name, whole in expected.items():
        path = outputs / name
        if path.name == LOG:
            continue
        if not path.is_file():
            yield "lost", f"{name} is missing"
        elif path.suffix == ".parquet":
            yield from compare_tables(path, whole)
        elif path.suffix == ".pt":
            yield from _compare_weights(path, whole)
        elif path.name == "status.json" and json.loads(path.read_bytes())["state"] != "finished":
            yield "changed", f"{name}: not finished"
        elif name in reference.steady and path.read_bytes() != whole.read_bytes():
            yield "changed", f"{name}: other content"
    for name, path in files(home):
        if name not in expected and path.name != LOG:
            yield "leftover", name
    for folder in outputs.rglob("*"):
        if folder.is_dir() and not any(folder.iterdir()):
            yield "leftover", f"{folder.relative_to(outputs)}/"


def compare_tables(path: Path, whole: Path) -> Found:
    """Rows as a multiset first, which tells lost from doubled; then types and order."""
    got, expected = pd.read_parquet(path), pd.read_parquet(whole)
    present, wanted = (
        Counter(map(repr, frame.itertuples(index=False, name=None))) for frame in (got, expected)
    )
    extra, missing = present - wanted, wanted - present
    if doubled := sum(count for row, count in extra.items() if row in wanted):
        yield "doubled", f"{path.name}: {doubled} rows"
    if foreign := sum(count for row, count in extra.items() if row not in wanted):
        yield "changed", f"{path.name}: {foreign} rows"
    if (lost := missing.total() - foreign) > 0:
        yield "lost", f"{path.name}: {lost} rows"
    if not (extra or missing) and (
        list(got.dtypes) != list(expected.dtypes) or not got.equals(expected)
    ):
        yield "changed", f"{path.name}: other columns, types or order"


def _compare_weights(path: Path, whole: Path) -> Found:
    got, expected = (torch.load(file, weights_only=True) for file in (path, whole))
    if got.keys() != expected.keys() or not all(
        got[name].dtype == expected[name].dtype and torch.equal(got[name], expected[name])
        for name in expected
    ):
        yield "changed", f"{path.name}: other weights"
