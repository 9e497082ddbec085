"""One process a run: a lock file that the kernel holds for its owner's life.

The owner keeps the file open under `flock`. The kernel drops that lock when the owner ends, however
it ends. Containers make no difference: two of them on one machine see each other's locks. Between
machines `flock` need not reach, so there the age of the file decides: its owner touches it twice a
minute, and one left untouched for `SILENT_SECONDS` is taken over. An owner that was only stopped
may wake up after that. What then keeps it from writing is not this lock but the loss of its folder
of drafts (`drafts.py`).
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import json
import os
import secrets
import socket
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ntkexp.errors import UserError
from ntkexp.results.atomic import cannot_write

SILENT_SECONDS = 900.0
TOUCH_SECONDS = 30.0
# Removing a stale lock, or looking at one, holds it for a moment: look again until then.
GRACE_SECONDS, BETWEEN_LOOKS_SECONDS = 0.5, 0.02
# What file systems without flock answer.
NO_FLOCK = {errno.ENOLCK, errno.ENOTSUP, errno.ENOSYS, errno.EINVAL, errno.EBADF}


class RunTakenError(UserError):
    """Another living process works on this run."""


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
                    f"{self.path.parent} is being worked on by {in_words(self.path)}; "
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
            descriptor = os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o644)
            os.write(descriptor, text_of(this_process()))
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


def held(path: Path) -> bool:
    """True if a living process holds the lock at `path`."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError:
        return False
    try:
        return not _free(path, descriptor, fcntl.LOCK_SH)
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
        if not _free(path, descriptor, fcntl.LOCK_EX):
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


def _free(path: Path, descriptor: int, how: int) -> bool:
    """True if the owner of an open lock file is gone; `descriptor` then holds the lock."""
    owner = owner_of(descriptor)
    try:
        answered = _flock(descriptor, how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    if owner is None:
        return True  # damaged, and no process of this machine holds it
    if owner.get("kernel") != kernel():
        return _now_of_file_system(path.parent) - os.fstat(descriptor).st_mtime >= SILENT_SECONDS
    return answered or not alive(owner)


def _flock(descriptor: int, how: int) -> bool:
    """Lock an open file; False where the file system cannot."""
    try:
        fcntl.flock(descriptor, how)
    except OSError as error:
        if error.errno in NO_FLOCK:
            return False
        raise
    return True


def _now_of_file_system(folder: Path) -> float:
    """The time by the clock that dates the files of `folder`, which may be another machine's."""
    probe = folder / f".clock.{secrets.token_hex(8)}.tmp"
    try:
        probe.touch(exist_ok=False)
        return probe.stat().st_mtime
    except OSError:
        return time.time()
    finally:
        with contextlib.suppress(OSError):
            probe.unlink(missing_ok=True)


def _leads_to(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    except OSError:
        return False


def text_of(owner: Mapping[str, object]) -> bytes:
    """The content of a lock file, with a checksum of itself. Without it a changed byte could
    name another machine, and one would wait for that machine in vain."""
    return json.dumps({**owner, "check": _check(owner)}).encode()


def _check(owner: Mapping[str, object]) -> str:
    return hashlib.sha256(json.dumps(owner, sort_keys=True).encode()).hexdigest()[:16]


def owner_of(descriptor: int) -> dict[str, Any] | None:
    """Who holds an open lock file; None where it is damaged."""
    try:
        owner = json.loads(os.pread(descriptor, 1 << 16, 0))
    except (OSError, ValueError):
        return None
    if not isinstance(owner, dict):
        return None
    if owner.pop("check", None) != _check(owner):
        return None
    return owner


def in_words(path: Path) -> str:
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        owner = json.loads(path.read_text(encoding="utf-8"))
        return f"process {owner['pid']} on {owner['host']}"
    return "another process"


def this_process() -> dict[str, object]:
    pid = os.getpid()
    return {"host": socket.gethostname(), "kernel": kernel(), "pid": pid, "born": _born(pid)}


def kernel() -> str:
    """The id of the running kernel, the same in all containers of this machine."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return socket.gethostname()


def alive(owner: dict[str, Any]) -> bool:
    """True if the owner, a process of this kernel, lives; asked where files cannot be locked."""
    try:
        pid = int(owner["pid"])
        os.kill(pid, 0)
    except PermissionError:
        pass
    except (KeyError, TypeError, ValueError, OverflowError, ProcessLookupError):
        return False
    # A number can be given to a new process; its birth tells the two apart.
    return _born(pid) == owner.get("born")


def _born(pid: int) -> str:
    """When a process began, in the kernel's ticks; empty where /proc does not say."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except OSError:
        return ""
    return text.rpartition(")")[2].split()[19]
