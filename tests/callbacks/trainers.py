"""Trainers that the callbacks follow: stand-ins that call them as the real ones do, and these.

Each trains `Net` by batches of ten, and goes on from where it stopped when it is asked to.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

DRAW = torch.Generator().manual_seed(0)
X, Y = torch.randn(40, 6, generator=DRAW), torch.randint(0, 3, (40,), generator=DRAW)
BATCHES = [slice(start, start + 10) for start in range(0, 40, 10)]
Fit = Callable[..., list[float]]


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.net = nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.Tanh(), nn.Linear(8, 3))

    def forward(self, x: Tensor) -> Tensor:
        outputs: Tensor = self.net(x)
        return outputs


class StandIn:
    """The hooks of a trainer, none of which does anything; and how often `step` had been called
    when a batch ended, with its loss."""

    def __init__(self) -> None:
        self.network, self.step, self.losses = Net(), 0, list[float]()
        self.optimiser = torch.optim.SGD(self.network.parameters(), 0.1)

    def train(self, last: int, accumulate: int, ended: Callable[[Tensor], None]) -> None:
        number = self.step * accumulate
        while self.step < last:
            rows = BATCHES[number % len(BATCHES)]
            loss = cross_entropy(self.network(X[rows]), Y[rows])
            (loss / accumulate).backward()
            self.losses.append(loss.item())
            number += 1
            if number % accumulate == 0:
                self.optimiser.step()
                self.optimiser.zero_grad()
                self.step += 1
            ended(loss)


def lightning_stand_in(monkeypatch: pytest.MonkeyPatch, folder: Path) -> Fit:
    _install(monkeypatch, "lightning", {"Callback": type("Callback", (), {})}, inside="pytorch")
    trained = [StandIn()]

    def fit(callback: Any, last: int, *, accumulate: int = 1, goes_on: bool = False,
            fails_at: int = 0) -> list[float]:  # fmt: skip
        if not goes_on:
            trained[0] = StandIn()
        of = trained[0]
        trainer = SimpleNamespace(accumulate_grad_batches=accumulate, global_step=of.step)
        module: Any = of.network
        module.automatic_optimization = True

        def save(path: str, *, weights_only: bool) -> None:
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            weights = dict(module.state_dict())
            torch.save({"state_dict": weights, "global_step": of.step}, path)

        def ended(loss: Tensor) -> None:
            trainer.global_step = of.step
            if of.step == fails_at > 0:
                raise KeyboardInterrupt
            outputs = {"loss": loss.detach() / accumulate}
            callback.on_train_batch_end(trainer, module, outputs, None, 0)

        trainer.save_checkpoint = save
        try:
            callback.on_train_start(trainer, module)
            of.train(last, accumulate, ended)
        except BaseException as error:
            callback.on_exception(trainer, module, error)
            raise
        callback.on_train_end(trainer, module)
        return of.losses

    return fit


def hugging_face_stand_in(monkeypatch: pytest.MonkeyPatch, folder: Path) -> Fit:
    _install(monkeypatch, "transformers", {"TrainerCallback": type("TrainerCallback", (), {})})
    trained = [StandIn()]

    def fit(callback: Any, last: int, *, accumulate: int = 1, goes_on: bool = False,
            fails_at: int = 0) -> list[float]:  # fmt: skip
        if not goes_on:
            trained[0] = StandIn()
        of = trained[0]
        state = SimpleNamespace(global_step=of.step, is_world_process_zero=True)
        control, model = SimpleNamespace(), of.network

        def ended(loss: Tensor) -> None:
            if of.step == state.global_step:
                return
            state.global_step = of.step
            if of.step == fails_at > 0:
                raise KeyboardInterrupt
            callback.on_step_end(None, state, control, model=model, optimizer=None)

        callback.on_train_begin(None, state, control, model=model, optimizer=None)
        of.train(last, accumulate, ended)
        callback.on_train_end(None, state, control, model=model, optimizer=None)
        return of.losses

    return fit


def lightning(monkeypatch: pytest.MonkeyPatch, folder: Path) -> Fit:
    _mend_torchvision()
    L = pytest.importorskip("lightning", reason="no lightning: pip install 'ntkexp[lightning]'")
    from torch.utils.data import DataLoader, TensorDataset

    class Module(L.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.net, self.losses = Net().net, list[float]()

        def forward(self, x: Tensor) -> Tensor:
            outputs: Tensor = self.net(x)
            return outputs

        def training_step(self, batch: tuple[Tensor, Tensor]) -> Tensor:
            loss = cross_entropy(self(batch[0]), batch[1])
            self.losses.append(loss.item())
            return loss

        def configure_optimizers(self) -> Any:
            return torch.optim.SGD(self.parameters(), 0.1)

    class Interrupting(L.Callback):
        def __init__(self, at: int) -> None:
            self.at = at

        def on_train_batch_end(self, trainer: Any, *more: Any) -> None:
            if trainer.global_step == self.at:
                raise KeyboardInterrupt

    def fit(callback: Any, last: int, *, accumulate: int = 1, goes_on: bool = False,
            fails_at: int = 0, **options: Any) -> list[float]:  # fmt: skip
        interrupting = [Interrupting(fails_at)] if fails_at else []
        trainer = L.Trainer(
            max_steps=last, accelerator="cpu", devices=1, logger=False, default_root_dir=folder,
            enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False,
            accumulate_grad_batches=accumulate, callbacks=[*interrupting, callback], **options,
        )  # fmt: skip
        loader, module = DataLoader(TensorDataset(X, Y), batch_size=10), Module()
        try:
            trainer.fit(module, loader, ckpt_path=folder / "last.ckpt" if goes_on else None)
        except SystemExit:
            if fails_at:
                raise KeyboardInterrupt from None  # as Lightning ends after one
            raise
        trainer.save_checkpoint(folder / "last.ckpt")
        return module.losses

    return fit


def hugging_face(monkeypatch: pytest.MonkeyPatch, folder: Path) -> Fit:
    _mend_torchvision()
    hf = pytest.importorskip(
        "transformers", reason="no transformers: pip install 'ntkexp[transformers]'"
    )
    pytest.importorskip("accelerate")

    class Model(Net):
        def forward(self, x: Tensor, labels: Tensor | None = None) -> Any:
            logits = self.net(x)
            return {"logits": logits} | (
                {} if labels is None else {"loss": cross_entropy(logits, labels)}
            )

    class Interrupting(hf.TrainerCallback):
        def __init__(self, at: int) -> None:
            self.at = at

        def on_step_end(self, args: Any, state: Any, control: Any, **more: Any) -> None:
            if state.global_step == self.at:
                raise KeyboardInterrupt

    rows = [{"x": x, "labels": y} for x, y in zip(X, Y, strict=True)]

    def fit(callback: Any, last: int, *, accumulate: int = 1, goes_on: bool = False,
            fails_at: int = 0, **options: Any) -> list[float]:  # fmt: skip
        arguments = hf.TrainingArguments(
            output_dir=str(folder / "hf"), max_steps=last, use_cpu=True, report_to=[],
            per_device_train_batch_size=10, disable_tqdm=True, save_strategy="steps",
            save_steps=last, gradient_accumulation_steps=accumulate, **options,
        )  # fmt: skip
        interrupting = [Interrupting(fails_at)] if fails_at else []
        trainer = hf.Trainer(
            Model(), arguments, train_dataset=rows, callbacks=[*interrupting, callback]
        )
        trainer.train(resume_from_checkpoint=goes_on or None)
        return []

    return fit


def _mend_torchvision() -> None:
    """Both import it, and it does not import beside a torch that it was not built for."""
    from ntkexp.data.images.torchvision import torchvision_datasets

    torchvision_datasets()


def _install(
    monkeypatch: pytest.MonkeyPatch, name: str, content: dict[str, Any], inside: str = ""
) -> None:
    """Have a package of this name, with these in it, and our callback made anew beside it."""
    package = ModuleType(name)
    monkeypatch.setitem(sys.modules, name, package)
    if inside:
        package = ModuleType(f"{name}.{inside}")
        monkeypatch.setitem(sys.modules, f"{name}.{inside}", package)
    vars(package).update(content)
    for home in ("lightning", "huggingface"):
        monkeypatch.delitem(sys.modules, f"ntkexp.callbacks.{home}", raising=False)
