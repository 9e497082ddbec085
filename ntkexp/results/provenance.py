"""Where a result comes from: code, command, versions, hardware, times.

What differs from the commit is kept as a hash, since a diff may hold what nobody meant to pass on;
`NTKEXP_DIFF=1` keeps its text.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import socket
import subprocess
import sys
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

import ntkexp
from ntkexp import projects
from ntkexp.errors import UserError
from ntkexp.results.files import content_of

PACKAGES = ("torch", "hydra-core", "omegaconf", "numpy", "scipy", "pandas", "pyarrow")
VARIABLE = "NTKEXP_DIFF"
HOME = Path(ntkexp.__file__).resolve().parent
# What decides a run; what was compiled of it, or lies beside it, does not.
KINDS = ("*.py", "*.yaml")


def provenance() -> dict[str, Any]:
    """Facts about this process that need no torch; the caller adds its own."""
    return {
        "argv": sys.orig_argv,
        **code_facts(),
        "python": platform.python_version(),
        "versions": {name: _version(name) for name in PACKAGES},
        "platform": platform.platform(),
        "host": socket.gethostname(),
        "cpu": cpu_name(),
        "cpu_count": os.cpu_count(),
        "memory_bytes": memory_bytes(),
    }


def cpu_name() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


def memory_bytes() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def last_life(folder: Path) -> dict[str, Any]:
    """Command, code, hardware, remarks and seconds of the life that finished a run."""
    path = folder / "provenance.json"
    try:
        return dict(json.loads(content_of(path))["lives"][-1])
    except (OSError, ValueError, LookupError, TypeError, RecursionError) as error:
        raise UserError(f"{path}: no provenance that can be read ({error})") from error


def code_facts() -> dict[str, Any]:
    """Version, hash of the files and commit of this package; hashes of projects of one's own."""
    hashes = {name: hash_of_files(home) for name, home in projects.own()}
    facts = {"ntkexp": ntkexp.__version__, "code": hash_of_files(HOME), "git": git_state(HOME)}
    return facts | ({"projects": hashes} if hashes else {})


@cache
def hash_of_files(folder: Path) -> str:
    """sha256 over the names and the contents of a package's files, wherever it is installed.

    Asked once a process: the jobs of a sweep are forked from one that has the code in memory.
    """
    total = hashlib.sha256()
    # A link to nowhere is the lock of an editor on the file beside it.
    files = [file for kind in KINDS for file in folder.rglob(kind) if file.is_file()]
    names = {file.relative_to(folder).as_posix() for file in files}
    for name in sorted(names):
        content = (folder / name).read_bytes()
        total.update(f"{name}\0{len(content)}\0".encode() + content)
    return total.hexdigest()


@cache
def git_state(folder: Path) -> dict[str, str] | None:
    """The commit a package is at and a hash of its changes; None where git does not track it."""
    if _git(folder, "ls-files", "--error-unmatch", "__init__.py") is None:
        return None
    sha = _git(folder, "rev-parse", "HEAD")
    if sha is None:
        return None
    diff = _git(folder, "diff", "HEAD", "--", ".") or ""
    state = {"sha": sha.strip()}
    if diff:
        state["changes"] = hashlib.sha256(diff.encode()).hexdigest()
        if os.environ.get(VARIABLE) == "1":
            state["diff"] = diff
    return state


def _git(folder: Path, *arguments: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *arguments], capture_output=True, text=True, timeout=10
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None


@cache
def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None
