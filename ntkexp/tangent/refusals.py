"""Models whose outputs are no function of each example alone."""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.modules.dropout import _DropoutNd

from ntkexp.errors import UserError

WAY_OUT = "call model.eval() first, or ask for batch_function=True"


def refuse_coupled(model: nn.Module) -> None:
    """One clear line for batch statistics and active dropout.

    With either, an example's output depends on the batch or on noise, and gradients of sums over
    examples are no longer sums of per-example gradients.
    """
    refuse_coupling(couplers(model))


def couplers(model: nn.Module) -> dict[str, nn.Module]:
    """The modules that couple examples or draw noise in some mode, by name."""
    return {
        name: module
        for name, module in model.named_modules()
        if isinstance(module, (_BatchNorm, nn.RReLU))
        or (isinstance(module, _DropoutNd) and module.p > 0)
    }


def refuse_coupling(modules: dict[str, nn.Module]) -> None:
    """The same for `couplers` found before: whether one of them is at work now."""
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


def trainable(model: nn.Module) -> dict[str, nn.Parameter]:
    """The parameters the kernel is about, each once, under its first name."""
    found = {name: p for name, p in model.named_parameters() if p.requires_grad}
    if not found:
        raise UserError("the model has no trainable parameters: there is no tangent kernel")
    for name, parameter in found.items():
        if isinstance(parameter, nn.parameter.UninitializedParameter):
            raise UserError(f"parameter {name} is not initialised; run the model once first")
    return found


def refuse_empty(inputs: Tensor) -> None:
    if not isinstance(inputs, Tensor) or inputs.dim() == 0 or len(inputs) == 0:
        given = tuple(inputs.shape) if isinstance(inputs, Tensor) else type(inputs).__name__
        raise UserError(f"a tensor of at least one input is needed, not {given}")
