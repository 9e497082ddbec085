"""One process a run: a lock file made by atomic create, taken over when its owner is gone."""

from __future__ import annotations

import fcntl
import json
import os
import socket
import time
from pathlib import Path

from ntkexp.errors import UserError
from ntkexp.results.atomic import explained

# A lock held on another machine cannot be tested for life. Its owner touches it at every
# commit, at the latest once a minute, so one that was quiet for this long has lost its owner.
SILENT_SECONDS = 900.0


class RunTakenError(UserError):
    """Another living process works on this run."""


class Lock:
    """Holds `path` while this process works in its folder.

    The file system must make O_CREAT | O_EXCL atomic (local disks and NFS from version 3 on do).
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._mine = json.dumps(
            {"host": socket.gethostname(), "pid": os.getpid(), "born": _born(os.getpid())}
        )

    def take(self) -> None:
        while not self._create():
            self._evict_if_stale()

    def touch(self) -> None:
        os.utime(self.path)

    def release(self) -> None:
        if self.path.exists() and self.path.read_text(encoding="utf-8") == self._mine:
            self.path.unlink()

    def _create(self) -> bool:
        # Written under a name of its own and linked into place: nobody ever reads half a lock.
        draft = self.path.with_name(f".{self.path.name}.{os.getpid()}.tmp")
        try:
            draft.write_text(self._mine, encoding="utf-8")
            os.link(draft, self.path)
        except FileExistsError:
            return False
        except OSError as error:
            raise explained(error, self.path) from error
        finally:
            draft.unlink(missing_ok=True)
        return True

    def _evict_if_stale(self) -> None:
        try:
            found = self.path.open("r+", encoding="utf-8")
        except FileNotFoundError:
            return
        with found:
            # Of several processes that find the same stale lock one removes it: the others wait
            # here and then see that the path no longer leads to the file they opened.
            fcntl.flock(found, fcntl.LOCK_EX)
            if not self._leads_to(found.fileno()):
                return
            owner = json.loads(found.read())
            if _alive(owner, os.fstat(found.fileno()).st_mtime):
                raise RunTakenError(
                    f"{self.path.parent} is being worked on by process {owner['pid']} "
                    f"on {owner['host']}; wait for it or stop it"
                )
            self.path.unlink()

    def _leads_to(self, descriptor: int) -> bool:
        try:
            return os.path.samestat(self.path.stat(), os.fstat(descriptor))
        except FileNotFoundError:
            return False


def held(path: Path) -> bool:
    """Whether a living process holds the lock at `path`."""
    try:
        owner = json.loads(path.read_text(encoding="utf-8"))
        return _alive(owner, path.stat().st_mtime)
    except FileNotFoundError:
        return False


def _alive(owner: dict[str, object], touched: float) -> bool:
    if owner["host"] != socket.gethostname():
        return time.time() - touched < SILENT_SECONDS
    pid = int(str(owner["pid"]))
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    # A number can be given to a new process; its birth tells the two apart.
    return _born(pid) == owner["born"]


def _born(pid: int) -> str:
    """When a process began, in the kernel's ticks; empty where /proc does not say."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except OSError:
        return ""
    return text.rpartition(")")[2].split()[19]
