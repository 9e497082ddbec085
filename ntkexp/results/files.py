"""Files that are whole or absent: temporary file, fsync, rename, fsync of the folder."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import os
import secrets
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path

from ntkexp.errors import (
    DamagedRunError,
    UnreadableRunError,
    UserError,
    cannot_write,
    first_line,
    not_read,
    printable,
)

# What network disks answer to fsync of a folder.
NO_FOLDER_SYNC = {errno.EINVAL, errno.EBADF, errno.ENOTSUP, errno.EOPNOTSUPP}
_told: set[str] = set()


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a hidden path to write to; publish it under `path` when the block ends well.

    A reader sees the old file or the new one, never a part. A full disk or a read-only
    folder becomes a UserError that names the file; what was there before stays.
    """
    # Random: two containers on one disk may have the same process id. Made here, for where others
    # may write to the folder, a link of theirs at this name would be followed.
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}.tmp")
    held = None
    try:
        with contextlib.suppress(OSError):
            _remove_abandoned(path)
        held = os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666)
        with contextlib.suppress(OSError):
            fcntl.flock(held, fcntl.LOCK_EX)  # shows that its writer lives
        yield temporary
        sync(temporary)
        temporary.replace(path)
        sync(path.parent)
    except OSError as error:
        raise cannot_write(path, error) from error
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink()
        if held is not None:
            os.close(held)


def _remove_abandoned(path: Path) -> None:
    """Remove what killed processes left of this file: the temporary ones that nobody holds."""
    for beside in path.parent.iterdir():
        if beside.name.startswith(f".{path.name}.") and beside.name.endswith(".tmp"):
            with contextlib.suppress(OSError):
                _remove_unheld(beside)


def _remove_unheld(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        path.unlink()
    finally:
        os.close(descriptor)


def write_text(path: Path, text: str) -> None:
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def sync(path: Path) -> None:
    """Make sure that a file, or the names in a folder, are on disk before anything relies on
    them. Network disks that know no such thing of folders are told of once."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in NO_FOLDER_SYNC or not path.is_dir():
            raise
        tell_once(
            f"{path}: this file system cannot be told to write names down ({error.strerror}); a "
            "power cut may lose what a kill does not"
        )
    finally:
        os.close(descriptor)


def tell_once(line: str) -> None:
    """Say something about a file system on standard error, the first time in this process."""
    kind = line.partition(": ")[2]
    if kind not in _told:
        _told.add(kind)
        with contextlib.suppress(OSError):
            print(line, file=sys.stderr)


def content_of(path: Path) -> bytes:
    """The content of a file; never that of a pipe or a device, which would not end."""
    with opened(path) as file:
        return file.read()


def opened(path: Path) -> BufferedReader:
    """A file, to be read."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise DamagedRunError(path, "is no regular file")
    return os.fdopen(descriptor, "rb")


@contextmanager
def costing_itself(folder: Path) -> Iterator[None]:
    """Inside the block whatever is wrong with a run costs that run: a line says what."""
    try:
        yield
    except Exception as error:
        kind = "" if isinstance(error, UserError) else f"{folder}: {type(error).__name__}: "
        print(printable(f"skipped: {kind}{first_line(error)}"), file=sys.stderr)


def read_checked(path: Path, sha256: str | None) -> bytes:
    """The content of a file of a run; refused where it is not what was written."""
    try:
        content = content_of(path)
    except OSError as error:
        raise not_read(path, error) from error
    if sha256 not in (None, hashlib.sha256(content).hexdigest()):
        raise DamagedRunError(path, "is damaged (its checksum is another)")
    return content


def refuse_changed(path: Path, sha256: str) -> None:
    """Refuse a file of a run that is not what was written; it need not fit into memory."""
    try:
        with opened(path) as file:
            actual = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise not_read(path, error) from error
    if actual != sha256:
        raise DamagedRunError(path, "is damaged (its checksum is another)")


def make_folder(path: Path) -> None:
    """Make a folder, and those above it, on disk before anything in them is promised."""
    new = [folder for folder in (path, *path.parents) if not folder.exists()]
    try:
        path.mkdir(parents=True, exist_ok=True)
        for folder in new:
            sync(folder.parent)
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
