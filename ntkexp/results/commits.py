"""The commits of a run, written so that a kill at any moment loses nothing that counts.

    unfinished/life.0001.5f3a9c21/                      where life 1 writes, before it publishes
    unfinished/committed/00000003.0001.losses.parquet   rows since commit 2, written by life 1
    unfinished/committed/00000003.0001.checkpoint       the state to go on from
    unfinished/committed/00000003.0001.json             written last: makes the rest count

A commit names its parts with their checksums and the life that wrote the commit before it. Files
that no commit of the chain names do not count.

A process that was stopped for long can be taken for dead and lose its run to another, and wake up
between its last check and the next write. So a life publishes a file by renaming it out of a folder
of its own, and whoever takes over first renames that folder away: from then on every publication of
the earlier life fails. The check and the write are one system call. No later life has a folder of
that name: numbers come back where a life left no commit, so random digits follow.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
import secrets
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from ntkexp.errors import DamagedRunError, RunLostError, cannot_write, first_line, not_read
from ntkexp.results.files import (
    content_of,
    is_plain_name,
    make_folder,
    names_in,
    read_checked,
    remove_tree,
    sync,
)

LISTS = ("parts", "files")
RECORD = re.compile(r"(\d{8})\.(\d{4,})\.json")
LIFE = re.compile(r"life\.(\d+)(\.\w+)?")


class Drafts:
    """The folder `unfinished/life.N.DIGITS` of one life of a run; call `open` with the run's lock
    held."""

    def __init__(self, work: Path) -> None:
        self.work = work
        self.life = 0
        self._digits = secrets.token_hex(4)

    @property
    def folder(self) -> Path:
        return self.work / f"life.{self.life:04d}.{self._digits}"

    def open(self, *, after: int = 0) -> None:
        """Shut out every earlier life, then begin one with a higher number than any."""
        make_folder(self.work)
        names = names_in(self.work)
        earlier = [match for name in names if (match := LIFE.fullmatch(name))]
        self.life = 1 + max([after, *(int(match[1]) for match in earlier)])
        for match in earlier:
            _shut_out(self.work / match[0])
        for name in names:
            if name.startswith("dead."):
                remove_tree(self.work / name)
        make_folder(self.folder)

    def close(self) -> None:
        remove_tree(self.folder)

    @contextmanager
    def publishing(self, target: Path) -> Iterator[Path]:
        """Give a path to write to; it becomes `target` when the block ends well."""
        draft = self.folder / target.name
        try:
            yield draft
            sync(draft)
            draft.replace(target)
            sync(target.parent)
        except OSError as error:
            if self.folder.is_dir():
                raise cannot_write(target, error) from error
            raise RunLostError(
                f"{self.work.parent} was taken over by another process while this one was "
                "stopped; nothing more is written here"
            ) from error
        finally:
            with contextlib.suppress(OSError):
                draft.unlink()

    def write(self, target: Path, content: bytes) -> None:
        with self.publishing(target) as draft:
            draft.write_bytes(content)

    def link(self, source: Path, target: Path) -> None:
        """Publish a file that is on disk already, by a hard link where the file system has them."""
        with self.publishing(target) as draft:
            try:
                draft.hardlink_to(source)
            except OSError:
                shutil.copyfile(source, draft)


def _shut_out(folder: Path) -> None:
    away = folder.with_name(f"dead.{secrets.token_hex(8)}")
    try:
        folder.rename(away)
    except OSError as error:
        raise cannot_write(folder, error) from error
    remove_tree(away)


@dataclass(frozen=True)
class StoredFile:
    """A file of a run, as it was when it was written."""

    name: str
    size_bytes: int
    sha256: str
    table: str | None = None
    rows: int | None = None

    def __post_init__(self) -> None:
        if not is_plain_name(self.name):
            raise ValueError(f"{self.name} is no name of a file")

    @classmethod
    def of_bytes(cls, content: bytes, name: str, **facts: Any) -> StoredFile:
        return cls(name, len(content), hashlib.sha256(content).hexdigest(), **facts)

    @property
    def published(self) -> str:
        """The name that the file has in a finished run: without commit and life."""
        return self.name.split(".", 2)[2]

    @property
    def facts(self) -> dict[str, Any]:
        """The entry of the file in the status of a finished run."""
        return {"bytes": self.size_bytes, "sha256": self.sha256}

    def read(self, folder: Path) -> bytes:
        """The file's content; refused where it is not what was written."""
        return read_checked(folder / self.name, self.sha256)


@dataclass(frozen=True)
class Commit:
    """One record of the chain; `parent` is the life that wrote the commit before, None for none.

    `files` are those that were kept since then, and stay with the run.
    """

    number: int
    life: int
    parent: int | None
    checkpoint: StoredFile
    parts: tuple[StoredFile, ...] = ()
    files: tuple[StoredFile, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return f"{prefix(self.number, self.life)}.json"

    def text(self) -> bytes:
        body = asdict(self)
        return json.dumps({"commit": body, "sha256": digest(body)}, indent=1).encode()


def prefix(number: int, life: int) -> str:
    """The beginning of the names of all files of one commit."""
    return f"{number:08d}.{life:04d}"


def read_chain(folder: Path) -> list[Commit]:
    """The commits that count, in order: the last one and those before it, parent by parent."""
    records = {(int(m[2]), int(m[1])) for m in map(RECORD.fullmatch, names_in(folder)) if m}
    if not records:
        return []
    life, number = max(records)
    chain: list[Commit] = []
    while True:
        commit = _read(folder / f"{prefix(number, life)}.json")
        chain.append(commit)
        if commit.parent is None:
            return chain[::-1]
        number, life = number - 1, commit.parent


def _read(path: Path) -> Commit:
    try:
        content = json.loads(content_of(path))
        body = content["commit"]
        if digest(body) != content["sha256"]:
            raise ValueError("its checksum is another")
        files = {key: tuple(StoredFile(**facts) for facts in body.get(key, ())) for key in LISTS}
        return Commit(**(body | {"checkpoint": StoredFile(**body["checkpoint"]), **files}))
    except OSError as error:
        raise not_read(path, error) from error
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise DamagedRunError(path, f"is damaged ({first_line(error)})") from error


def digest(body: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()


def kept_facts(committed: Path) -> dict[str, Any]:
    """The facts of the last commit; none where nothing was committed or a record is damaged."""
    try:
        chain = read_chain(committed)
    except DamagedRunError:
        return {}
    return dict(chain[-1].facts) if chain else {}


def last_life(committed: Path) -> int:
    """The highest life that any committed file names."""
    lives = [words[1] for name in names_in(committed) if len(words := name.split(".")) > 2]
    return max((int(life) for life in lives if life.isdigit()), default=0)
