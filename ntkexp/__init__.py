"""Watch what a neural network's tangent features do while it learns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ntkexp.errors import RunFailed, UserError
    from ntkexp.execution.from_python import run
    from ntkexp.training.schedule import log_steps
    from ntkexp.watching import Watch as watch  # noqa: N813

__version__ = "0.2.0"
__all__ = ["RunFailed", "UserError", "__version__", "log_steps", "run", "watch"]

HOMES = {
    "RunFailed": "errors",
    "UserError": "errors",
    "log_steps": "training.schedule",
    "run": "execution.from_python",
    "watch": "watching",
}


def __getattr__(name: str) -> Any:
    # Heavy modules are imported on first use: every command passes through here.
    if name not in HOMES:
        raise AttributeError(f"module {__name__} has no attribute {name}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{HOMES[name]}"), name)
