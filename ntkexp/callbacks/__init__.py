"""Callbacks for trainers of others: looks at a network as it trains, or checkpoints to look at.

from ntkexp.callbacks import HuggingFace, Lightning
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ntkexp.callbacks.huggingface import HuggingFace
    from ntkexp.callbacks.lightning import Lightning

__all__ = ["HuggingFace", "Lightning"]

# Each, its file, and the package that it needs.
HOMES = {"HuggingFace": ("huggingface", "transformers"), "Lightning": ("lightning", "lightning")}


def __getattr__(name: str) -> Any:
    if name not in HOMES:
        raise AttributeError(f"module {__name__} has no attribute {name}")
    home, package = HOMES[name]
    try:
        return getattr(import_module(f"{__name__}.{home}"), name)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != package:
            raise
        raise ImportError(
            f"ntkexp.callbacks.{name} needs {package}, which is not installed: "
            f"pip install 'ntkexp[{package}]'"
        ) from None
