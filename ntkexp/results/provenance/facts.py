"""What a run's provenance tells of its last life."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ntkexp.errors import UserError


def last_life(folder: Path) -> dict[str, Any]:
    """Command, code, hardware, remarks and seconds of the life that finished a run."""
    path = folder / "provenance.json"
    try:
        return dict(json.loads(path.read_bytes())["lives"][-1])
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise UserError(f"{path}: no provenance that can be read ({error})") from error


def data_of(folder: Path) -> dict[str, str]:
    """Checksums of the files that a run was made from; nothing where it does not say."""
    try:
        data = last_life(folder).get("data", {})
    except (UserError, TypeError, ValueError):
        return {}
    return dict(data) if isinstance(data, dict) else {}
