"""A network that Lightning trains (https://lightning.ai/docs/pytorch)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from lightning.pytorch import Callback
from torch import nn

from ntkexp.callbacks.following import Following


class Lightning(Following, Callback):  # type: ignore[misc]
    """For `Trainer(callbacks=[...])`. Several processes: the first looks, and all others wait."""

    def on_train_start(self, trainer: Any, pl_module: nn.Module) -> None:
        self.begin(pl_module, trainer.global_step, _saving(trainer))

    def on_train_batch_end(
        self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        loss = outputs.get("loss") if isinstance(outputs, Mapping) else outputs
        if loss is not None and pl_module.automatic_optimization:
            loss = loss * trainer.accumulate_grad_batches  # Lightning has divided it
        self.after(trainer.global_step, loss, _saving(trainer))

    def on_train_end(self, trainer: Any, pl_module: nn.Module) -> None:
        self.keep(trainer.global_step, _saving(trainer))
        self.end()

    def on_exception(self, trainer: Any, pl_module: nn.Module, exception: BaseException) -> None:
        self.end(type(exception))


def _saving(trainer: Any) -> Callable[[Path], object]:
    """Every process has to call it. Without what callbacks put into a checkpoint: an average of
    weights would stand in their place."""
    return lambda path: trainer.save_checkpoint(f"{path}.ckpt", weights_only=True)
