"""Where a result comes from: code, command, versions, hardware, times."""

from __future__ import annotations

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

PACKAGES = ("torch", "hydra-core", "omegaconf", "numpy", "scipy", "pandas", "pyarrow")


def provenance() -> dict[str, Any]:
    """Facts about this process that need no torch; the caller adds its own."""
    return {
        "argv": sys.orig_argv,
        "ntkexp": ntkexp.__version__,
        "git": git_state(Path(ntkexp.__file__).resolve().parent),
        "python": platform.python_version(),
        "versions": {name: _version(name) for name in PACKAGES},
        "platform": platform.platform(),
        "host": socket.gethostname(),
        "cpu": cpu_name(),
        "cpu_count": os.cpu_count(),
        "memory_bytes": memory_bytes(),
    }


@cache
def git_state(folder: Path) -> dict[str, str] | None:
    """The commit the code is at and what differs from it; None outside a checkout.

    Asked once a process: the jobs of a sweep are forked from one that has the code in memory.
    """
    sha = _git(folder, "rev-parse", "HEAD")
    if sha is None:
        return None
    return {"sha": sha.strip(), "diff": _git(folder, "diff", "HEAD") or ""}


def cpu_name() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


def memory_bytes() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


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
