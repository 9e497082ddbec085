"""Tells a run that is done already, and refuses one that was made from other data."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TextIO

from ntkexp.compose.plan import Plan
from ntkexp.errors import UserError
from ntkexp.results.status import Card, read_card, read_status, refuse_damaged, tidy

DONE, FAILED = 0, 1
# Checksums by file.
Data = Mapping[str, str]


def done_already(plan: Plan, data: Callable[[Plan], Data]) -> int | None:
    """The exit code of a run that is done already; None when there is work to do.

    `data` gives the checksums of the files that the run would read here. Asked before the work, and
    once more under the run's lock: another process may have done it meanwhile.
    """
    folder = plan.folder
    status = None if plan.config.rerun else read_status(folder)
    if status is None:
        return None
    if is_finished(plan, status, data):
        say(f"done already: {folder}  (--rerun does it again)")
        return DONE
    if has_diverged(status) and not plan.config.launcher.retry_failed:
        say(f"failed before: {folder}: {status['reason']}  (--rerun tries again)")
        return FAILED
    return None


def say(line: str, stream: TextIO | None = None) -> None:
    """Print a line, on standard output unless told, if somebody still reads it: a run's status has
    it, too."""
    with contextlib.suppress(OSError):
        print(line, file=stream)


def is_finished(plan: Plan, status: Mapping[str, Any], data: Callable[[Plan], Data]) -> bool:
    """True for a finished run; refused where it is damaged, or made from other data."""
    if status["state"] != "finished":
        return False
    refuse_damaged(plan.folder, status)
    refuse_other_data(plan, read_card(plan.folder), data)
    tidy(plan.folder)
    return True


def has_diverged(status: Mapping[str, Any] | None) -> bool:
    """True if a run ended because its loss was not finite; it has nothing to go on from."""
    return status is not None and status["state"] == "failed" and "diverged_at" in status


def refuse_other_data(plan: Plan, card: Card | None, data: Callable[[Plan], Data]) -> None:
    """Refuse a finished run that was made from other data.

    Where the data are not on this machine nothing is compared, and the run counts.
    """
    kept = card.facts.get("data") if card is not None else None
    if not kept:
        return
    try:
        now = data(plan)
    except UserError:
        return
    if now:
        compare_data(plan.folder, "was made", kept, now)


def compare_data(folder: Path, how: str, kept: Data, now: Data) -> None:
    """Refuse other content than that of `kept`; the same files may lie under other names."""
    if sorted(kept.values()) == sorted(now.values()):
        return
    other = [name for name, sum_ in now.items() if sum_ not in kept.values()] or sorted(now)
    if other[0].startswith("run "):
        raise UserError(
            f"{folder} {how} from another file than {other[0].removeprefix('run ')} is now; bring "
            "back the former one, or --rerun does the run again with this"
        )
    raise UserError(
        f"{folder} {how} from other data than NTKEXP_DATA has now ({other[0]} differs); point it "
        "at the former data, or --rerun does the run again with these"
    )


def metric_of(folder: Path, path: str) -> float:
    """The number that `path` names of the finished run in `folder`."""
    from ntkexp.results import read  # pandas is for those who ask

    return read(folder).metric(path)
