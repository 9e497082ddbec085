"""Tensors to a file, the same bytes for the same tensors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch


def save_tensors(content: dict[str, Any], path: Path) -> None:
    # Given a path torch writes the file's name into the file, and ours is a temporary one.
    with path.open("wb") as file:
        torch.save(content, file)
