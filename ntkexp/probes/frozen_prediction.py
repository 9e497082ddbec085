"""How far a run has moved from what its kernel at one step predicts.

With the kernel of step s frozen, gradient descent with squared error on the full batch has a closed
form (ntkexp/theory/frozen_kernel.py). The difference between it and the real outputs is the effect
of the change of the kernel. For a linearised network it is rounding.

    ntkexp train +exp=disk probe=[frozen_prediction] objective=squared_error
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ntkexp.data.images.options import Augment
from ntkexp.errors import UserError
from ntkexp.objectives.evaluate import outputs_of
from ntkexp.optim.sgd import Sgd
from ntkexp.options import MANY, count, option, whole
from ntkexp.probes.base import Probe, columns
from ntkexp.probes.view import View
from ntkexp.results.table import STEP, Rows, Table, float64, string
from ntkexp.theory.frozen_kernel import FrozenKernel

FROZEN_PREDICTION = Table(
    "frozen_prediction",
    "outputs on a split against what the kernel of one step predicts, as root mean squares: how "
    "far they have moved since that step, how far the prediction has moved, and the difference",
    {
        "step": STEP,
        "split": string("`train` or `test`"),
        "moved": float64("root mean square over examples and outputs, in units of the outputs"),
        "foretold": float64("the same of the closed form"),
        "difference": float64("the same of the outputs less the prediction"),
    },
)


@dataclass
class FrozenPrediction(Probe):
    """The kernel of step `since` (at which there must be a look), on all training examples and on
    the first `examples` of the test set."""

    tables = (FROZEN_PREDICTION,)
    needs = frozenset({"network", "kernel", "examples", "training"})
    looks_at = frozenset()

    since: int = option(0, whole(0, MANY, "as the step whose kernel is frozen"), "a step of a look")
    examples: int = option(100, count("test examples"), "test examples to predict")

    def __post_init__(self) -> None:
        self._kept: dict[str, Tensor] = {}
        self._frozen: FrozenKernel | None = None

    def check(self, config: Any = None) -> None:
        if (obstacle := self._obstacle(config)) is not None:
            raise UserError(
                f"probe.frozen_prediction: no closed form for {obstacle[0]}; expected {obstacle[1]}"
            )
        if config.probing.spacing == "list" and self.since not in config.probing.steps:
            raise UserError(
                f"probe.frozen_prediction.since={self.since}: no look is there; expected one of "
                f"probing.steps={list(config.probing.steps)}"
            )

    def _obstacle(self, config: Any) -> tuple[str, str] | None:
        """The first option without a closed form and the one that is accepted, or None."""
        optim = config.optim
        if config.objective.name != "squared_error":
            return f"objective={config.objective.name}", "objective=squared_error"
        if not isinstance(optim, Sgd):
            return f"optim={optim.name}", "optim=sgd"
        if optim.batch_size is not None:
            return f"optim.batch_size={optim.batch_size}", "optim.batch_size=null"
        if optim.weight_decay:
            return f"optim.weight_decay={optim.weight_decay:g}", "optim.weight_decay=0"
        if optim.schedule != "constant":
            return f"optim.schedule={optim.schedule}", "optim.schedule=constant"
        if self.since and optim.momentum:
            return f"optim.momentum={optim.momentum:g} at a later step", "since=0, or no momentum"
        if getattr(config.data, "augment", Augment.none) is not Augment.none:
            return f"data.augment={config.data.augment}", "data.augment=none"
        return None

    def measure(self, view: View) -> Rows:
        if view.step < self.since or (view.step > self.since and not self._kept):
            return {}
        if view.step == self.since and not self._kept:
            self._freeze(view)
        assert view.descent is not None
        frozen, kept = self._eigenvectors(), self._kept
        examples = len(kept["train"])
        a = frozen.descent(
            view.step - self.since,
            eta=view.descent.rate / examples,
            momentum=view.descent.momentum,
        )
        start = kept["test"].double().cpu().numpy()
        predicted = {
            "train": frozen.outputs(a),
            "test": frozen.outputs(a, kept["to_train"].double().cpu().numpy(), start),
        }
        rows: list[tuple[object, ...]] = []
        for split, expected in predicted.items():
            begun = kept[split].double().cpu().numpy()
            now = self._outputs(view, split).double().cpu().numpy()
            gaps = (now - begun, expected - begun, now - expected)
            rows.append((split, *(float(np.sqrt(np.mean(gap**2))) for gap in gaps)))
        return {"frozen_prediction": columns(FROZEN_PREDICTION, rows)}

    def _freeze(self, view: View) -> None:
        self._kept = {split: self._outputs(view, split) for split in ("train", "test")}
        rows = self._kept["train"].numel()
        inputs = [view.examples("train").inputs, view.examples("test").inputs[: self.examples]]
        gram = view.kernel_on(torch.cat(inputs)).gram
        targets = view.examples("train").targets
        self._kept["kernel"], self._kept["to_train"] = gram[:rows, :rows], gram[rows:, :rows]
        self._kept["labels"] = view.objective.label_matrix(targets).to(gram.dtype)

    def _eigenvectors(self) -> FrozenKernel:
        """The eigenvectors of the frozen kernel, computed once in a process."""
        if self._frozen is None:
            tensors = (self._kept[name].double().cpu() for name in ("kernel", "train", "labels"))
            self._frozen = FrozenKernel.of(*(tensor.numpy() for tensor in tensors))
        return self._frozen

    def _outputs(self, view: View, split: str) -> Tensor:
        inputs = view.examples(split).inputs
        return outputs_of(view.network(), inputs if split == "train" else inputs[: self.examples])

    def state(self) -> dict[str, Any]:
        return {"kept": {name: part.clone() for name, part in self._kept.items()}}

    def restore(self, state: dict[str, Any]) -> None:
        self._kept = state["kept"]
