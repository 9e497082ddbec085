"""Lives of real commands: forks of this process, with everything imported, and their faults."""

from __future__ import annotations

import copy
import ctypes
import errno
import os
import select
import signal
import sys
import time
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, NoReturn

from hydra._internal.config_loader_impl import ConfigLoaderImpl
from omegaconf import DictConfig

from ntkexp.cli import main
from ntkexp.scripts.tools import keep_reference

# Far beyond any undisturbed one, also on a busy machine.
LIMIT_SECONDS = 120.0
POLL_SECONDS = 0.005
ACTIONS = ("kill", "fail", "delay", "signal")  # in the order of faults.c
FOR_EVER = 1 << 40
TRACEBACK = "Traceback (most recent call last)"
_numbers = count()


@dataclass(frozen=True)
class Rule:
    """What meets a call: each numbered from `at` to `until`, or such a `call` on such a `path`."""

    action: str
    at: int = 1
    until: int = FOR_EVER
    # An errno, milliseconds, or a signal.
    value: int = 0
    # True: a signal goes to the process that was started, in a sweep the launcher.
    root: bool = False
    call: str = ""
    path: str = ""

    def __str__(self) -> str:
        value = errno.errorcode[self.value] if self.action == "fail" else self.value
        which = self.at if self.until == self.at else f"{self.at} and after"
        return f"{self.action} {value} at {which} {self.call} {self.path}".strip()


@dataclass(frozen=True)
class Call:
    number: int
    name: str
    path: str
    # The action of the rule that met it.
    hit: str

    @property
    def place(self) -> str:
        """The call and what it is about, alike for every run, commit and life."""
        parts = Path(self.path).parts
        if len(parts) < 3:
            return f"{self.name} {'/'.join(parts[:1])}"
        words = ".".join(parts[2:]).split(".")
        return f"{self.name} " + ".".join(word for word in words if word.isalpha())


@dataclass(frozen=True)
class Ending:
    code: int
    out: str
    err: str
    calls: list[Call]
    hung: bool


class Life:
    """A command that has been started in `home`; what it writes to `home`/outputs is watched."""

    def __init__(self, words: Sequence[str], home: Path, rules: Sequence[Rule] = ()) -> None:
        self.words, self.rules = words, rules
        number = next(_numbers)
        self._files = [home.parent / f"{number}.{name}" for name in ("out", "err", "calls")]
        for file in self._files:
            file.touch()
        # Every process of this life holds the other end: its end is theirs.
        self._alive, theirs = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            self._live(home)
        os.close(theirs)

    def calls(self) -> list[Call]:
        """The calls so far, in order."""
        calls = []
        # The last line may be half written: its writer was killed, or is at it.
        whole, _, _ = self._files[2].read_text(errors="replace").rpartition("\n")
        for line in whole.splitlines():
            number, name, path, hit = line.split("\t")
            calls.append(Call(int(number), name, path, hit and ACTIONS[int(hit)]))
        return sorted(calls, key=lambda call: call.number)

    def wait_until(self, action: str) -> bool:
        """Wait until it has met this fault; False if the life ended without."""
        deadline = time.monotonic() + LIMIT_SECONDS
        while time.monotonic() < deadline and not any(c.hit == action for c in self.calls()):
            if select.select([self._alive], [], [], POLL_SECONDS)[0]:
                return False
        return True

    def ended(self) -> bool:
        return bool(select.select([self._alive], [], [], 0)[0])

    def end(self) -> Ending:
        """Wait for the end of all its processes, also of jobs whose launcher was killed."""
        hung = not select.select([self._alive], [], [], LIMIT_SECONDS)[0]
        if hung:
            os.killpg(self.pid, signal.SIGKILL)
        os.close(self._alive)
        _, status = os.waitpid(self.pid, 0)
        out, err = (file.read_text(errors="replace") for file in self._files[:2])
        ending = Ending(os.waitstatus_to_exitcode(status), out, err, self.calls(), hung)
        for file in self._files:
            file.unlink()
        return ending

    def _live(self, home: Path) -> NoReturn:
        """In the fork: it ends here, whatever happens."""
        code: int | None = 1
        try:
            os.setsid()
            os.chdir(home)
            for target, file in enumerate((os.devnull, *self._files[:2])):
                os.dup2(os.open(file, os.O_RDWR | os.O_APPEND), target)
            # From here on calls of this process and its children count.
            preload = ctypes.CDLL(None)
            for rule in self.rules:
                calls = ctypes.c_long(rule.at), ctypes.c_long(rule.until)
                what = ACTIONS.index(rule.action), rule.value, int(rule.root)
                preload.faults_rule(*calls, *what, rule.call.encode(), rule.path.encode())
            log = os.open(self._files[2], os.O_WRONLY | os.O_APPEND)
            preload.faults_begin(str(home / "outputs").encode(), log)
            command, *rest = self.words
            code = keep_reference.main(rest) if command == "keep" else main(self.words)
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 1
        except BaseException:
            traceback.print_exc()
        finally:
            try:
                sys.stdout.flush()
                sys.stderr.flush()
            finally:
                os._exit(code or 0)


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
