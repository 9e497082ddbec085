"""The tangent kernels of checkpoints that other code made, in the tables of a training run.

    ntkexp probe --model lit:Net --checkpoints 'ck/*.ckpt' --data lit:load --name mine

The kernel may be that of some outputs only, of each example's own label, or the sum over outputs:
with many classes the whole kernel does not fit.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import torch
from torch import Tensor, nn

from ntkexp import components, probes
from ntkexp.components import imported
from ntkexp.data.dataset import Dataset, Split
from ntkexp.errors import UserError, first_line
from ntkexp.foreign.examples import checksums, examples
from ntkexp.foreign.weights import Reader, file_of, load_into, steps_of
from ntkexp.objectives.base import Loss, Objective
from ntkexp.objectives.evaluate import EVALS, evaluate
from ntkexp.options import Rule, option
from ntkexp.probes.view import Batch, NetworkView, View, evaluating
from ntkexp.results.table import Table
from ntkexp.seeds import generator
from ntkexp.studies.base import Study
from ntkexp.studies.stepped import SteppedWork
from ntkexp.tangent import TangentFeatures, TangentKernel, summed_kernel

if TYPE_CHECKING:
    from ntkexp.training.place import Place
    from ntkexp.training.work import Kept

WORDS = ("all", "label", "trace")
PICKED = Rule(
    lambda value: value in WORDS or (value.isdigit() and int(value) > 0),
    "all, label, trace or how many outputs",
)
EVALUATED_AT_ONCE = 500


@dataclass
class Checkpoints(Study):
    """`model` is a class or function without arguments, MODULE:NAME; `data` says ntkexp/foreign/
    examples.py. `outputs`: so many, drawn at random, each example's own `label`, or their `trace`.
    """

    tables: ClassVar[tuple[Table, ...]] = (EVALS,)
    how: ClassVar = frozenset({"allow", "trust"})

    model: str = option("", about="MODULE:NAME that gives the network")
    checkpoints: list[str] = option([], about="the files")
    data: str = option("", about="the examples to look at")
    objective: str = option("usual", about="cross_entropy, binary or squared_error")
    steps: list[int] = option([], about="steps of the files, in their order")
    outputs: str = option("all", PICKED, "outputs of the kernel: all, label, trace or how many")
    allow: list[str] = option([], about="classes that a checkpoint may make")
    trust: bool = option(False, about="read checkpoints that run code")
    seed: int = option(0, about="decides which outputs are drawn")

    def check(self, config: Any = None) -> None:
        for key in ("model", "checkpoints", "data"):
            if not getattr(self, key):
                raise UserError(
                    f"study.{key}: is not given; ntkexp probe --help says what it may be"
                )

    def files(self) -> Mapping[str, str]:
        files = [file_of(Path(name)) for name in self.checkpoints]
        read = {str(file): hashlib.sha256(file.read_bytes()).hexdigest() for file in files}
        return read | checksums(self.data, self.seed)

    def work(self, place: Place) -> Reading:
        network = made(self.model).to(place.device)
        splits = {
            name: _on(split, place.device) for name, split in examples(self.data, self.seed).items()
        }
        return Reading(self, network, splits, place)


class Reading(SteppedWork):
    """Goes from checkpoint to checkpoint; its steps are those at which they were kept."""

    offers = frozenset({"outputs", "network", "layers", "activations", "kernel", "labels",
                        "examples"})  # fmt: skip

    def __init__(
        self, study: Checkpoints, network: nn.Module, splits: Mapping[str, Split], place: Place
    ) -> None:
        self.reader = Reader(study.allow, study.trust)
        self.paths = steps_of([Path(name) for name in study.checkpoints], study.steps, self.reader)
        super().__init__(last=max(self.paths), seed=study.seed)
        self.step = self.loaded = min(self.paths)
        load_into(network, self.paths[self.step], self.reader)  # refused before there is a folder
        self.network, self.splits, self.picked = network, splits, study.outputs
        built = probes.build(place.config.probe)
        wanted = sorted({name for probe in built.values() for name in probe.batches()})
        self.batches = {name: first(splits, name, place.config.probing.examples) for name in wanted}
        count = _outputs(network, splits["train"].inputs)
        objective = components.made("objective", study.objective, {}, "study.objective")
        assert isinstance(objective, Objective)
        classes = None if splits["train"].targets.is_floating_point() else max(count, 2)
        self.objective = objective.build(splits["train"].targets, classes)
        if count != self.objective.outputs:
            raise UserError(
                f"--model {study.model}: gives {count} outputs; objective={study.objective} takes "
                f"{self.objective.outputs}"
            )
        inputs = tuple(splits["train"].inputs.shape[1:])
        self.dataset = Dataset("foreign", splits["train"], splits["test"], classes, inputs, {})
        self.remarks = () if study.outputs == "all" else (_told(study.outputs, count),)

    def advance(self, to: int) -> str | None:
        self.step = min((step for step in self.paths if step > self.step), default=self.last)
        return None

    @contextmanager
    def looked_at(self, event: str | None, *, scheduled: bool) -> Iterator[Sequence[View]]:
        if self.loaded != self.step:
            load_into(self.network, self.paths[self.step], self.reader)
            self.loaded = self.step
        with evaluating(self.network):
            for name, split in self.splits.items():
                found = evaluate(self.network, split, self.objective, examples=None,
                                 batch_size=EVALUATED_AT_ONCE)  # fmt: skip
                for subset, (loss, accuracy) in found.items():
                    self.write("evals", {"step": self.step, "split": name, "subset": subset,
                                         "loss": loss, "accuracy": accuracy})  # fmt: skip
            yield [self.view(self.step)]

    def view(self, step: int) -> View:
        facts = {"step": step, "seed": self.seed, "last": self.over, "batches": self.batches}
        return PickedView(self.network, self.dataset, self.objective, picked=self.picked, **facts)

    def state(self) -> dict[str, Any]:
        return {"step": self.step}

    def restore(self, state: dict[str, Any], kept: Kept) -> None:
        self.step = state["step"]


class PickedView(NetworkView):
    """A network with the kernel of some of its outputs."""

    def __init__(
        self, model: nn.Module, dataset: Dataset, objective: Loss, *, picked: str, **facts: Any
    ) -> None:
        super().__init__(model, dataset, objective, **facts)
        self.picked, self._some = picked, None
        if picked.isdigit() and int(picked) < objective.outputs:
            drawn = torch.randperm(objective.outputs, generator=generator(self.seed, "outputs"))
            self._some = sorted(drawn[: int(picked)].tolist())

    def _as_numbers(self, targets: Tensor) -> Any:
        labels = super()._as_numbers(targets)
        return labels if self._some is None else labels[:, self._some]

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
        return TangentFeatures(self._model, outputs=self._some).kernels(inputs)


def _own_label(targets: Tensor) -> Any:
    return lambda outputs, numbers: outputs.gather(1, targets[numbers, None])


def made(name: str) -> nn.Module:
    """The network of a class or function without arguments; its outputs are a tensor."""
    maker = imported(f"--model {name}", name.replace(":", "."))
    try:
        network = maker()
    except TypeError as error:
        raise UserError(
            f"--model {name}: {first_line(error)}; expected a class or function without arguments"
        ) from error
    if not isinstance(network, nn.Module):
        raise UserError(f"--model {name}: gives a {type(network).__name__}; expected a Module")
    network.register_forward_hook(_tensor_alone)
    return network


def _tensor_alone(module: nn.Module, inputs: Any, outputs: Any) -> Any:
    """The logits of what a network of Hugging Face returns, of a tuple the first."""
    if isinstance(outputs, Tensor):
        return None
    if isinstance(outputs, Mapping) and "logits" in outputs:
        return outputs["logits"]
    if isinstance(outputs, tuple | list) and outputs and isinstance(outputs[0], Tensor):
        return outputs[0]
    raise UserError(f"--model: gives a {type(outputs).__name__}; expected a tensor or logits")


def first(splits: Mapping[str, Split], name: str, count: int) -> Batch:
    """The first examples of a split, or of a subset of the training examples."""
    split = splits["test" if name == "test" else "train"]
    subsets = split.subsets()
    subset = "all" if name in splits else name
    if subset not in subsets:
        raise UserError(
            f"--data: a probe looks at the subset {name}; there are {', '.join(subsets)}"
        )
    numbers = subsets[subset].nonzero()[:count, 0]
    if len(numbers) < count:
        raise UserError(f"--examples {count}: there are {len(numbers)} {name} examples")
    clean = split.clean_targets[numbers] if bool(split.corrupted[numbers].any()) else None
    return Batch(split.inputs[numbers], split.targets[numbers], clean)


def _outputs(network: nn.Module, inputs: Tensor) -> int:
    with evaluating(network), torch.no_grad():
        try:
            outputs = network(inputs[:2])
        except (RuntimeError, TypeError, ValueError, IndexError) as error:
            raise UserError(f"--model: does not take the inputs ({first_line(error)})") from error
    if outputs.dim() != 2:
        raise UserError(f"--model: gives {tuple(outputs.shape)} for 2 examples; expected (2, c)")
    return int(outputs.shape[1])


def _on(split: Split, device: torch.device) -> Split:
    parts = {
        name: getattr(split, name).to(device)
        for name in ("inputs", "targets", "clean_targets", "corrupted", "difficult")
    }
    return replace(split, **parts)


def _told(picked: str, count: int) -> str:
    if picked.isdigit():
        return f"kernels of {min(int(picked), count)} of {count} outputs, drawn at random"
    words = {"label": "each example's own label", "trace": f"the sum over {count} outputs"}
    return f"kernels of {words[picked]}"
