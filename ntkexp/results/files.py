"""Files that are whole or absent: temporary file, fsync, rename, fsync of the folder."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ntkexp.errors import (
    DamagedRunError,
    UnreadableRunError,
    UserError,
    cannot_write,
    not_read,
)


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a hidden path to write to; publish it under `path` when the block ends well.

    A reader sees the old file or the new one, never a part. A full disk or a read-only
    folder becomes a UserError that names the file; what was there before stays.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        yield temporary
        sync(temporary)
        temporary.replace(path)
        sync(path.parent)
    except OSError as error:
        raise cannot_write(path, error) from error
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink()


def write_text(path: Path, text: str) -> None:
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def sync(path: Path) -> None:
    """Make sure that a file, or the names in a folder, are on disk before anything relies on
    them."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def read_checked(path: Path, sha256: str | None) -> bytes:
    """The content of a file of a run; refused where it is not what was written."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise not_read(path, error) from error
    if sha256 not in (None, hashlib.sha256(content).hexdigest()):
        raise DamagedRunError(path, "is damaged (its checksum is another)")
    return content


def refuse_changed(path: Path, sha256: str) -> None:
    """Refuse a file of a run that is not what was written; it need not fit into memory."""
    try:
        with path.open("rb") as file:
            actual = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise not_read(path, error) from error
    if actual != sha256:
        raise DamagedRunError(path, "is damaged (its checksum is another)")


def make_folder(path: Path) -> None:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise cannot_write(path, error) from error


def refuse_unwritable(folder: Path) -> None:
    """Refuse a folder that cannot be written to, before the minutes of work for it; leaves none."""
    made = [parent for parent in (folder, *folder.parents) if not parent.exists()]
    make_folder(folder)
    try:
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        raise cannot_write(folder, error) from error
    finally:
        for parent in made:
            with contextlib.suppress(OSError):
                parent.rmdir()


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


def remove(path: Path) -> None:
    """Remove a file or a whole folder, if it is there."""
    try:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
    except OSError as error:
        raise UserError(f"cannot remove {path}: {error.strerror}") from error


def remove_tree(path: Path) -> None:
    """Remove a folder or a file that counts no more, as far as this disk lets it be removed."""
    with contextlib.suppress(OSError):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
