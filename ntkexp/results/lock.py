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
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from ntkexp.errors import RunTakenError, cannot_write
from ntkexp.results.files import tell_once

SILENT_SECONDS = 900.0
TOUCH_SECONDS = 30.0
# Removing a stale lock, or looking at one, holds it for a moment: look again until then.
GRACE_SECONDS, BETWEEN_LOOKS_SECONDS = 0.5, 0.02
# What file systems without flock, and without link(), answer.
NO_FLOCK = {errno.ENOLCK, errno.ENOTSUP, errno.ENOSYS, errno.EINVAL, errno.EBADF}
NO_LINK = {errno.EPERM, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EMLINK}
# A lock that says nothing of its owner may be one that is being made, where there is no link().
UNTOLD_SECONDS = 10.0


class Lock:
    """Holds `path` while this process works in its folder.

    The file system must make link() atomic (local disks and NFS from version 3 on do). Where it has
    none, processes of one machine are kept apart alone.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._descriptor: int | None = None
        self._released = threading.Event()

    def take(self, *, grace_seconds: float = GRACE_SECONDS) -> None:
        deadline = time.monotonic() + grace_seconds
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
        try:
            descriptor = _written(draft)
            try:
                os.link(draft, self.path)
            except OSError as error:
                if error.errno not in NO_LINK:
                    raise
                os.close(descriptor)
                descriptor = None
                descriptor = self._create_in_place(error)
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

    def _create_in_place(self, error: OSError) -> int:
        descriptor = _written(self.path)
        tell_once(
            f"{self.path.parent}: this file system has no links ({error.strerror}); runs here are "
            "kept from each other on one machine, not between machines"
        )
        return descriptor

    def _keep_touching(self) -> None:
        """Show other machines that this process lives, also while one long computation runs."""
        while not self._released.wait(TOUCH_SECONDS):
            with contextlib.suppress(OSError, TypeError):
                os.utime(self._descriptor)  # type: ignore[arg-type]


def _written(path: Path) -> int:
    """A new file that this process holds, with what it says of its owner; its descriptor."""
    owner = {"host": socket.gethostname(), "kernel": kernel(), "pid": os.getpid(), "pids": pids()}
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o644)
    try:
        _flock(descriptor, fcntl.LOCK_EX)
        os.write(descriptor, json.dumps(owner).encode())
    except OSError:
        with contextlib.suppress(OSError):
            path.unlink()
        os.close(descriptor)
        raise
    return descriptor


def is_locked(path: Path) -> bool:
    """True if a living process has the lock at `path`."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    except OSError:
        return False
    try:
        return not _free(descriptor, fcntl.LOCK_SH)
    finally:
        os.close(descriptor)


def _removed_if_stale(path: Path) -> bool:
    """Remove the lock if its owner is gone. Returns False if the owner is alive."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
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
    owner, silent = _owner(descriptor), time.time() - os.fstat(descriptor).st_mtime
    if not owner:
        return silent >= (UNTOLD_SECONDS if answered else SILENT_SECONDS)
    if owner.get("kernel") == kernel() and (answered or _is_dead(owner)):
        return True
    return silent >= SILENT_SECONDS


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


def _owner(descriptor: int) -> dict[str, Any]:
    """What an open lock file says of its owner; nothing of a damaged one."""
    try:
        owner = json.loads(os.pread(descriptor, 1 << 16, 0))
    except (OSError, ValueError):
        return {}
    return owner if isinstance(owner, dict) else {}


def _is_dead(owner: Mapping[str, Any]) -> bool:
    """True if the owner was a process of this machine and container that is gone."""
    if owner.get("pids") != pids() or not isinstance(owner.get("pid"), int):
        return False
    try:
        os.kill(owner["pid"], 0)
    except ProcessLookupError:
        return True
    except OSError:
        pass
    return False


def _owner_in_words(path: Path) -> str:
    """Who holds a lock; where age decides, since when it is silent, and when it is taken over."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    except OSError:
        return "another process"
    try:
        owner, touched = _owner(descriptor), os.fstat(descriptor).st_mtime
        by_age = _by_age(descriptor, owner)
    finally:
        os.close(descriptor)
    words = f"process {owner.get('pid')} on {owner.get('host')}" if owner else "another process"
    silent = time.time() - touched
    if by_age and silent > 2 * TOUCH_SECONDS:
        at = datetime.fromtimestamp(touched + SILENT_SECONDS).strftime("%H:%M")
        words += f", silent for {silent:.0f} s; it is taken over at {at}, if it stays so"
    return words


def _by_age(descriptor: int, owner: Mapping[str, Any]) -> bool:
    """True if nothing but its age tells whether the owner of a lock lives."""
    try:
        answered = _flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return not answered or owner.get("kernel") != kernel()


def kernel() -> str:
    """The id of the running kernel, the same in all containers of this machine."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return socket.gethostname()


def pids() -> str:
    """The namespace in which this process has its number, one a container."""
    try:
        return str(Path("/proc/self/ns/pid").readlink())
    except OSError:
        return ""
