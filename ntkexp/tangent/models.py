"""Models that have no tangent kernel as this package means it, each refused in one line."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.modules.dropout import _DropoutNd

from ntkexp.errors import UserError

WAY_OUT = "call model.eval() first, or ask for batch_function=True"


def refuse_unsupported(model: nn.Module) -> None:
    """Models whose forwards cannot be recorded, or whose weights have no real gradients."""
    for name, module in model.named_modules():
        where = f"layer {name or type(module).__name__}"
        if isinstance(module, torch.jit.ScriptModule):
            raise UserError(f"{where}: TorchScript hides its operations; give the plain module")
        if hasattr(module, "_orig_mod") or getattr(module, "_compiled_call_impl", None) is not None:
            raise UserError(
                f"{where}: a compiled module hides its operations; give the one before "
                "torch.compile (model._orig_mod)"
            )
        if getattr(module, "sparse", False) and isinstance(module, nn.Embedding | nn.EmbeddingBag):
            raise UserError(f"{where}: sparse gradients are not supported; build it sparse=False")
        if getattr(module, "scale_grad_by_freq", False):
            raise UserError(
                f"{where}: scale_grad_by_freq changes gradients by what else is in the batch; "
                "leave it out"
            )
        if getattr(module, "max_norm", None) is not None:
            raise UserError(f"{where}: max_norm changes the weights in every forward; leave it out")
    _refuse_types(model)


def _refuse_types(model: nn.Module) -> None:
    types: dict[torch.dtype, str] = {}
    for name, parameter in model.named_parameters():
        if isinstance(parameter, nn.parameter.UninitializedParameter):
            raise UserError(f"parameter {name} is not initialised; run the model once first")
        if parameter.is_meta:
            raise UserError(f"parameter {name} is on the device meta, where nothing has a value")
        if parameter.is_complex():
            raise UserError(f"parameter {name} is {parameter.dtype}; real weights are needed")
        if parameter.is_floating_point():
            types.setdefault(parameter.dtype, name)
    if len(types) > 1:
        found = ", ".join(f"{name} is {dtype}" for dtype, name in types.items())
        raise UserError(f"the weights have different types ({found}); convert them to one")


def trainable(model: nn.Module) -> dict[str, nn.Parameter]:
    """The parameters the kernel is about, each once, under its first name."""
    found = {name: p for name, p in model.named_parameters() if p.requires_grad}
    if not found:
        raise UserError("the model has no trainable parameters: there is no tangent kernel")
    return found


def check_shapes(
    what: str, given: Mapping[str, object], parameters: Mapping[str, nn.Parameter]
) -> None:
    """A tensor of another shape would be taken for one that can be stretched or turned."""
    for name, value in given.items():
        shape = tuple(value.shape) if isinstance(value, Tensor) else f"a {type(value).__name__}"
        if shape != (wanted := tuple(parameters[name].shape)):
            raise UserError(f"{what} of {name} is {shape}; expected a tensor of shape {wanted}")


def check_examples_independent(model: nn.Module) -> None:
    """One clear line for batch statistics and active dropout.

    With either, an example's output depends on the batch or on noise, and gradients of sums over
    examples are no longer sums of per-example gradients. What no module announces is found by
    comparing outputs (independence.py).
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
    """The same for a list of modules that was found before: whether one of them is active now."""
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


def refuse_sparse(name: str, gradient: Tensor) -> None:
    if gradient.is_sparse:
        raise UserError(f"parameter {name} has a sparse gradient; sparse=True is not supported")
