"""Who holds a lock: a process, named so that another process can tell whether it still lives."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def text_of(owner: Mapping[str, object]) -> bytes:
    """The content of a lock file, with a checksum of itself. Without it a changed byte could
    name another machine, and one would wait for that machine in vain."""
    return json.dumps({**owner, "check": _check(owner)}).encode()


def _check(owner: Mapping[str, object]) -> str:
    return hashlib.sha256(json.dumps(owner, sort_keys=True).encode()).hexdigest()[:16]


def owner_of(descriptor: int) -> dict[str, Any] | None:
    """Who holds an open lock file; None where it is damaged."""
    try:
        owner = json.loads(os.pread(descriptor, 1 << 16, 0))
    except (OSError, ValueError):
        return None
    if not isinstance(owner, dict):
        return None
    # Locks of version 0.1 carry no checksum.
    if "check" in owner and owner.pop("check") != _check(owner):
        return None
    return owner


def in_words(path: Path) -> str:
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        owner = json.loads(path.read_text(encoding="utf-8"))
        return f"process {owner['pid']} on {owner['host']}"
    return "another process"


def this_process() -> dict[str, object]:
    pid = os.getpid()
    return {"host": socket.gethostname(), "kernel": kernel(), "pid": pid, "born": _born(pid)}


def kernel() -> str:
    """What all processes of one running kernel have in common, in all containers."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return socket.gethostname()


def alive(owner: dict[str, Any]) -> bool:
    """Whether a process of this kernel lives: asked only where files cannot be locked."""
    try:
        pid = int(owner["pid"])
        os.kill(pid, 0)
    except PermissionError:
        pass
    except (KeyError, TypeError, ValueError, OverflowError, ProcessLookupError):
        return False
    # A number can be given to a new process; its birth tells the two apart.
    return _born(pid) == owner.get("born")


def _born(pid: int) -> str:
    """When a process began, in the kernel's ticks; empty where /proc does not say."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except OSError:
        return ""
    return text.rpartition(")")[2].split()[19]
