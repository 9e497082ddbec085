"""The function whose kernel is asked for: a model, the outputs chosen, the parameters varied."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from math import isfinite
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.graph import Node
from torch.func import functional_call

from ntkexp.errors import UserError
from ntkexp.tangent.batch import Batch, Inputs, mapped, parts_of
from ntkexp.tangent.graph import output_shape, walk
from ntkexp.tangent.lstm import LSTMByStep, has_fused_lstm
from ntkexp.tangent.models import refuse_unsupported, trainable
from ntkexp.tangent.state import Watch, layer_at_work

Outputs = Sequence[int] | Tensor | Callable[[Any], Tensor] | Callable[[Any, Tensor], Tensor] | None
INTEGERS = (torch.int8, torch.int16, torch.int32, torch.int64, torch.uint8)
TAKE_INDICES = (
    "let it take (f, indices), where indices are the positions of the examples of f in the batch "
    "that was given"
)
# What a forward may end with.
FAILURES = (RuntimeError, ValueError, TypeError, IndexError, AssertionError)
CHANNELS_LAST = {4: torch.channels_last, 5: torch.channels_last_3d}


class NetworkFunction:
    """f: a batch -> (n, k), differentiable by `parameters`.

    Every forward of the package but those of a shared training step goes through here, with the
    errors of a forward in one line.
    """

    def __init__(self, model: nn.Module, outputs: Outputs = None) -> None:
        refuse_unsupported(model)
        self.model, self.outputs = model, outputs
        self.parameters = trainable(model)
        self.device = next(iter(self.parameters.values())).device
        self._lstm: Any = LSTMByStep() if has_fused_lstm(model) else nullcontext()

    def __call__(self, batch: Batch, *, watched: bool = False) -> Tensor:
        """(n, k). The model gets a copy of the inputs, which it may overwrite.

        A watched forward is refused where it would do harm (state.py).
        """
        inputs = mapped(batch.inputs, torch.clone)
        with Watch(self.model) if watched else nullcontext():
            values = chosen(self._forward(inputs, None), self.outputs, batch.indices)
        _mend_batches_of_one(values)
        return values

    def at(
        self,
        weights: Mapping[str, Tensor],
        batch: Batch,
        watch: Watch,
        *,
        double: bool = False,
    ) -> Tensor:
        """(n, k), without a graph, with other tensors in the place of some parameters.

        `double` computes in float64.
        """
        inputs = mapped(batch.inputs, torch.clone)
        if double:
            named = [*self.model.named_parameters(), *self.model.named_buffers()]
            weights = {n: _double(value) for n, value in (dict(named) | dict(weights)).items()}
            inputs = mapped(inputs, _double)
        with watch:
            return chosen(self._forward(inputs, weights), self.outputs, batch.indices).detach()

    def of_one_example(
        self, parameters: Mapping[str, Tensor], example: Inputs, index: Tensor
    ) -> Tensor:
        """(k,), as a function of parameters given by name: for torch.func."""
        raw = self._forward(mapped(example, lambda part: part.unsqueeze(0).clone()), parameters)
        return select(raw, self.outputs, index.unsqueeze(0))[0]

    def _forward(self, inputs: Inputs, parameters: Mapping[str, Tensor] | None) -> object:
        """The model's outputs; an error is raised again as one line with layer and reason."""
        try:
            with self._lstm:
                words = dict(inputs) if isinstance(inputs, Mapping) else {}
                given = (inputs,) if isinstance(inputs, Tensor) else () if words else tuple(inputs)
                if parameters is None:
                    return self.model(*given, **words)
                return functional_call(self.model, dict(parameters), given, words)
        except UserError:
            raise
        except FAILURES as error:
            if parameters:
                raise  # what vmap cannot follow is done without it
            reason = str(error).strip().partition("\n")[0] or type(error).__name__
            shapes = " and ".join(
                f"{tuple(part.shape)} of type {str(part.dtype).removeprefix('torch.')}"
                for part in parts_of(inputs)
            )
            where = layer_at_work(self.model, error)
            raise UserError(f"{where}: the forward fails on inputs {shapes}: {reason}") from error


def _double(value: Tensor) -> Tensor:
    """The same numbers in float64; whole numbers and masks stay as they are."""
    if value.is_complex():
        return value.detach().to(torch.complex128)
    return value.detach().double() if value.is_floating_point() else value.detach()


def _mend_batches_of_one(outputs: Tensor) -> None:
    """Have every batch norm of one example get gradients that torch can read.

    For one example the stride of the batch axis is arbitrary. Where the gradient has its channels
    last and not the stride that usually goes with that, torch's backward of batch norm takes it for
    one with its channels first (2.13, on a CPU). Instance norm is the batch norm of a batch of one.
    """

    def usual_strides(grads: tuple[Tensor, ...]) -> tuple[Tensor, ...] | None:
        if grads[0] is None:
            return None
        return grads[0].clone(memory_format=CHANNELS_LAST[grads[0].dim()]), *grads[1:]

    def wants(node: Node) -> bool:
        shape = output_shape(node)
        return len(shape) in CHANNELS_LAST and shape[0] == 1

    for node in walk(outputs):
        if node.name() == "NativeBatchNormBackward0" and wants(node):
            node.register_prehook(usual_strides)


def takes_indices(outputs: Callable[..., Tensor]) -> bool:
    """Whether a function of the outputs wants the examples' indices beside them.

    >>> takes_indices(lambda f: f[:, 0]), takes_indices(lambda f, indices: f[:, 0])
    (False, True)
    """
    try:
        parameters = inspect.signature(outputs).parameters.values()
    except (TypeError, ValueError):  # a function written in C says nothing about itself
        return False
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    needed = [p for p in parameters if p.kind in positional and p.default is p.empty]
    return len(needed) >= 2


def chosen(raw: Any, outputs: Outputs, indices: Tensor) -> Tensor:
    """The model's (n, c) outputs -> the (n, k) functions whose gradients are the features.

    `outputs` is None (all classes), a list of classes, or a function of what the model returns:

    >>> logits, labels = torch.tensor([[1.0, 2.0, 4.0]]), torch.tensor([1])
    >>> chosen(logits, lambda f: f[:, 2] - f[:, 0], torch.arange(1))
    tensor([[3.]])
    >>> chosen(logits, lambda f, i: f.gather(1, labels[i, None]), torch.arange(1))
    tensor([[2.]])
    """
    if not callable(outputs) and not isinstance(raw, Tensor):
        raise UserError(
            f"the model returns a {type(raw).__name__}; a tensor (n, c) is needed, which outputs= "
            "may take out of it, as outputs=lambda found: found[0]"
        )
    picked = select(raw, outputs, indices) if callable(outputs) else _matrix(raw)
    whose = "outputs= of the model's output" if callable(outputs) else "the model's output"
    if picked.dim() != 2 or picked.shape[0] != len(indices) or picked.shape[1] == 0:
        raise UserError(
            f"{whose} has shape {tuple(picked.shape)} for {len(indices)} inputs; (n, c) is needed"
        )
    if not picked.is_floating_point():
        raise UserError(f"{whose} has type {picked.dtype}; a real float is needed")
    if outputs is not None and not callable(outputs):
        picked = picked[:, _classes(outputs, picked.shape[1], picked.device)]
    # One sum is quicker than a look at each number, and finite unless some number is not (or huge).
    if not isfinite(picked.detach().sum().item()) and not bool(torch.isfinite(picked).all()):
        bad = int(indices[(~torch.isfinite(picked)).any(1).nonzero()[0]])
        raise UserError(f"the model's output for input {bad} is not finite (NaN or infinity)")
    return picked


def check_finite(gram: Tensor) -> None:
    """Gradients of finite outputs may be too large to be multiplied."""
    if not isfinite(gram.sum().item()) and not bool(torch.isfinite(gram).all()):
        raise UserError(
            f"entries of the kernel are not finite: too large for {gram.dtype}; a wider type may "
            "hold them, as model.double() does"
        )


def select(raw: Any, outputs: Outputs, indices: Tensor) -> Tensor:
    """`chosen` without the checks of values: inside vmap there are no values to check."""
    if outputs is None:
        return _matrix(raw)
    if not callable(outputs):
        return _matrix(raw)[:, torch.as_tensor(outputs, device=raw.device)]
    arguments = (raw, indices) if takes_indices(outputs) else (raw,)
    try:
        picked = outputs(*arguments)
    except (RuntimeError, IndexError, KeyError, TypeError, AttributeError) as error:
        reason = str(error).partition("\n")[0]
        raise UserError(
            f"outputs= fails on the outputs of {len(indices)} examples ({reason}); if it needs to "
            f"know which examples they are, {TAKE_INDICES}"
        ) from error
    if not isinstance(picked, Tensor):
        raise UserError(f"outputs= returns a {type(picked).__name__}; a tensor is needed")
    return _matrix(picked)


def _matrix(values: Tensor) -> Tensor:
    """(n,) is one output."""
    return values.unsqueeze(1) if values.dim() == 1 else values


def _classes(outputs: Sequence[int] | Tensor, count: int, device: torch.device) -> Tensor:
    accepted = "a list of classes or a function is accepted"
    try:
        classes = torch.as_tensor(outputs, device=device)
    except (TypeError, ValueError, RuntimeError) as error:
        raise UserError(f"outputs={outputs!r}: {accepted}") from error
    # A mask would be taken for the classes 1 and 0.
    if classes.dim() != 1 or classes.numel() == 0 or classes.dtype not in INTEGERS:
        raise UserError(f"outputs={outputs!r}: {accepted}")
    if int(classes.min()) < 0 or int(classes.max()) >= count:
        raise UserError(f"outputs={classes.tolist()}: the model's classes are 0 to {count - 1}")
    return classes
