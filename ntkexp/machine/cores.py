"""How many cores this process may keep busy: its affinity, and the quota of its container."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def cores() -> int:
    """How many cores this process may keep busy: by its affinity and its container's quota."""
    if sys.platform == "linux":
        allowed = len(os.sched_getaffinity(0))
    else:
        allowed = os.cpu_count() or 1
    granted = quota()
    return allowed if granted is None else max(1, min(allowed, int(granted)))


def quota(
    membership: Path = Path("/proc/self/cgroup"), mounted: Path = Path("/sys/fs/cgroup")
) -> float | None:
    """The cores that the container's processes may use together; None where there is no limit.

    cgroup v2 has `cpu.max`, "quota period" in microseconds; v1 has `cpu.cfs_quota_us`, -1 for no
    limit, and `cpu.cfs_period_us`. Every group above counts, too, and the tightest holds. In a
    container the group's own path may be the host's: then the root that is mounted is its limit.
    """
    try:
        lines = membership.read_text(encoding="utf-8").splitlines()
    except OSError:
        return None
    granted = []
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            roots = [mounted, mounted / "unified"]
        elif "cpu" in controllers.split(","):
            roots = [mounted / controllers, mounted / "cpu"]
        else:
            continue
        group = Path(path.lstrip("/"))
        granted += [_limit(root / above) for root in roots for above in (group, *group.parents)]
    return min((one for one in granted if one is not None), default=None)


def _limit(group: Path) -> float | None:
    try:
        if (group / "cpu.max").exists():
            allowed, period = (group / "cpu.max").read_text(encoding="utf-8").split()
        else:
            allowed = (group / "cpu.cfs_quota_us").read_text(encoding="utf-8").strip()
            period = (group / "cpu.cfs_period_us").read_text(encoding="utf-8")
    except OSError:
        return None
    return None if allowed in ("max", "-1") else int(allowed) / int(period)
