"""Commands in forks of this process: each is a process, without the seconds of its imports.

What a process does when it starts is not tried so: tests of that start Python anew.
"""

from __future__ import annotations

import gc
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module, invalidate_caches
from pathlib import Path

from ntkexp.cli import main

Main = Callable[[Sequence[str]], int]
# Of torch what autograd imports when it is first used.
IMPORTED = (
    "scipy.sparse.linalg", "torch.fx.experimental.symbolic_shapes", "ntkexp.commands.application",
    "ntkexp.launch.sweep", "ntkexp.probes.eigenfunctions", "ntkexp.training.experiment",
)  # fmt: skip


class Forked:
    """A command that has been started, with what `subprocess.Popen` offers and is needed here."""

    returncode: int | None = None

    def __init__(
        self,
        words: Sequence[str],
        cwd: Path,
        environment: Mapping[str, str] | None = None,
        *,
        function: Main = main,
        stdout: int | None = None,
        stderr: int | None = None,
        closed: Sequence[int] = (),
    ) -> None:
        """`function(words)`, in the folder `cwd`; without the file descriptors `closed`.

        What it prints is kept, but for what goes to `stdout` and `stderr`.
        """
        import_what_runs_import()
        self.words = [*words]
        self._told = ("", "")
        self._out, self._errors = (_nameless_file() for _ in range(2))
        with warnings.catch_warnings():
            # From Python 3.12 on a fork of a process with threads warns; pytest-xdist has some.
            warnings.simplefilter("ignore", DeprecationWarning)
            gc.freeze()  # the fork's collector of garbage leaves what is here alone
            self.pid = os.fork()
        if self.pid == 0:
            for descriptor in closed:
                os.close(descriptor)
            out = self._out if stdout is None else stdout
            errors = self._errors if stderr is None else stderr
            _carry_out(function, words, cwd, environment or {}, out, errors)
        gc.unfreeze()

    def poll(self) -> int | None:
        if self.returncode is None:
            done, status = os.waitpid(self.pid, os.WNOHANG)
            if done:
                self.returncode = os.waitstatus_to_exitcode(status)
                self._told = _content(self._out), _content(self._errors)
        return self.returncode

    def wait(self) -> int:
        while self.poll() is None:
            time.sleep(0.005)
        assert self.returncode is not None
        return self.returncode

    def send_signal(self, number: signal.Signals) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def communicate(self) -> tuple[str, str]:
        """All that it printed, to its end."""
        self.wait()
        return self._told

    def done(self) -> subprocess.CompletedProcess[str]:
        out, errors = self.communicate()
        return subprocess.CompletedProcess(self.words, self.wait(), out, errors)


def beside(folder: Path, function: Main = main) -> Main:
    """`function` where this folder is on Python's path, as if nothing had been looked for yet."""

    def run(words: Sequence[str]) -> int:
        sys.path.insert(0, str(folder))
        invalidate_caches()
        ours = [module for name, module in sys.modules.items() if name.startswith("ntkexp")]
        for value in [value for module in ours for value in vars(module).values()]:
            if callable(forget := getattr(value, "cache_clear", None)):
                forget()
        return function(words)

    return run


def import_what_runs_import() -> None:
    """So that no fork has to do it again."""
    for name in IMPORTED:
        import_module(name)


def killed_until_done(words: Sequence[str], cwd: Path, seed: int, longest: float) -> int:
    """Gives a command again and again, each time killed at a random moment, until it ends: how
    often it was killed. After the third the moments come later and later."""
    rng, kills = random.Random(seed), 0
    while True:
        process = Forked(words, cwd)
        deadline = time.monotonic() + rng.uniform(0, longest) * (1 + max(0, kills - 3) / 2)
        while process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.002)
        if process.poll() is not None:
            out, errors = process.communicate()
            assert process.returncode == 0, out + errors
            return kills
        process.kill()
        process.wait()
        kills += 1


def _nameless_file() -> int:
    descriptor, name = tempfile.mkstemp()
    Path(name).unlink()
    return descriptor


def _content(descriptor: int) -> str:
    """All of a file, which is then closed."""
    os.lseek(descriptor, 0, os.SEEK_SET)
    with open(descriptor, encoding="utf-8") as file:
        return file.read()


def _carry_out(
    function: Main,
    words: Sequence[str],
    cwd: Path,
    environment: Mapping[str, str],
    out: int,
    errors: int,
) -> None:
    """In the fork: it ends here, whatever happens, and never goes on with the tests."""
    code = 1
    try:
        os.chdir(cwd)
        os.environ.update(environment)
        os.dup2(out, 1)
        os.dup2(errors, 2)
        # By lines, so that what cannot be printed is known where it is printed.
        sys.stdout = open(1, "w", buffering=1, closefd=False)  # noqa: SIM115
        sys.stderr = open(2, "w", buffering=1, closefd=False)  # noqa: SIM115
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        code = function(words)
        sys.stdout.flush()
    except BaseException:
        traceback.print_exc()
    finally:
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            os._exit(code)
