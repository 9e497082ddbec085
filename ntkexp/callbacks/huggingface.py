"""A network that the Trainer of Hugging Face trains
(https://huggingface.co/docs/transformers/main_classes/callback)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import nn
from transformers import TrainerCallback

from ntkexp.callbacks.following import Following


class HuggingFace(Following, TrainerCallback):  # type: ignore[misc]
    """For `Trainer(callbacks=[...])`. Its table `losses` is empty: the trainer tells callbacks of
    no step's loss. Several processes: the first looks, and all others wait."""

    def on_train_begin(
        self, args: Any, state: Any, control: Any, *, model: nn.Module, **more: Any
    ) -> None:
        self.begin(model, state.global_step, _saving(model, state))

    def on_step_end(
        self, args: Any, state: Any, control: Any, *, model: nn.Module, **more: Any
    ) -> None:
        self.after(state.global_step, None, _saving(model, state))

    def on_train_end(
        self, args: Any, state: Any, control: Any, *, model: nn.Module, **more: Any
    ) -> None:
        self.keep(state.global_step, _saving(model, state))
        self.end()


def _saving(model: Any, state: Any) -> Callable[[Path], object]:
    def save(path: Path) -> None:
        if not state.is_world_process_zero:
            return
        if hasattr(model, "save_pretrained"):
            model.save_pretrained(path)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            torch.save(model.state_dict(), f"{path}.pt")

    return save
