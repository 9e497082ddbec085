"""The chain of a run's commits. Each names its files; what none of them names does not count.

    unfinished/committed/00000003.0001.losses.parquet   rows since commit 2, written by life 1
    unfinished/committed/00000003.0001.checkpoint       the state to go on from
    unfinished/committed/00000003.0001.json             written last: makes the rest count

A commit names its parts with their rows and checksums, its checkpoint, and the life that wrote the
commit before it. Files that no commit of the chain names were left by a life that ended before its
commit, and do not count.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from ntkexp.errors import UserError

LISTS = ("parts", "files")
RECORD = re.compile(r"(\d{8})\.(\d{4,})\.json")


class DamagedRunError(UserError):
    """A file of a run is not what the run wrote."""

    def __init__(self, path: Path, what: str) -> None:
        super().__init__(f"{path} {what}; --rerun does the run again from its beginning")


class UnreadableRunError(DamagedRunError):
    """A file or folder cannot be read now. That says nothing of what is in it."""

    def __init__(self, path: Path, error: OSError) -> None:
        way_out = "" if isinstance(error, PermissionError) else "; try again"
        UserError.__init__(self, f"{path}: cannot be read ({error.strerror}){way_out}")


def not_read(path: Path, error: OSError) -> DamagedRunError:
    """The error for a file that should be there and could not be read."""
    if isinstance(error, FileNotFoundError):
        return DamagedRunError(path, "is missing")
    return UnreadableRunError(path, error)


def names_in(folder: Path) -> list[str]:
    """The names in a folder; none where there is no folder."""
    try:
        return [path.name for path in folder.iterdir()]
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise UnreadableRunError(folder, error) from error


def is_plain_name(name: object) -> bool:
    """True for the name of a file in a folder, false for a path that leads elsewhere."""
    return isinstance(name, str) and name == Path(name).name and name not in ("", "..")


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

    def read(self, folder: Path) -> bytes:
        """The file's content; refused where it is not what was written."""
        path = folder / self.name
        try:
            content = path.read_bytes()
        except OSError as error:
            raise not_read(path, error) from error
        if hashlib.sha256(content).hexdigest() != self.sha256:
            raise DamagedRunError(path, "is damaged (its checksum is another)")
        return content


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
        return json.dumps({"commit": body, "sha256": _digest(body)}, indent=1).encode()


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


def kept_facts(folder: Path) -> dict[str, Any]:
    """The facts of the last commit; none where nothing was committed or the record is damaged."""
    try:
        records = [name for name in names_in(folder) if RECORD.fullmatch(name)]
        newest = max(records, key=lambda name: name.split(".")[1::-1], default=None)
        return {} if newest is None else dict(_read(folder / newest).facts)
    except DamagedRunError:
        return {}


def _read(path: Path) -> Commit:
    try:
        content = json.loads(path.read_bytes())
        body = content["commit"]
        if _digest(body) != content["sha256"]:
            raise ValueError("its checksum is another")
        files = {key: tuple(StoredFile(**one) for one in body.get(key, ())) for key in LISTS}
        return Commit(**(body | {"checkpoint": StoredFile(**body["checkpoint"]), **files}))
    except OSError as error:
        raise not_read(path, error) from error
    except (ValueError, KeyError, TypeError) as error:
        raise DamagedRunError(path, f"is damaged ({error})") from error


def _digest(body: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()


def last_life(committed: Path) -> int:
    """The highest life that any committed file names."""
    lives = [parts[1] for name in names_in(committed) if len(parts := name.split(".")) > 2]
    return max((int(life) for life in lives if life.isdigit()), default=0)
