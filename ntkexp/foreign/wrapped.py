"""A network without what others put around it or into it: other processes, torch.compile,
accelerate's autocast."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from torch import nn

from ntkexp.errors import UserError
from ntkexp.tangent.function import uncompiled

WRAPPERS = {"DistributedDataParallel": "module", "DataParallel": "module",
            "OptimizedModule": "_orig_mod"}  # fmt: skip


def bare(model: nn.Module) -> nn.Module:
    """The network inside the modules that spread it over processes or compile it."""
    model = _inside(model)
    sharded = any(type(module).__name__.startswith("FullySharded") for module in model.modules())
    if sharded or any(hasattr(parameter, "full_tensor") for parameter in model.parameters()):
        raise UserError(
            "the model is sharded (FSDP), no process has all weights; expected a whole one"
        )
    return model


@contextmanager
def as_written(network: nn.Module) -> Iterator[None]:
    """Inside, submodules are bare as well, under the names that they had before, nothing runs
    compiled, and forwards have the precision of the weights. Weights are those outside."""
    with ExitStack() as stack:
        stack.enter_context(uncompiled())
        for module in [*network.modules()]:
            for name, child in module._modules.items():
                if child is not None and (within := _inside(child)) is not child:
                    module._modules[name] = within
                    stack.callback(module._modules.__setitem__, name, child)
            if "_original_forward" in vars(module):  # accelerate's name for it
                prepared: Any = module
                stack.callback(setattr, prepared, "forward", prepared.forward)
                prepared.forward = prepared._original_forward
        yield


def _inside(module: nn.Module) -> nn.Module:
    while (key := WRAPPERS.get(type(module).__name__)) is not None:
        module = getattr(module, key)
    return module
