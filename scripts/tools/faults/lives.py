"""Lives of the real command line: forks of this process, which has everything imported."""

from __future__ import annotations

import copy
import ctypes
import os
import resource
import signal
import sys
import time
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from hydra._internal.config_loader_impl import ConfigLoaderImpl
from omegaconf import DictConfig

from ntkexp.cli import main
from ntkexp.scripts.tools.faults import machines
from ntkexp.scripts.tools.faults.watch import Fault, Operation, Watch, operations

# Far beyond any undisturbed one, also on a busy machine.
LIMIT_SECONDS = 120.0
POLL_SECONDS = 0.004
TRACEBACK = "Traceback (most recent call last)"
ADOPT_ORPHANS = 36  # PR_SET_CHILD_SUBREAPER of <sys/prctl.h>


@dataclass
class Ending:
    code: int
    out: str
    err: str
    operations: list[Operation]
    seconds: float
    hung: bool = False

    @property
    def hits(self) -> list[Operation]:
        return [operation for operation in self.operations if operation.hit]

    @property
    def tracebacks(self) -> int:
        return (self.out + self.err).count(TRACEBACK)


@dataclass
class Life:
    """One process of `ntkexp WORD...` in folder `home`, whose results go to `home`/outputs."""

    words: tuple[str, ...]
    home: Path
    fault: Fault = field(default_factory=Fault)
    environment: Mapping[str, str] = field(default_factory=dict)
    # No file may grow beyond this; the write that would is cut short and the next fails.
    largest_file_bytes: int | None = None
    # here | container | elsewhere: see machines.py.
    machine: str = "here"
    # The age at which another machine's lock is stale, in place of the program's own.
    silent_seconds: float | None = None

    def start(self) -> None:
        self._files = {name: self.home / f".{name}" for name in ("out", "err", "operations")}
        for number in range(100):
            if not any(file.exists() for file in self._files.values()):
                break
            self._files = {name: self.home / f".{name}{number}" for name in self._files}
        for file in self._files.values():
            file.touch()
        sys.stdout.flush()
        sys.stderr.flush()
        self.began = time.monotonic()
        self.pid = os.fork()
        if self.pid == 0:
            self._live()

    def operations_so_far(self) -> list[Operation]:
        return operations(self._files["operations"])

    def send(self, number: signal.Signals) -> None:
        if not self._poll():
            os.kill(self.pid, number)

    def stopped(self) -> bool:
        """True if the process, or one of its children, has been stopped."""
        return any(_state(pid) == "T" for pid in self.members())

    def go_on(self) -> None:
        for pid in self.members():
            if _state(pid) == "T":
                os.kill(pid, signal.SIGCONT)

    def members(self) -> list[int]:
        return [pid for pid in _processes() if _session(pid) == self.pid and _state(pid) != "Z"]

    def wait_until(self, condition: str, limit: float = LIMIT_SECONDS) -> bool:
        """Wait until it is `stopped`, has `begun` or `ended`; True if it came to that."""
        deadline = time.monotonic() + limit
        while time.monotonic() < deadline:
            if self._poll():
                return condition == "ended"
            if condition == "stopped" and self.stopped():
                return True
            if condition == "begun" and self.operations_so_far():
                return True
            time.sleep(POLL_SECONDS)
        return False

    def end(self, *, strays: bool = True) -> Ending:
        """Wait for the end, and with `strays` for that of jobs whose launcher was killed."""
        hung = not self.wait_until("ended")
        deadline = time.monotonic() + LIMIT_SECONDS
        while strays and not hung and self.members():
            time.sleep(POLL_SECONDS)
            hung = time.monotonic() > deadline
        if hung:
            self.kill()
        done = operations(self._files["operations"])
        out, err = (self._files[name].read_text(errors="replace") for name in ("out", "err"))
        seconds = time.monotonic() - self.began
        return Ending(self._code or 0, out, err, done, seconds, hung)

    def kill(self) -> None:
        """The process and all it has started."""
        for pid in self.members():
            os.kill(pid, signal.SIGKILL)
        self.wait_until("ended", 10)

    def forget(self) -> None:
        for file in self._files.values():
            file.unlink(missing_ok=True)

    _code: int | None = None

    def _poll(self) -> bool:
        if self._code is None:
            done, status = os.waitpid(self.pid, os.WNOHANG)
            if done:
                self._code = os.waitstatus_to_exitcode(status)
        return self._code is not None

    def _live(self) -> NoReturn:
        code = 1
        try:
            os.setsid()
            os.chdir(self.home)
            os.environ |= self.environment
            machines.move_to(self.machine, self.silent_seconds)
            for number, name in ((0, "in"), (1, "out"), (2, "err")):
                file = os.devnull if number == 0 else self._files[name]
                os.dup2(os.open(file, os.O_RDWR | os.O_APPEND), number)
            if self.largest_file_bytes is not None:
                limits = (self.largest_file_bytes, resource.RLIM_INFINITY)
                resource.setrlimit(resource.RLIMIT_FSIZE, limits)
            Watch(self.home / "outputs", self._files["operations"], self.fault).install()
            code = main(self.words)
        except SystemExit as error:
            code = error.code if isinstance(error.code, int) else 1
        except BaseException as error:
            # What the interpreter does with what nobody caught.
            traceback.print_exc()
            code = 130 if isinstance(error, KeyboardInterrupt) else 1
        finally:
            try:
                sys.stdout.flush()
                sys.stderr.flush()
            finally:
                os._exit(code)


def compose_once() -> None:
    """Remember the configs that Hydra composes: half of what a life of a second has to do."""
    compose = ConfigLoaderImpl.load_configuration
    configs: dict[str, DictConfig] = {}

    def remembered(self: ConfigLoaderImpl, *words: Any, **named: Any) -> DictConfig:
        key = repr((words, sorted(named.items())))
        if key not in configs:
            configs[key] = compose(self, *words, **named)
        config = copy.deepcopy(configs[key])
        config.hydra.runtime.cwd = str(Path.cwd())
        return config

    ConfigLoaderImpl.load_configuration = remembered


def adopt_orphans() -> None:
    """Jobs whose launcher was killed become children of this process, which can wait for them."""
    ctypes.CDLL(None).prctl(ADOPT_ORPHANS, 1)


def _processes() -> list[int]:
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]


def _state(pid: int) -> str:
    return _stat(pid)[0]


def _session(pid: int) -> int:
    return int(_stat(pid)[3])


def _stat(pid: int) -> Sequence[str]:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ("Z", "0", "0", "0")
