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
