"""The state of a run, as its status.json tells it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any, Literal

from ntkexp.errors import UserError

State = Literal["running", "finished", "interrupted", "failed"]


def read_status(folder: Path) -> dict[str, Any] | None:
    """What a run's status.json says; None when there is no run."""
    path = folder / "status.json"
    try:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except ValueError as error:
        raise UserError(f"{path} is no JSON: {error}") from error
    return found


def forget_parts(folder: Path) -> None:
    """Remove what a finished run needs no more.

    Done after the status says `finished`, so a kill may come in between; whoever finds a finished
    run does it again.
    """
    shutil.rmtree(folder / "parts", ignore_errors=True)
    (folder / "checkpoint.pt").unlink(missing_ok=True)
