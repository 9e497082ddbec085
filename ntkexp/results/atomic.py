"""Files whole or absent: hidden temporary file, fsync, rename, fsync of the folder."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ntkexp.errors import UserError

NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.EFBIG}


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a hidden path to write to; publish it under `path` when the block ends well.

    A reader sees the old file or the new one, never a part. A full disk or a read-only
    folder becomes a UserError that names the file; what was there before stays.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        yield temporary
        with temporary.open("rb") as written:
            os.fsync(written.fileno())
        temporary.replace(path)
        _sync_folder(path.parent)
    except OSError as error:
        raise explained(error, path) from error
    finally:
        _forget(temporary)


def write_text(path: Path, text: str) -> None:
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def make_folder(path: Path) -> None:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _cannot_write(path, error) from error


def explained(error: OSError, path: Path) -> Exception:
    """What a user can mend as a UserError that names the file; anything else as it is."""
    if error.errno in NO_ROOM or isinstance(error, NotADirectoryError | FileExistsError):
        return _cannot_write(path, error)
    return error


def _cannot_write(path: Path, error: OSError) -> UserError:
    return UserError(f"cannot write {path}: {error.strerror}; nothing already there was changed")


def _forget(temporary: Path) -> None:
    try:
        temporary.unlink(missing_ok=True)
    except OSError:
        # On a read-only folder the temporary file was never made.
        if temporary.exists():
            raise


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
