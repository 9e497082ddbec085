"""Several commands as a user has them, in one process that pays for its imports once."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

SOURCE = """
import contextlib, io, json, sys
from ntkexp.cli import main
told = []
for words in json.loads(sys.argv[1]):
    out, errors = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
        code = main(words)
    told.append((words, code, out.getvalue(), errors.getvalue()))
print(json.dumps(told))
"""
Done = subprocess.CompletedProcess[str]


def in_one_process(
    commands: Sequence[Sequence[str]],
    cwd: Path,
    environment: Mapping[str, str],
    *,
    prefix: Sequence[str] = (),
) -> list[Done]:
    """The ends of these commands, one after the other; `prefix` is what starts Python."""
    done = subprocess.run(
        [*prefix, sys.executable, "-c", SOURCE, json.dumps([[*words] for words in commands])],
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return [subprocess.CompletedProcess(*told) for told in json.loads(done.stdout)]
