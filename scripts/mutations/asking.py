"""A room's tests on a copy of the tree, each time in a fork of one process that is warm."""

from __future__ import annotations

import gc
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from dataclasses import asdict, dataclass
from pathlib import Path

from ntkexp.scripts.mutations.changes import ROOMS, TREE, Change
from ntkexp.scripts.mutations.reach import Asked, Reach, Recorder

# No faster than this is a test told to hang, in seconds of the processor and of the clock.
SHORTEST_LIMIT_SECONDS = 20.0
SHORTEST_WAIT_SECONDS = 120.0
PYTEST_WORDS = ("-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--tb=line", "-m", "not slow")


@dataclass(frozen=True)
class Answer:
    """`caught`, `survived` or `hung`; the test that noticed; and all that was said."""

    outcome: str
    by: str = ""
    words: str = ""


class Copy:
    """The tree without its environment and outputs, in a folder of its own."""

    def __init__(self, folder: Path, room: str) -> None:
        self.folder, self.room = folder, room
        self._stand_alone: set[str] = set()
        self.tests = tuple(test for test in ROOMS[room][1] if (TREE / test).exists())
        listed = subprocess.run(
            ["git", "-C", TREE, "ls-files", "-co", "--exclude-standard"],
            check=True,
            capture_output=True,
            text=True,
        )
        for name in listed.stdout.splitlines():
            if (TREE / name).is_file():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(TREE / name, folder / name)
        # Compiled once; a changed file has another hash, so it is compiled anew.
        compiled = [sys.executable, "-m", "compileall", "-q", "--invalidation-mode", "checked-hash"]
        subprocess.run([*compiled, folder / "ntkexp"], check=True)

    def reach(self, files: list[str]) -> Reach:
        """All tests of the room on the tree as it is."""
        answer = self._forked([*PYTEST_WORDS, *self.tests], files, None, limit=3600, wait=7200)
        if answer.outcome != "survived":
            raise SystemExit(f"the tests fail on the tree as it is:\n{answer.words[-3000:]}")
        return Reach(**json.loads((self.folder / "reach.json").read_text(encoding="utf-8")))

    def ask(self, change: Change, tests: list[str], seconds: float) -> Answer:
        """What `tests`, which take `seconds` on the tree as it is, say of a change."""
        if not tests:
            return Answer("survived", words="no test comes to this line")
        path = self.folder / change.file
        whole = path.read_text(encoding="utf-8")
        files = sorted({test.partition("::")[0] for test in tests})
        limit, wait = SHORTEST_LIMIT_SECONDS, SHORTEST_WAIT_SECONDS
        try:
            path.write_text(change.applied(whole), encoding="utf-8")
            return self._forked(
                [*PYTEST_WORDS, "-x", *files], [], tests, limit + 5 * seconds, wait + 20 * seconds
            )
        finally:
            path.write_text(whole, encoding="utf-8")

    def expect_alone(self, test: str, seconds: float) -> None:
        """A test that noticed passes on the tree as it is, also by itself.

        One that leans on what other tests did before it would notice every change.
        """
        if not test or test in self._stand_alone:
            return
        file = test.partition("::")[0]
        limit, wait = SHORTEST_LIMIT_SECONDS, SHORTEST_WAIT_SECONDS
        answer = self._forked(
            [*PYTEST_WORDS, file], [], [test], limit + 5 * seconds, wait + 20 * seconds
        )
        if answer.outcome != "survived":
            raise SystemExit(
                f"{test} fails by itself on the tree as it is:\n{answer.words[-3000:]}"
            )
        self._stand_alone.add(test)

    def _forked(
        self, words: list[str], files: list[str], asked: list[str] | None, limit: float, wait: float
    ) -> Answer:
        noticed = self.folder / "noticed.txt"
        noticed.unlink(missing_ok=True)
        with tempfile.TemporaryFile("w+") as said:
            pid = os.fork()
            if pid == 0:
                os.setsid()
                os.dup2(said.fileno(), 1)
                os.dup2(said.fileno(), 2)
                # By the processor's time, so that other work on the machine hangs nothing.
                resource.setrlimit(resource.RLIMIT_CPU, (int(limit), int(limit)))
                _test(self.folder, words, files, asked)
            deadline = time.monotonic() + wait
            while not (ended := os.waitpid(pid, os.WNOHANG))[0]:
                if time.monotonic() > deadline:
                    # The tests are a session of their own, with all they have started.
                    os.killpg(pid, signal.SIGKILL)
                    os.waitpid(pid, 0)
                    return Answer("hung")
                time.sleep(0.02)
            said.seek(0)
            text = said.read()
        code = os.waitstatus_to_exitcode(ended[1])
        if -code in (signal.SIGKILL, signal.SIGXCPU):
            return Answer("hung", words=text)
        # 1 is a test that failed; 2 a module that a test cannot import, 4 one that what all tests
        # share cannot import, or a test that is not there; below 0 a crash.
        no_tests = code == 4 and "while loading conftest" not in text
        if (code not in (0, 1, 2, 4) and code > 0) or no_tests:
            raise SystemExit(f"pytest ended with {code}:\n{text[-2000:]}")
        by = noticed.read_text(encoding="utf-8") if noticed.exists() else ""
        return Answer("survived" if code == 0 else "caught", by, text)


def _test(folder: Path, words: list[str], files: list[str], asked: list[str] | None) -> None:
    """In a fork: pytest on the copy, in this process; commands of the tests see the copy, too."""
    code = 3
    try:
        os.chdir(folder)
        os.environ["PYTHONPATH"] = str(folder)
        os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
        sys.path.insert(0, str(folder))
        # Tests are compiled once, while nothing is changed.
        sys.dont_write_bytecode = asked is not None
        for name in [name for name in sys.modules if name.partition(".")[0] == "ntkexp"]:
            del sys.modules[name]
        import pytest

        plugin = Asked(asked) if asked is not None else Recorder(folder, files)
        # Plugins that are loaded already are none of those whose assertions matter here.
        words = ["-W", "ignore::pytest.PytestAssertRewriteWarning", *words]
        code = int(pytest.main(words, plugins=[plugin]))
        if isinstance(plugin, Recorder):
            (folder / "reach.json").write_text(json.dumps(asdict(plugin.reach)), encoding="utf-8")
        else:
            (folder / "noticed.txt").write_text(plugin.noticed, encoding="utf-8")
        import ntkexp

        if not Path(ntkexp.__file__).is_relative_to(folder):
            code = 5
            print(f"the tests imported {ntkexp.__file__}, not the copy")
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        os._exit(code)


def preload() -> None:
    """What the tests import that is not ours, once."""
    import hydra  # noqa: F401
    import hypothesis  # noqa: F401
    import pandas  # noqa: F401
    import pyarrow.parquet  # noqa: F401
    import pytest  # noqa: F401
    import scipy.sparse.linalg  # noqa: F401
    import torch

    torch.set_num_threads(1)
    # What is here stays: the collector of garbage need not look at it again in each fork.
    gc.collect()
    gc.freeze()
