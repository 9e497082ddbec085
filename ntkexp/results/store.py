"""A run's folder: config, provenance, status, tables. Everything in it survives a kill.

While a run works its rows go to the parts of commits (`commits.py`). At the end they are joined
into one parquet file a table, and `status.json` says `finished`, last, with the list of files.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import sys
from collections.abc import Iterable, Mapping
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.parquet  # noqa: F401 - loaded before a run begins, and before jobs are forked

from ntkexp.errors import DamagedRunError, UnreadableRunError, UserError, cannot_write
from ntkexp.results.commits import Commit, Drafts, StoredFile, last_life, prefix, read_chain
from ntkexp.results.files import make_folder, names_in, remove
from ntkexp.results.lock import Lock
from ntkexp.results.status import (
    CARD,
    LOCK,
    STATUS,
    UNFINISHED,
    Card,
    State,
    flattened,
    forget_work,
    has_commits,
    kept_config,
    status_text,
    sweep_up,
)
from ntkexp.results.summary import WHOLE, Summary, summary_of
from ntkexp.results.table import SCHEMA_VERSION, Table, declared, frame_of, parquet

# What loggers keep of a run (ntkexp/loggers/mirror.py).
LOGS = "logs"


class Run:
    """A run's folder, open for writing. Use as a context: it holds the run's lock.

    >>> import tempfile
    >>> from ntkexp.results.table import STEP, float64
    >>> losses = Table("losses", "one row a step", {"step": STEP, "loss": float64("in nats")})
    >>> with Run(Path(tempfile.mkdtemp()), [losses]) as run:
    ...     run.add("losses", {"step": [0, 1], "loss": [2.3, 1.7]})
    ...     run.finish().rows
    {'losses': 2}
    """

    def __init__(self, folder: Path, tables: Iterable[Table]) -> None:
        self.folder = folder
        self.tables = {table.name: table for table in tables}
        self.facts: dict[str, Any] = {}
        self.began_at = 0.0  # when the first life began, in seconds since 1970
        self._chain: list[Commit] = []
        self._pending: dict[str, list[pd.DataFrame]] = {name: [] for name in self.tables}
        self._staged: dict[str, bytes] = {}
        self._kept: dict[str, StoredFile] = {}
        self._listed_at_begin: dict[str, dict[str, Any]] = {}
        self._lock = Lock(folder / LOCK)
        self._drafts = Drafts(folder / UNFINISHED)

    @property
    def committed(self) -> Path:
        return self.folder / UNFINISHED / "committed"

    def __enter__(self) -> Run:
        make_folder(self.folder)
        self._lock.take()
        try:
            self._refuse_links()
            self._drafts.open(after=last_life(self.committed))
            make_folder(self.committed)
            sweep_up(self.folder)
        except BaseException:
            self._lock.release()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        lost = not self._drafts.folder.is_dir()
        self._drafts.close()
        try:
            began = (self.folder / STATUS).exists() or has_commits(self.folder)
            if not began and not lost:
                # Nothing began here: nothing stays.
                forget_work(self.folder)
        finally:
            self._lock.release()
        with contextlib.suppress(OSError):
            self.folder.rmdir()

    def _refuse_links(self) -> None:
        """Refuse symbolic links to other places where files of the run are removed."""
        for path in (self.folder / UNFINISHED, self.committed, self.folder / LOGS):
            if path.is_symlink():
                raise UserError(f"{path} is a link; expected a folder of this run, or none")

    def clear(self) -> None:
        """Throw away every result of an earlier life (a rerun)."""
        try:
            (self.folder / STATUS).unlink(missing_ok=True)
            # In one step: a kill in here leaves the whole chain or nothing of it.
            gone = self._drafts.folder / "committed"
            self.committed.rename(gone)
            shutil.rmtree(gone)
        except OSError as error:
            raise cannot_write(self.folder, error) from error
        for name in (LOGS, *_results_in(self.folder)):
            remove(self.folder / name)
        make_folder(self.committed)

    def resume(self) -> bytes | None:
        """Go on after the last commit of earlier lives: its checkpoint, None without one.

        Whatever that chain of commits does not name is thrown away. `facts` are then those that
        the run has kept since its first life.
        """
        self._chain = read_chain(self.committed)
        counting = {commit.name for commit in self._chain}
        self._kept = {}
        for stored in (*self._parts(), *self._files()):
            stored.read(self.committed)  # or refused, as damaged
            counting.add(stored.name)
        checkpoint = None
        if self._chain:
            last = self._chain[-1]
            checkpoint = last.checkpoint.read(self.committed)
            counting.add(last.checkpoint.name)
            self.facts = dict(last.facts)
        for name in names_in(self.committed):
            if name not in counting:
                remove(self.committed / name)
        return checkpoint

    def begin(self, config: str, provenance: Mapping[str, Any], card: Card | None = None) -> None:
        """Write config and card, add a life to the provenance, and say `running`.

        The facts of the card are kept for all lives of the run: those of an earlier life stand.
        """
        texts = {"config.yaml": config}
        if card is not None:
            self.facts = {**card.facts, **self.facts}
            texts[CARD] = replace(card, facts=self.facts).text()
        for name, text in texts.items():
            self.write_text(name, text)
            self._listed_at_begin[name] = StoredFile.of_bytes(text.encode(), name).facts
        lives = [*(self._lives() if self._chain else []), {"began": now(), **provenance}]
        self.began_at = datetime.fromisoformat(lives[0].get("began", now())).timestamp()
        self._write_lives(lives)
        self.write_status("running")

    @property
    def commits(self) -> int:
        """The number of commits, those of earlier lives among them."""
        return len(self._chain)

    def rows_of(self, number: int) -> dict[str, pd.DataFrame]:
        """The rows of one commit, counted from 1, by table."""
        parts = self._chain[number - 1].parts
        return {part.table: self._read(part) for part in parts if part.table is not None}

    def pending(self) -> dict[str, pd.DataFrame]:
        """The rows since the last commit, by table."""
        return {
            name: pd.concat(frames, ignore_index=True)
            for name, frames in self._pending.items()
            if frames
        }

    def so_far(self) -> dict[str, Any]:
        """`rows`, how many of each table are committed, and the names of the `files` kept."""
        rows: dict[str, int] = {}
        for part in self._parts():
            assert part.table is not None and part.rows is not None
            rows[part.table] = rows.get(part.table, 0) + part.rows
        return {"rows": rows, "files": [file.published for file in self._files()]}

    def add(self, table: str, columns: Mapping[str, object]) -> None:
        """Keep rows for the next commit."""
        frame = declared(self.tables, table).frame(columns)
        self._pending[table].append(frame)

    def keep(self, name: str, content: bytes) -> None:
        """Another file of the run, on disk from now on; it counts from the next commit on."""
        if name in self._kept or name in {file.published for file in self._files()}:
            raise ValueError(f"{name} is kept already")
        self._kept[name] = self._write_next(name, content)

    def read_kept(self, name: str) -> bytes:
        """A file that was kept, as of the last commit."""
        (file,) = [file for file in self._files() if file.published == name]
        return file.read(self.committed)

    def commit(self, checkpoint: bytes) -> None:
        """Write down the pending rows and the state to go on from."""
        number = len(self._chain) + 1
        parts = []
        for name, frames in self._pending.items():
            if frames:
                frame = pd.concat(frames, ignore_index=True)
                content, rows = parquet(name, frame), len(frame)
                parts.append(self._write_next(f"{name}.parquet", content, table=name, rows=rows))
        commit = Commit(
            number=number,
            life=self._drafts.life,
            parent=self._chain[-1].life if self._chain else None,
            checkpoint=self._write_next("checkpoint", checkpoint),
            parts=tuple(parts),
            files=tuple(self._kept.values()),
            facts=self.facts,
        )
        self._drafts.write(self.committed / commit.name, commit.text())
        # From here on it counts, whatever becomes of the checkpoint that it replaces.
        before = self._chain[-1:]
        self._chain.append(commit)
        self._kept = {}
        for frames in self._pending.values():
            frames.clear()
        for replaced in before:
            remove(self.committed / replaced.checkpoint.name)

    def stage(self, name: str, content: bytes) -> None:
        """Another file of the run, published when the run finishes."""
        self._staged[name] = content

    def finish(self, state: State = "finished", **reasons: object) -> Summary:
        """Publish the tables, joined from parts and pending rows, staged files, and the status.
        Returns what the tables tell of the run.

        Repeatable: killed anywhere in here, a resumed run comes back and does it again.
        """
        listed: dict[str, dict[str, Any]] = {}
        told: dict[str, pd.DataFrame] = {}
        for name, table in self.tables.items():
            frames = [self._read(part) for part in self._parts() if part.table == name]
            frames += self._pending[name]
            joined = pd.concat(frames, ignore_index=True) if frames else table.empty()
            facts = self._publish(f"{name}.parquet", parquet(name, joined))
            listed[f"{name}.parquet"] = facts | {"rows": len(joined)}
            told[name] = joined if name in WHOLE else joined[joined.columns.intersection(["step"])]
        for file in (*self._files(), *self._kept.values()):
            self._drafts.link(self.committed / file.name, self.folder / file.published)
            listed[file.published] = file.facts
        for name, content in self._staged.items():
            listed[name] = self._publish(name, content)
        listed |= self._listed_at_begin
        for name in _results_in(self.folder):
            if name not in listed:
                remove(self.folder / name)
        summary = summary_of(told)
        facts = {"summary": asdict(summary)}
        if "config.yaml" in listed:
            facts["config"] = flattened(kept_config(self.folder))
        self.write_status(state, **reasons, files=listed, **facts)
        forget_work(self.folder)
        return summary

    def write_status(self, state: State, **facts: object) -> None:
        status = {"state": state, "schema": SCHEMA_VERSION, "time": now(), **facts}
        self.write_text(STATUS, status_text(status))

    def note(self, facts: Mapping[str, Any]) -> None:
        """Add facts to the provenance of this life."""
        *earlier, life = self._lives() or [{}]
        self._write_lives([*earlier, life | dict(facts)])

    def write_text(self, name: str, text: str) -> None:
        self._drafts.write(self.folder / name, text.encode())

    def _parts(self) -> list[StoredFile]:
        return [part for commit in self._chain for part in commit.parts]

    def _files(self) -> list[StoredFile]:
        return [file for commit in self._chain for file in commit.files]

    def _read(self, part: StoredFile) -> pd.DataFrame:
        frame = frame_of(part.read(self.committed))
        if len(frame) != part.rows:
            raise DamagedRunError(self.committed / part.name, f"has {len(frame)} rows")
        return frame

    def _write_next(self, name: str, content: bytes, **facts: Any) -> StoredFile:
        """Write a file of the next commit."""
        number = len(self._chain) + 1
        path = self.committed / f"{prefix(number, self._drafts.life)}.{name}"
        self._drafts.write(path, content)
        return StoredFile.of_bytes(content, path.name, **facts)

    def _publish(self, name: str, content: bytes) -> dict[str, Any]:
        self._drafts.write(self.folder / name, content)
        return StoredFile.of_bytes(content, name).facts

    def _lives(self) -> list[dict[str, Any]]:
        path = self.folder / "provenance.json"
        try:
            return [dict(life) for life in json.loads(path.read_bytes())["lives"]]
        except FileNotFoundError:
            return []
        except OSError as error:
            raise UnreadableRunError(path, error) from error
        except (ValueError, KeyError, TypeError):
            print(f"{path} is damaged: what it said of earlier lives is lost", file=sys.stderr)
            return []

    def _write_lives(self, lives: list[dict[str, Any]]) -> None:
        self.write_text("provenance.json", json.dumps({"lives": lives}, indent=1) + "\n")


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _results_in(folder: Path) -> list[str]:
    """Files that a life publishes when it ends, and what a failure leaves."""
    endings = (".parquet", ".pt", ".npy", ".png")
    return [name for name in names_in(folder) if name.endswith(endings) or name == "traceback.txt"]
