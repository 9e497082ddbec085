"""A run's folder: config, provenance, status, tables. Everything in it survives a kill.

While a run works its rows go to numbered part files. A checkpoint is written after the parts it
covers and holds their number, so the checkpoint is the commit: parts with a higher number are
from a life that died before committing and are thrown away. At the end the parts are joined
into one parquet file a table and the status says `finished`, last of all.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from ntkexp.config import SCHEMA_VERSION
from ntkexp.results.atomic import make_folder, replacing, write_text
from ntkexp.results.lock import Lock
from ntkexp.results.status import State, forget_parts
from ntkexp.results.table import Table

ROWS_A_GROUP = 1 << 17


class Run:
    """A run's folder, open for writing. Use as a context: it holds the run's lock.

    >>> import tempfile
    >>> losses = Table("losses", "one row a step", {"step": "int64", "loss": "float64"})
    >>> with Run(Path(tempfile.mkdtemp()), [losses]) as run:
    ...     run.add("losses", {"step": [0, 1], "loss": [2.3, 1.7]})
    ...     run.finish()
    """

    def __init__(self, folder: Path, tables: Iterable[Table]) -> None:
        self.folder = folder
        self.tables = {table.name: table for table in tables}
        self.commits = 0
        self._pending: dict[str, list[pd.DataFrame]] = {name: [] for name in self.tables}
        self._lock = Lock(folder / "lock")

    @property
    def checkpoint(self) -> Path:
        return self.folder / "checkpoint.pt"

    def __enter__(self) -> Run:
        make_folder(self.folder / "parts")
        self._lock.take()
        return self

    def __exit__(self, *error: object) -> None:
        self._lock.release()

    def clear(self) -> None:
        """Throw away every result of an earlier life (a rerun)."""
        (self.folder / "status.json").unlink(missing_ok=True)
        self.checkpoint.unlink(missing_ok=True)
        shutil.rmtree(self.folder / "parts")
        make_folder(self.folder / "parts")

    def add(self, table: str, columns: Mapping[str, object]) -> None:
        """Keep rows for the next commit."""
        self._pending[table].append(self.tables[table].frame(columns))

    def commit(self, save: Callable[[Path, int], None]) -> None:
        """Write the pending rows, then the checkpoint: `save(path, number of commits)`."""
        number = self.commits + 1
        for name, frames in self._pending.items():
            if frames:
                self._write(self._part(name, number), name, pd.concat(frames, ignore_index=True))
        with replacing(self.checkpoint) as temporary:
            save(temporary, number)
        self.commits = number
        for frames in self._pending.values():
            frames.clear()
        self._lock.touch()

    def resume(self, commits: int) -> None:
        """Go on after `commits` commits: parts beyond it were never committed."""
        self.commits = commits
        for part in (self.folder / "parts").glob("*.parquet"):
            if int(part.name.split(".")[1]) > commits:
                part.unlink()

    def finish(self, state: State = "finished", **facts: object) -> None:
        """Join parts and pending rows into the final tables and publish the status.

        Repeatable: killed anywhere in here, a resumed run comes back and does it again.
        """
        for name, table in self.tables.items():
            parts = sorted((self.folder / "parts").glob(f"{name}.*.parquet"))
            frames = [pd.read_parquet(part) for part in parts] + self._pending[name]
            joined = pd.concat(frames, ignore_index=True) if frames else table.empty()
            self._write(self.folder / f"{name}.parquet", name, joined)
        self.write_status(state, **facts)
        forget_parts(self.folder)

    def write_status(self, state: State, **facts: object) -> None:
        status = {"state": state, "schema": SCHEMA_VERSION, "time": now(), **facts}
        write_text(self.folder / "status.json", json.dumps(status, indent=1) + "\n")

    def publish(self, name: str, save: Callable[[Path], None]) -> None:
        """Any other file of the run, whole or absent."""
        with replacing(self.folder / name) as temporary:
            save(temporary)

    def begin(self, config: str, facts: Mapping[str, Any]) -> None:
        """Write the config, add a life to the provenance, and say `running`."""
        self.write_text("config.yaml", config)
        lives = self._lives() if self.checkpoint.exists() else []
        self._write_lives([*lives, {"began": now(), **facts}])
        self.write_status("running")

    def note(self, facts: Mapping[str, Any]) -> None:
        """Add facts to the provenance of this life."""
        *earlier, life = self._lives()
        self._write_lives([*earlier, life | dict(facts)])

    def _lives(self) -> list[dict[str, Any]]:
        path = self.folder / "provenance.json"
        if not path.exists():
            return []
        lives: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))["lives"]
        return lives

    def _write_lives(self, lives: list[dict[str, Any]]) -> None:
        write_text(self.folder / "provenance.json", json.dumps({"lives": lives}, indent=1) + "\n")

    def write_text(self, name: str, text: str) -> None:
        write_text(self.folder / name, text)

    def _part(self, table: str, number: int) -> Path:
        return self.folder / "parts" / f"{table}.{number:08d}.parquet"

    def _write(self, path: Path, name: str, frame: pd.DataFrame) -> None:
        table = pa.Table.from_pandas(frame, preserve_index=False)
        marks = {"ntkexp.table": name, "ntkexp.schema": str(SCHEMA_VERSION)}
        table = table.replace_schema_metadata({**(table.schema.metadata or {}), **marks})
        with replacing(path) as temporary:
            # Fixed row groups: the file depends on the rows alone, not on where parts were cut.
            pq.write_table(table, temporary, compression="zstd", row_group_size=ROWS_A_GROUP)


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
