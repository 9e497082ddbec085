"""Runs as rows: `ntkexp list --where 'test_loss < 0.3 and model.width == 40' --sort test_loss`."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from ntkexp.errors import UserError, meant
from ntkexp.results.files import costing_itself
from ntkexp.results.numbers.standing import state_of, summary
from ntkexp.results.status import flat_config, read_status, varied

SHOWN = ("test_loss", "test_accuracy", "train_loss", "train_accuracy")
DOTTED = re.compile(r"(?<![`\w.])[A-Za-z_]\w*(?:\.\w+)+(?![`\w(])")


def table(
    folders: Sequence[Path], where: str | None = None, sort: str | None = None
) -> pd.DataFrame:
    """A row a run: how it stands, its last numbers, every key of its config by its dotted name."""
    frame = pd.DataFrame([row for folder in folders for row in _rows(folder)])
    if where and len(frame):
        quoted = DOTTED.sub(lambda m: f"`{m[0]}`" if m[0] in frame else m[0], where)
        try:
            holds = frame.eval(quoted, engine="python")
        except Exception as error:  # of whatever kind pandas finds
            reason = str(error).splitlines()[0]
            raise UserError(f"--where {where}: {reason}; {_columns(frame)}") from error
        if not (isinstance(holds, pd.Series) and holds.dtype.kind == "b"):
            raise UserError(f"--where {where}: is no condition; expected one such as seed == 0")
        frame = frame[holds]
    if sort and len(frame):
        if sort not in frame:
            raise UserError(
                f"--sort {sort}: no such column{meant(sort, [*frame])}; {_columns(frame)}"
            )
        frame = frame.sort_values(sort, kind="stable")
    return frame


def _columns(frame: pd.DataFrame) -> str:
    names = ", ".join(name for name in map(str, frame) if "." not in name)
    return f"there are {names}, and the keys of configs, such as optim.lr"


def _rows(folder: Path) -> list[dict[str, Any]]:
    told = None
    with costing_itself(folder):
        status = read_status(folder) or {}
        config, told = flat_config(folder, status), summary(folder, status)
    if told is None:
        return []
    numbers = {name.replace(" ", "_"): mean for name, (mean, *_) in told.last.items()}
    stands = {"experiment": config.get("name"), "run": folder.name, "folder": str(folder)}
    stands |= {"state": state_of(folder, status), "time": status.get("time")}
    return [{**stands, "step": told.step, **numbers, **config}]


def as_json(frame: pd.DataFrame) -> str:
    """A list of objects; a key for which a run has no value is left out."""
    rows = [
        {key: value for key, value in row.items() if value == value}  # NaN is where there is none
        for row in frame.to_dict("records")
    ]
    return json.dumps(rows, indent=2, default=str)


def as_text(frame: pd.DataFrame, width: int, sort: str | None = None) -> str:
    """As many columns as fit: state, what they are sorted by, step, the keys in which runs differ,
    those in which most do first, the last numbers."""
    if not len(frame):
        return "no such runs"
    rows = [{str(key): value for key, value in row.items()} for row in frame.to_dict("records")]
    # No two NaN are equal, so runs seem to differ in a key of which none has a value.
    valued = {str(key) for key in frame if frame[key].notna().any()}
    keys = [key for key in varied(rows) if key in valued and ("." in key or key == "seed")]
    keys.sort(key=lambda key: frame[key].astype(str).value_counts().iloc[0])
    several = ["experiment"] if frame["experiment"].nunique() > 1 else []
    shown = [*([sort] if sort else []), "step", *keys, *(name for name in SHOWN if name in frame)]
    names = dict.fromkeys([*several, "run", "state", *shown])
    columns: list[list[str]] = []
    left_out, used = [], -2
    for name in names:
        column = frame[name].to_frame().to_string(index=False, float_format="%.4g").splitlines()
        if columns and used + 2 + len(column[0]) > width:
            left_out.append(name)
            continue
        columns.append(column)
        used += 2 + len(column[0])
    lines = ["  ".join(cells) for cells in zip(*columns, strict=True)]
    note = (
        [f"left out for want of width (--json has all): {', '.join(left_out)}"] if left_out else []
    )
    return "\n".join([*lines, *note])
