"""Other machines and containers, as far as one process can be told that it is in one."""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import socket
import tempfile
import time
import uuid
from functools import cache
from pathlib import Path
from typing import NoReturn

# From <sched.h> and <sys/mount.h>.
NEW_MOUNTS, NEW_HOST_NAME, NEW_PROCESS_NUMBERS = 0x00020000, 0x04000000, 0x20000000
BIND, RECURSIVE, PRIVATE, REMOUNT, READ_ONLY = 0x1000, 0x4000, 0x40000, 0x20, 0x1
CAPABILITIES_VERSION = 0x20080522  # of <linux/capability.h>
BOOT_ID = "/proc/sys/kernel/random/boot_id"


def move_to(machine: str, silent_seconds: float | None) -> None:
    """Make this process see what it would see there.

    `elsewhere` has another host name and boot id, and its locks of the kernel are its own; a
    `container` has process numbers of its own and shares the rest; an `account` is that of
    somebody who may read what this one owns, and write only what everybody may.
    """
    if silent_seconds is not None:
        from ntkexp.results import lock

        lock.SILENT_SECONDS = silent_seconds
    if machine == "elsewhere":
        _unshare(NEW_MOUNTS | NEW_HOST_NAME)
        socket.sethostname("elsewhere")
        with tempfile.NamedTemporaryFile("w", suffix=".boot_id") as file:
            file.write(f"{uuid.uuid5(uuid.NAMESPACE_DNS, 'elsewhere')}\n")
            file.flush()
            _mount(file.name, BOOT_ID, "", BIND)
        fcntl.flock = lambda file, operation: None  # type: ignore[assignment]
    elif machine == "account":
        # Without capabilities root, too, is held to the permissions of files.
        header = (ctypes.c_uint32 * 2)(CAPABILITIES_VERSION, 0)
        none = (ctypes.c_uint32 * 6)()
        _checked(ctypes.CDLL(None, use_errno=True).capset(header, none))
    elif machine == "container":
        _unshare(NEW_MOUNTS | NEW_PROCESS_NUMBERS)
        inner = os.fork()
        if inner:
            _stand_for(inner)
        _mount("proc", "/proc", "proc", 0)


@cache
def possible() -> bool:
    """True if this user may make other machines, accounts and containers."""
    tried = os.fork()
    if tried == 0:
        code = 1
        try:
            move_to("elsewhere", None)
            move_to("container", None)
            code = 0
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(tried, 0)[1]) == 0


def give_away(folder: Path) -> None:
    """All of it belongs to somebody else now, who lets others read."""
    for path in (folder, *folder.rglob("*")):
        os.chown(path, 12345, 12345)
        path.chmod(0o755 if path.is_dir() else 0o644)


@cache
def may_mount(folder: Path) -> bool:
    """True if this user may mount a file system of a given size."""
    try:
        mount_small(folder, 65536)
        unmount(folder)
    except OSError:
        return False
    return True


def mount_small(folder: Path, size_bytes: int) -> None:
    _mount("ntkexp-torture", str(folder), "tmpfs", 0, f"size={size_bytes}")


def enlarge(folder: Path) -> None:
    _mount("ntkexp-torture", str(folder), "tmpfs", REMOUNT, "size=64m")


def make_read_only(folder: Path) -> None:
    for attempt in range(100):
        try:
            _mount("ntkexp-torture", str(folder), "tmpfs", REMOUNT | READ_ONLY)
        except OSError as error:
            # A process that was killed lets go of its files a moment later.
            if error.errno != errno.EBUSY or attempt == 99:
                raise
            time.sleep(0.05)
        else:
            return


def unmount(folder: Path) -> None:
    _checked(ctypes.CDLL(None, use_errno=True).umount2(str(folder).encode(), 2))  # 2: MNT_DETACH


def _stand_for(inner: int) -> NoReturn:
    """The process outside has no other business than to end as the one inside does."""
    code = os.waitstatus_to_exitcode(os.waitpid(inner, 0)[1])
    os._exit(code if code >= 0 else 128 - code)


def _unshare(flags: int) -> None:
    _checked(ctypes.CDLL(None, use_errno=True).unshare(flags))
    # What is mounted from here on is nobody else's.
    _mount("none", "/", "", RECURSIVE | PRIVATE)


def _mount(source: str, target: str, kind: str, flags: int, options: str = "") -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    words = [word.encode() for word in (source, target, kind)]
    _checked(libc.mount(*words, ctypes.c_ulong(flags), options.encode()))


def _checked(result: int) -> None:
    if result:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
