"""The state of a run, as its status.json tells it."""

from __future__ import annotations

import contextlib
import hashlib
import json
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, get_args

from ntkexp.results.atomic import remove_tree
from ntkexp.results.commits.chain import (
    DamagedRunError,
    UnreadableRunError,
    is_plain_name,
    kept_facts,
    names_in,
    not_read,
)
from ntkexp.results.commits.lock import remove_if_stale

State = Literal["running", "finished", "interrupted", "failed"]

# The folder of a run at work.
UNFINISHED = "unfinished"


def read_status(folder: Path) -> dict[str, Any] | None:
    """The content of a run's status.json; None when there is no run."""
    path = folder / "status.json"
    try:
        status = json.loads(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        return None
    except PermissionError as error:
        raise UnreadableRunError(folder, error) from error
    except OSError as error:
        raise UnreadableRunError(path, error) from error
    except ValueError as error:
        raise DamagedRunError(path, "is damaged (no JSON)") from error
    if not isinstance(status, dict) or status.get("state") not in get_args(State):
        raise DamagedRunError(path, "is damaged (it names no state)")
    # Runs that were kept early carry no checksum here.
    if "check" in status and status.pop("check") != _check(status):
        raise DamagedRunError(path, "is damaged (its checksum is another)")
    if not all(map(is_plain_name, status.get("files", ()))):
        raise DamagedRunError(path, "is damaged (it lists files outside of its folder)")
    return status


def status_text(status: Mapping[str, Any]) -> str:
    """The content of a status.json, with a checksum of itself."""
    return json.dumps({**status, "check": _check(status)}, indent=1) + "\n"


def _check(status: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(status, sort_keys=True).encode()).hexdigest()


def forget_work(folder: Path) -> None:
    """Remove what a finished run needs no more, as far as this user may.

    Done after the status says `finished`, so a kill may come in between; whoever finds a finished
    run does it again.
    """
    sweep_up(folder)
    # Of an owner that was killed when it had finished, and before it let go.
    remove_if_stale(folder / "lock")
    # In one step: a kill in here never leaves a part of a chain of commits.
    with contextlib.suppress(OSError):
        gone = folder / f".{UNFINISHED}.{secrets.token_hex(8)}.tmp"
        (folder / UNFINISHED).rename(gone)
        remove_tree(gone)
    remove_tree(folder / UNFINISHED)


def sweep_up(folder: Path) -> None:
    """Remove temporary files that killed processes left, as far as this user may."""
    with contextlib.suppress(UnreadableRunError):
        for name in names_in(folder):
            if name.startswith(".") and name.endswith(".tmp"):
                remove_tree(folder / name)


def begun_with(folder: Path) -> dict[str, Any]:
    """The facts that an unfinished run keeps for all its lives, such as its threads."""
    return kept_facts(folder / UNFINISHED / "committed")


def begun(folder: Path) -> bool:
    """True if an unfinished run has a commit to go on from."""
    return any(name.endswith(".json") for name in names_in(folder / UNFINISHED / "committed"))


def refuse_damaged(folder: Path, status: Mapping[str, Any]) -> None:
    """Refuse a finished run whose files are not those that its status lists."""
    for name, facts in status.get("files", {}).items():
        path = folder / name
        try:
            with path.open("rb") as file:
                sha256 = hashlib.file_digest(file, "sha256").hexdigest()
        except OSError as error:
            raise not_read(path, error) from error
        if sha256 != facts["sha256"]:
            raise DamagedRunError(path, "is damaged (its checksum is another)")
