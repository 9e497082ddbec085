"""One process a run: a lock file that the kernel holds, under `flock`, for its owner's life.

Between machines `flock` need not reach, and some file systems have none: there the age of the file
decides. Its owner touches it twice a minute, and one left untouched for `SILENT_SECONDS` is taken
over. What then keeps an owner that wakes up from writing is the loss of its folder of drafts
(`commits.py`).
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import secrets
import socket
import threading
import time
from pathlib import Path

from ntkexp.errors import RunTakenError, UserError, cannot_write

SILENT_SECONDS = 900.0
TOUCH_SECONDS = 30.0
# Removing a stale lock, or looking at one, holds it for a moment: look again until then.
GRACE_SECONDS, BETWEEN_LOOKS_SECONDS = 0.5, 0.02
# What file systems without flock answer.
NO_FLOCK = {errno.ENOLCK, errno.ENOTSUP, errno.ENOSYS, errno.EINVAL, errno.EBADF}


class Lock:
    """Holds `path` while this process works in its folder.

    The file system must make link() atomic (local disks and NFS from version 3 on do).
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._descriptor: int | None = None
        self._released = threading.Event()

    def take(self) -> None:
        deadline = time.monotonic() + GRACE_SECONDS
        while not self._create():
            if _removed_if_stale(self.path):
                continue
            if time.monotonic() > deadline:
                raise RunTakenError(
                    f"{self.path.parent} is being worked on by {_owner_in_words(self.path)}; "
                    "wait for it or stop it"
                )
            time.sleep(BETWEEN_LOOKS_SECONDS)
        threading.Thread(target=self._keep_touching, daemon=True).start()

    def release(self) -> None:
        self._released.set()
        if self._descriptor is None:
            return
        # A run that was taken over has the lock of another process at this path.
        if _leads_to(self.path, self._descriptor):
            with contextlib.suppress(OSError):
                self.path.unlink()
        os.close(self._descriptor)
        self._descriptor = None

    def _create(self) -> bool:
        # Written and locked under a name of its own, then linked into place: nobody ever reads
        # half a lock file, or finds one that its owner does not hold yet.
        draft = self.path.with_name(f".{self.path.name}.{secrets.token_hex(8)}.tmp")
        descriptor = None
        owner = {"host": socket.gethostname(), "kernel": kernel(), "pid": os.getpid()}
        try:
            descriptor = os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o644)
            os.write(descriptor, json.dumps(owner).encode())
            _flock(descriptor, fcntl.LOCK_EX)
            os.link(draft, self.path)
        except OSError as error:
            if descriptor is not None:
                os.close(descriptor)
            if isinstance(error, FileExistsError):
                return False
            if isinstance(error, FileNotFoundError) and self.path.parent.is_dir():
                return False  # the present owner tidied up, and took the draft for an old one
            raise cannot_write(self.path, error) from error
        finally:
            with contextlib.suppress(OSError):
                draft.unlink(missing_ok=True)
        self._descriptor = descriptor
        return True

    def _keep_touching(self) -> None:
        """Show other machines that this process lives, also while one long computation runs."""
        while not self._released.wait(TOUCH_SECONDS):
            with contextlib.suppress(OSError, TypeError):
                os.utime(self._descriptor)  # type: ignore[arg-type]


def is_locked(path: Path) -> bool:
    """True if a living process has the lock at `path`."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError:
        return False
    try:
        return not _free(descriptor, fcntl.LOCK_SH)
    finally:
        os.close(descriptor)


def remove_if_stale(path: Path) -> None:
    """Remove the lock of an owner that is gone, as far as this user may; leave a living one's."""
    with contextlib.suppress(UserError):
        _removed_if_stale(path)


def _removed_if_stale(path: Path) -> bool:
    """Remove the lock if its owner is gone. Returns False if the owner is alive."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return True
    except OSError as error:
        raise cannot_write(path, error) from error
    try:
        if not _free(descriptor, fcntl.LOCK_EX):
            return False
        # Of several that find the same stale lock one removes it: the others then hold a file to
        # which the path no longer leads.
        if _leads_to(path, descriptor):
            path.unlink()
        return True
    except OSError as error:
        raise cannot_write(path, error) from error
    finally:
        os.close(descriptor)


def _free(descriptor: int, how: int) -> bool:
    """True if the owner of an open lock file is gone; where there is flock,
    `descriptor` then holds the lock."""
    try:
        answered = _flock(descriptor, how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    if answered and _kernel_of(descriptor) in (kernel(), None):
        return True
    return time.time() - os.fstat(descriptor).st_mtime >= SILENT_SECONDS


def _flock(descriptor: int, how: int) -> bool:
    """Lock an open file; False where the file system cannot."""
    try:
        fcntl.flock(descriptor, how)
    except OSError as error:
        if error.errno in NO_FLOCK:
            return False
        raise
    return True


def _leads_to(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    except OSError:
        return False


def _kernel_of(descriptor: int) -> str | None:
    """The kernel under which the owner of an open lock file runs; None of a damaged file."""
    try:
        return str(json.loads(os.pread(descriptor, 1 << 16, 0))["kernel"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _owner_in_words(path: Path) -> str:
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        owner = json.loads(path.read_text(encoding="utf-8"))
        return f"process {owner['pid']} on {owner['host']}"
    return "another process"


def kernel() -> str:
    """The id of the running kernel, the same in all containers of this machine."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return socket.gethostname()
