"""Where a result comes from: code, command, versions, hardware, times."""

from __future__ import annotations

import os
import platform
import socket
import sys
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

from ntkexp.results.provenance.code import code_facts

PACKAGES = ("torch", "hydra-core", "omegaconf", "numpy", "scipy", "pandas", "pyarrow")


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


@cache
def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None
