"""The environment of all tests and of the processes they start; tests/conftest.py imports it first.

No images, no cache and no run of the user's, one thread, and nothing beyond this machine.
"""

from __future__ import annotations

import os
import runpy
import tempfile
from pathlib import Path

SCRATCH = Path(tempfile.mkdtemp(prefix="ntkexp-tests-"))
# What reached beyond this machine (tests/loopback/sitecustomize.py).
REACHED = SCRATCH / "reached"
LOOPBACK = Path(__file__).parent / "loopback"


def python_path(*folders: Path | str) -> str:
    """A PYTHONPATH of these folders for a process that is watched all the same."""
    return os.pathsep.join(str(folder) for folder in (LOOPBACK, *folders) if folder)


# pytest-xdist starts its processes with this environment: what is there already stays.
REAL_IMAGES = os.environ.setdefault("NTKEXP_TESTS_IMAGES", os.environ.get("NTKEXP_DATA", ""))
if str(LOOPBACK) not in os.environ.get("PYTHONPATH", ""):
    os.environ["PYTHONPATH"] = python_path(os.environ.get("PYTHONPATH", ""))
os.environ["NTKEXP_TESTS_REACHED"] = str(REACHED)
os.environ["NTKEXP_DATA"] = str(SCRATCH / "no-images")
os.environ["NTKEXP_CACHE"] = str(SCRATCH / "cache")
os.environ["NTKEXP_REFERENCE"] = ""
# Selenium takes the driver that is installed, and looks for no other.
os.environ["SE_OFFLINE"] = "true"
# Tests run side by side on few cores; torch reads it on import.
os.environ["OMP_NUM_THREADS"] = "1"
runpy.run_path(str(LOOPBACK / "sitecustomize.py"))
