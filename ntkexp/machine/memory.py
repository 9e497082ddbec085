"""How much main memory there is, asked without PyTorch: for checks that come before any work."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from ntkexp.errors import UserError

CGROUPS = Path("/sys/fs/cgroup")


def refuse_beyond(key: str, wanted: str, needed_bytes: float, room_bytes: float) -> None:
    """Refuse the value of `key` (`model.width=10000000`) when `wanted` does not fit."""
    if needed_bytes > room_bytes:
        raise UserError(
            f"{key}: needs {_size(needed_bytes)} of memory for {wanted}, "
            f"there are {_size(room_bytes)}; expected a smaller one"
        )


def available_bytes() -> int:
    """What a new process could take: the machine's free memory, within the container's limit."""
    limits = [_free_bytes(), *_container_limits()]
    return min(limits)


def _free_bytes() -> int:
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        [line] = [line for line in lines if line.startswith("MemAvailable:")]
        return int(line.split()[1]) * 1024
    except (OSError, ValueError):  # not Linux
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _container_limits() -> Iterator[int]:
    """Of every control group above this process, version 2 and version 1."""
    try:
        groups = Path("/proc/self/cgroup").read_text(encoding="utf-8").splitlines()
    except OSError:
        return
    for line in groups:
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            yield from _limits(CGROUPS, path, "memory.max")
        elif "memory" in controllers.split(","):
            yield from _limits(CGROUPS / "memory", path, "memory.limit_in_bytes")


def _limits(root: Path, path: str, name: str) -> Iterator[int]:
    inner = root / path.lstrip("/")
    for folder in (inner, *inner.parents):
        if folder == root or root in folder.parents:
            try:
                yield int((folder / name).read_text(encoding="ascii"))
            except (OSError, ValueError):
                continue  # no such group seen from here, or "max": no limit


def _size(size_bytes: float) -> str:
    """Three digits and a unit.

    >>> _size(12 * 2**30), _size(5e20)
    ('12 GiB', '4.55e+11 GiB')
    """
    return f"{size_bytes / 2**30:.3g} GiB"
