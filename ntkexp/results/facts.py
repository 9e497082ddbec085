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
        lives = json.loads(path.read_text(encoding="utf-8"))["lives"]
    except (OSError, ValueError, KeyError) as error:
        raise UserError(f"{path}: no provenance that can be read ({error})") from error
    return dict(lives[-1])
