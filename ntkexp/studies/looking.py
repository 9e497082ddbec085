"""A network of other code as probes see it: given examples, some outputs, and how well it does."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from ntkexp import checkpoint, components
from ntkexp.data.dataset import Dataset, Split
from ntkexp.errors import UserError, first_line
from ntkexp.foreign.wrapped import as_written
from ntkexp.objectives.base import Loss, Objective
from ntkexp.objectives.evaluate import evaluate
from ntkexp.probes import Probe
from ntkexp.probes.how_many import settle_for
from ntkexp.probes.view import Batch, NetworkView, View, evaluating
from ntkexp.seeds import generator
from ntkexp.studies.stepped import SteppedWork
from ntkexp.tangent import TangentFeatures, TangentKernel, summed_kernel
from ntkexp.tangent.batch import mapped

EVALUATED_AT_ONCE = 500
# Objectives that take whole numbers for classes, from 0.
OF_CLASSES = ("cross_entropy", "usual", "binary", "squared_error")


class LookedAt(SteppedWork):
    """A work whose steps other code makes. Its table `evals` is on all examples, its probes look at
    the first `examples`, and refuse fewer if `strict`; `picked` says of which outputs the kernel is
    (ntkexp/studies/checkpoints.py)."""

    offers = frozenset({"outputs", "network", "layers", "activations", "kernel", "labels",
                        "examples"})  # fmt: skip

    def __init__(
        self,
        network: nn.Module,
        splits: Mapping[str, Split],
        built: Mapping[str, Probe],
        objective: str,
        *,
        examples: int,
        last: int,
        strict: bool = True,
        seed: int = 0,
        picked: str = "all",
    ) -> None:
        super().__init__(last, seed)
        kind = next(network.parameters()).dtype  # examples come in float32
        splits = {
            name: replace(split, inputs=_typed(split.inputs, kind))
            for name, split in splits.items()
        }
        self.network, self.splits, self.picked = network, splits, picked
        wanted = sorted({name for probe in built.values() for name in probe.batches()})
        self.batches = {name: first(splits, name, examples, strict) for name in wanted}
        with self.as_seen():
            self.outputs = _outputs(network, splits["train"].inputs)
        if objective in OF_CLASSES:
            refuse_labels(splits, self.outputs)
        targets = splits["train"].targets
        if picked == "label" and (self.outputs == 1 or targets.is_floating_point()):
            raise UserError(
                f"study.outputs=label: the network gives {self.outputs} outputs for labels of "
                f"{_kind(targets)}; expected two outputs or more, and classes"
            )
        classes = None if targets.is_floating_point() else max(self.outputs, 2)
        if objective == "usual" and classes == self.outputs:  # also of two classes, each its own
            objective = "cross_entropy"
        chosen = components.made("objective", objective, {}, "study.objective")
        assert isinstance(chosen, Objective)
        self.objective = chosen.build(targets, classes)
        if self.outputs != self.objective.outputs:
            raise UserError(
                f"the network gives {self.outputs} outputs; objective={objective} takes "
                f"{self.objective.outputs} for labels of {_kind(targets)}"
                + "; expected whole numbers where they are classes"
                * targets.is_floating_point()
            )
        inputs = tuple(splits["train"].inputs.shape[1:])
        self.dataset = Dataset("foreign", splits["train"], splits["test"], classes, inputs, {})

    @contextmanager
    def looked_at(self, event: str | None, *, scheduled: bool) -> Iterator[Sequence[View]]:
        with evaluating(self.network), self.as_seen():
            for name, split in self.splits.items():
                measured = evaluate(self.network, split, self.objective, examples=None,
                                    batch_size=EVALUATED_AT_ONCE)  # fmt: skip
                for subset, (loss, accuracy) in measured.items():
                    self.write("evals", {"step": self.step, "split": name, "subset": subset,
                                         "loss": loss, "accuracy": accuracy})  # fmt: skip
            yield [self.view(self.step)]

    @contextmanager
    def as_seen(self) -> Iterator[None]:
        """Inside, the network is as its author wrote it, but takes a tensor and gives one, whatever
        it takes and gives outside."""
        whole: Any = getattr(self.splits["train"], "whole", None)

        def arguments(module: nn.Module, numbers: Any, words: Any) -> Any:
            kind = next(module.parameters()).dtype
            rows = mapped(whole, lambda part: _typed(part[numbers[0]], kind))
            return ((), rows) if isinstance(rows, Mapping) else (rows, {})

        hooks = [self.network.register_forward_hook(_tensor_alone)]
        if whole is not None:
            hooks.append(self.network.register_forward_pre_hook(arguments, with_kwargs=True))
        try:
            with as_written(self.network):
                yield
        finally:
            for hook in hooks:
                hook.remove()

    def view(self, step: int) -> View:
        facts = {"step": step, "seed": self.seed, "last": self.over, "batches": self.batches}
        return PickedView(self.network, self.dataset, self.objective, picked=self.picked, **facts)


def refuse_labels(splits: Mapping[str, Split], outputs: int) -> None:
    """Refuse labels that are no classes of a network with so many outputs."""
    for name, split in splits.items():
        labels = split.targets
        if labels.is_floating_point():
            continue
        if labels.ndim != 1:
            raise UserError(
                f"{name}: labels are {labels.dtype} of shape {tuple(labels.shape)}; expected a "
                "class for each example, as a whole number"
            )
        classes = max(outputs, 2)
        if labels.min() < 0 or labels.max() >= classes:
            raise UserError(
                f"{name}: labels go from {labels.min()} to {labels.max()}; the network has "
                f"{outputs} output{'s' * (outputs > 1)}, expected 0 to {classes - 1}, or floats "
                "where they are numbers"
            )


class PickedView(NetworkView):
    """A network with the kernel of some of its outputs."""

    def __init__(
        self, model: nn.Module, dataset: Dataset, objective: Loss, *, picked: str, **facts: Any
    ) -> None:
        super().__init__(model, dataset, objective, **facts)
        self.picked, self._chosen = picked, None
        if picked.isdigit() and int(picked) < objective.outputs:
            drawn = torch.randperm(objective.outputs, generator=generator(self.seed, "outputs"))
            self._chosen = sorted(drawn[: int(picked)].tolist())

    def _as_numbers(self, targets: Tensor) -> Any:
        labels = super()._as_numbers(targets)
        return labels if self._chosen is None else labels[:, self._chosen]

    def _kernels_of_module(self) -> Mapping[str, TangentKernel]:
        inputs = {name: batch.inputs for name, batch in self.batches.items()}
        if self.picked == "trace":
            return {name: summed_kernel(self._model, x) for name, x in inputs.items()}
        if self.picked == "label":
            return {
                name: TangentFeatures(self._model, outputs=_own_label(batch.targets)).kernel(
                    batch.inputs
                )
                for name, batch in self.batches.items()
            }
        return TangentFeatures(self._model, outputs=self._chosen).kernels(inputs)


def _own_label(targets: Tensor) -> Any:
    return lambda outputs, numbers: outputs.gather(1, targets[numbers, None])


def _tensor_alone(module: nn.Module, inputs: Any, outputs: Any) -> Any:
    """The logits of what a network of Hugging Face returns, of a tuple the first."""
    if isinstance(outputs, Tensor):
        return None
    if isinstance(outputs, Mapping) and "logits" in outputs:
        return outputs["logits"]
    if isinstance(outputs, tuple | list) and outputs and isinstance(outputs[0], Tensor):
        return outputs[0]
    raise UserError(f"the network gives a {type(outputs).__name__}; expected a tensor or logits")


def first(splits: Mapping[str, Split], name: str, count: int, strict: bool) -> Batch:
    """The first examples of a split, or of a subset of the training examples."""
    split = splits["test" if name == "test" else "train"]
    subsets = split.subsets()
    subset = "all" if name in splits else name
    if subset not in subsets:
        raise UserError(
            f"a probe looks at the subset {name}; there are {', '.join(subsets)}; expected other "
            f"probes, or a mask of this name in the data"
        )
    numbers = subsets[subset].nonzero()[:count, 0]
    settle_for(len(numbers), count, name, strict=strict or name not in splits)
    clean = split.clean_targets[numbers] if bool(split.corrupted[numbers].any()) else None
    return Batch(split.inputs[numbers], split.targets[numbers], clean)


def _typed(part: Tensor, kind: torch.dtype) -> Tensor:
    return part.to(kind) if part.is_floating_point() else part


def _kind(targets: Tensor) -> str:
    return str(targets.dtype).removeprefix("torch.")


def _outputs(network: nn.Module, inputs: Tensor) -> int:
    with evaluating(network), torch.no_grad():
        try:
            outputs = network(inputs[:2])
        except UserError:  # of what it gives
            raise
        except (RuntimeError, TypeError, ValueError, IndexError) as error:
            raise UserError(
                f"the network does not take the inputs ({first_line(error)})"
            ) from error
    if outputs.dim() != 2:
        raise UserError(f"the network gives {tuple(outputs.shape)} for 2 examples; expected (2, c)")
    return int(outputs.shape[1])


def on_device(split: Split, device: torch.device) -> Split:
    return replace(split, **checkpoint.on_device(vars(split), device))
