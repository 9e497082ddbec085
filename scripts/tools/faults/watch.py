"""Counts what a process does to files under a folder, and disturbs it at one of these operations.

Python tells its audit hooks of every open, rename, link, remove, mkdir and rmtree before it
happens, whoever asks for it, and an exception from a hook stops it. So nothing of the watched
program needs to be known. Forked children inherit the hook and share the count.
"""

from __future__ import annotations

import errno
import fcntl
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
# What an event is called in the tables, and where in its arguments the path is: the last one for
# a rename, whose target tells what it is about.
EVENTS = {
    "open": ("open", 0),
    "os.rename": ("rename", 1),
    "os.link": ("link", 1),
    "os.remove": ("remove", 0),
    "os.rmdir": ("rmdir", 0),
    "os.mkdir": ("mkdir", 0),
    "os.truncate": ("truncate", 0),
    "os.chmod": ("chmod", 0),
    "shutil.rmtree": ("rmtree", 0),
    "fcntl.flock": ("flock", 0),
}
# Which argument holds the folder that a path without one is relative to.
DIR_FD = {"os.remove": 1, "os.rmdir": 1, "os.mkdir": 2}
RECORD = 256
# Between two signals of one fault: a handler has seen the first, its work has hardly begun.
GAP_SECONDS = 0.02


@dataclass(frozen=True)
class Fault:
    """The fault before operation `at` of a life (1 is the first; 0: no fault)."""

    at: int = 0
    # kill | stop | error | signals
    action: str = ""
    # Names in `errno`; a lasting error meets every later operation, too.
    error: str = ""
    lasting: bool = False
    signals: tuple[str, ...] = ()
    # After signals, so many operations later, a kill.
    killed_after: int = 0
    # True: it hits the process that was started, in a sweep the launcher.
    root: bool = False

    def __str__(self) -> str:
        if not self.at:
            return "none"
        fault = {
            "error": self.error + (" from then on" if self.lasting else ""),
            "signals": "+".join(self.signals),
        }.get(self.action, self.action)
        later = f", a kill {self.killed_after} later" if self.killed_after else ""
        return f"{fault} at operation {self.at}{later}{' to the launcher' if self.root else ''}"


@dataclass(frozen=True)
class Operation:
    number: int
    name: str
    path: str
    hit: bool = False

    @property
    def where(self) -> str:
        """The operation and what it is about, alike for every run, part and process."""
        inside = Path(self.path).parts[2:]
        if not inside:
            return f"{self.name} folder"
        if len(inside) > 1:
            folder = "unfinished" if ".unfinished." in inside[0] else inside[0]
            return f"{self.name} in {folder}/"
        # A temporary file is about what it becomes.
        words = [word for word in inside[0].split(".") if word and word != "tmp"]
        words = [word for word in words if not any(letter.isdigit() for letter in word)]
        return f"{self.name} {'TABLE' if 'parquet' in words else '.'.join(words)}"


class Watch:
    """Counts operations under `top` into `log`, from `install` on; `fault` strikes at its own."""

    def __init__(self, top: Path, log: Path, fault: Fault) -> None:
        self.top, self.fault = f"{top}/", fault
        self._log = os.open(log, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        self._root = os.getpid()
        self._inside = threading.local()

    def install(self) -> None:
        sys.addaudithook(self._hook)
        # The only ones that have no event.
        os.fsync = self._counted("fsync", os.fsync)  # type: ignore[assignment]
        os.fdatasync = self._counted("fsync", os.fdatasync)  # type: ignore[assignment]

    def _counted(self, name: str, sync: Callable[[Any], None]) -> Callable[[Any], None]:
        def counted(file: Any) -> None:
            self._meet(name, file if isinstance(file, int) else file.fileno())
            sync(file)

        return counted

    def _hook(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event not in EVENTS:
            return
        if event == "open" and not (arguments[2] or 0) & WRITES:
            return
        name, index = EVENTS[event]
        path = arguments[index]
        if event in DIR_FD and arguments[DIR_FD[event]] not in (-1, None):
            path = f"{_of_descriptor(arguments[DIR_FD[event]])}/{os.fsdecode(path)}"
        self._meet(name, path)

    def _meet(self, name: str, path: Any) -> None:
        if getattr(self._inside, "busy", False):
            return
        self._inside.busy = True
        try:
            full = _of_descriptor(path) if isinstance(path, int) else _absolute(path)
            if full.startswith(self.top):
                self._strike(name, full.removeprefix(self.top))
        finally:
            self._inside.busy = False

    def _strike(self, name: str, path: str) -> None:
        number, hit = self._record(name, path)
        if not hit:
            return
        fault = self.fault
        target = self._root if fault.root else os.getpid()
        if fault.action == "kill" or (number > fault.at and fault.killed_after):
            os.kill(target, signal.SIGKILL)
        elif fault.action == "stop":
            os.kill(target, signal.SIGSTOP)
        elif fault.action == "error":
            code = getattr(errno, fault.error)
            raise OSError(code, os.strerror(code), f"{self.top}{path}")
        else:
            for sent, number_sent in enumerate(fault.signals):
                time.sleep(GAP_SECONDS if sent else 0)
                os.kill(target, getattr(signal, number_sent))

    def _record(self, name: str, path: str) -> tuple[int, bool]:
        """Number the operation among those of all processes of this life, and write it down."""
        # This kind of lock goes with its process, however that ends.
        fcntl.lockf(self._log, fcntl.LOCK_EX)
        try:
            number = os.fstat(self._log).st_size // RECORD + 1
            fault = self.fault
            hit = fault.at > 0 and (
                number == fault.at
                or (fault.lasting and number > fault.at)
                or (fault.killed_after > 0 and number == fault.at + fault.killed_after)
            )
            line = f"{number}\t{name}\t{path}\t{'hit' if hit else ''}"
            os.write(self._log, line.encode()[: RECORD - 1].ljust(RECORD - 1) + b"\n")
        finally:
            fcntl.lockf(self._log, fcntl.LOCK_UN)
        return number, hit


def operations(log: Path) -> list[Operation]:
    """The operations of a watched life, in order."""
    if not log.exists():
        return []
    done = []
    for line in log.read_text(errors="replace").splitlines():
        number, name, path, hit = [*line.rstrip().split("\t"), "", "", ""][:4]
        done.append(Operation(int(number), name, path, hit == "hit"))
    return done


def _absolute(path: Any) -> str:
    return os.path.normpath(Path.cwd() / os.fsdecode(path))


def _of_descriptor(descriptor: int) -> str:
    try:
        return str(Path(f"/proc/self/fd/{descriptor}").readlink())
    except OSError:
        return ""
