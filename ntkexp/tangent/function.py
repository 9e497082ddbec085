"""The function whose kernel is asked for: a model, the outputs chosen, the parameters varied.

Models that have no kernel as this package means it are refused, each in one line.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from itertools import chain
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.graph import Node
from torch.func import functional_call
from torch.nn.modules.batchnorm import _BatchNorm, _NormBase
from torch.nn.modules.dropout import _DropoutNd

from ntkexp.errors import UserError, meant
from ntkexp.tangent.batch import Batch, Inputs, Outputs, chosen, mapped, parts_of, select
from ntkexp.tangent.graph import walk
from ntkexp.tangent.lstm import LSTMByStep
from ntkexp.tangent.operations import output_shape
from ntkexp.tangent.state import Watch, layer_at_work

WAY_OUT = "call model.eval() first, or ask for batch_function=True"
# The errors that a forward may end with.
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
        recurrent = any(isinstance(module, nn.LSTM) for module in model.modules())
        self._lstm: Any = LSTMByStep() if recurrent else nullcontext()
        self._norms = any(isinstance(module, _NormBase) for module in model.modules())

    def __call__(self, batch: Batch) -> Tensor:
        """(n, k). The model gets a copy of the inputs, which it may overwrite."""
        inputs = mapped(batch.inputs, torch.clone)
        values = chosen(self._forward(inputs, None), self.outputs, batch.indices)
        if self._norms:
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
            with self._lstm, uncompiled():
                kwargs = dict(inputs) if isinstance(inputs, Mapping) else {}
                args = (inputs,) if isinstance(inputs, Tensor) else () if kwargs else tuple(inputs)
                if parameters is None:
                    return self.model(*args, **kwargs)
                return called_with(self.model, parameters, args, kwargs)
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


@contextmanager
def uncompiled() -> Iterator[None]:
    """Inside, what torch.compile has compiled runs operation by operation, by the same weights."""
    if "torch._dynamo" not in sys.modules:  # nothing is compiled, and the import takes a second
        yield
        return
    with torch.compiler.set_stance("force_eager"):
        yield


def called_with(
    model: nn.Module,
    tensors: Mapping[str, Tensor],
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any] | None = None,
) -> Any:
    """The model's outputs with other tensors in the place of those of these names.

    A parameter may stand in several places. `functional_call` finds these by their names, so it
    visits a module of two names twice and leaves there what it was given (PyTorch 2.13).
    """
    both = chain(model.named_parameters("", True, False), model.named_buffers("", True, False))
    given = {id(tensor): tensors[name] for name, tensor in both if name in tensors}
    everywhere = {
        f"{where}.{name}".lstrip("."): given[id(tensor)]
        for where, module in model.named_modules()
        for name, tensor in chain(module._parameters.items(), module._buffers.items())
        if id(tensor) in given
    }
    return functional_call(model, everywhere, args, dict(kwargs or {}), tie_weights=False)


def _double(value: Tensor) -> Tensor:
    """The tensor in float64; whole numbers and masks stay as they are."""
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

    def takes_one_example(node: Node) -> bool:
        shape = output_shape(node)
        return len(shape) in CHANNELS_LAST and shape[0] == 1

    for node in walk(outputs):
        if node.name() == "NativeBatchNormBackward0" and takes_one_example(node):
            node.register_prehook(usual_strides)


def refuse_unsupported(model: nn.Module) -> None:
    """Refuse models whose forwards cannot be recorded, or whose weights have no real gradients."""
    for name, module in model.named_modules():
        where = f"layer {name or type(module).__name__}"
        if isinstance(module, torch.jit.ScriptModule):
            raise UserError(f"{where}: TorchScript hides its operations; give the plain module")
        if vars(module).get("scale_grad_by_freq"):
            raise UserError(
                f"{where}: scale_grad_by_freq changes gradients by what else is in the batch; "
                "leave it out"
            )
        if vars(module).get("max_norm") is not None:
            raise UserError(f"{where}: max_norm changes the weights in every forward; leave it out")
    types: dict[torch.dtype, str] = {}
    for name, parameter in model.named_parameters():
        if parameter.is_complex():
            raise UserError(f"parameter {name} is {parameter.dtype}; real weights are needed")
        if parameter.is_floating_point():
            types.setdefault(parameter.dtype, name)
    if len(types) > 1:
        listed = ", ".join(f"{name} is {dtype}" for dtype, name in types.items())
        raise UserError(f"the weights have different types ({listed}); convert them to one")


def trainable(model: nn.Module) -> dict[str, nn.Parameter]:
    """The parameters the kernel is about, each once, under its first name."""
    parameters = {name: p for name, p in model.named_parameters() if p.requires_grad}
    if not parameters:
        raise UserError("the model has no trainable parameters: there is no tangent kernel")
    return parameters


@contextmanager
def only_these(model: nn.Module, names: Sequence[str] | None) -> Iterator[None]:
    """Inside the block only these parameters are trainable: names of parameters or of modules."""
    if names is None:
        yield
        return
    named = [(name, p) for name, p in model.named_parameters(remove_duplicate=False)]
    wanted: set[int] = set()
    for choice in [names] if isinstance(names, str) else names:
        ids = {id(p) for name, p in named if f"{name}.".startswith(f"{choice}.")}
        if not ids:
            modules = dict.fromkeys(name.partition(".")[0] for name, _ in named)
            raise UserError(
                f"parameters={choice!r}: no parameter or module of this name in "
                f"{', '.join(modules)}{meant(choice, [name for name, _ in named])}"
            )
        wanted |= ids
    others = [p for p in trainable(model).values() if id(p) not in wanted]
    for parameter in others:
        parameter.requires_grad_(False)
    try:
        yield
    finally:
        for parameter in others:
            parameter.requires_grad_(True)


def check_shapes(
    argument: str, tensors: Mapping[str, object], parameters: Mapping[str, nn.Parameter]
) -> None:
    """Refuse a tensor of another shape than its parameter: torch might stretch or turn it."""
    for name, value in tensors.items():
        shape = tuple(value.shape) if isinstance(value, Tensor) else f"a {type(value).__name__}"
        if shape != (wanted := tuple(parameters[name].shape)):
            raise UserError(f"{argument} of {name} is {shape}; expected a tensor of shape {wanted}")


def check_examples_independent(model: nn.Module) -> None:
    """Refuse batch statistics and active dropout in one line.

    With either, an example's output depends on the batch or on noise, and gradients of sums over
    examples are no longer sums of per-example gradients. Coupling that no module announces is found
    by comparing outputs (independence.py).
    """
    refuse_coupling(coupling_modules(model))


def coupling_modules(model: nn.Module) -> dict[str, nn.Module]:
    """The modules that couple examples or draw noise in some mode, by name."""
    if not isinstance(model, nn.Module):
        raise UserError(f"a torch.nn.Module is needed, not a {type(model).__name__}")
    return {
        name: module
        for name, module in model.named_modules()
        if isinstance(module, (_BatchNorm, nn.RReLU))
        or (isinstance(module, _DropoutNd) and module.p > 0)
    }


def refuse_coupling(modules: dict[str, nn.Module]) -> None:
    """Refuse the modules, found by `coupling_modules`, that are active now."""
    for name, module in modules.items():
        where = f"layer {name or type(module).__name__}"
        if isinstance(module, _BatchNorm):
            if module.training:
                raise UserError(f"{where}: batch norm in training mode couples examples; {WAY_OUT}")
            if module.running_mean is None:
                raise UserError(
                    f"{where}: batch norm without running statistics couples examples in every "
                    "mode; ask for batch_function=True"
                )
        elif module.training:
            raise UserError(f"{where}: {type(module).__name__} is active and random; {WAY_OUT}")
