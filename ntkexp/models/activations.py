"""The activations of networks that have a choice: the functions of one number of torch.nn that have
no weights and draw nothing, by their names in torch.nn.functional.

hardsigmoid is not among them: PyTorch has no derivative of its derivative, which the training of
linearised networks takes.
"""

from __future__ import annotations

from enum import StrEnum

from torch import nn

from ntkexp.errors import UserError


class Activation(StrEnum):
    """relu: max(x, 0). gelu: x Phi(x), which has all derivatives. The others are PyTorch's."""

    relu = "relu"
    gelu = "gelu"
    celu = "celu"
    elu = "elu"
    hardshrink = "hardshrink"
    hardswish = "hardswish"
    hardtanh = "hardtanh"
    leaky_relu = "leaky_relu"
    logsigmoid = "logsigmoid"
    mish = "mish"
    relu6 = "relu6"
    selu = "selu"
    sigmoid = "sigmoid"
    silu = "silu"
    softplus = "softplus"
    softshrink = "softshrink"
    softsign = "softsign"
    tanh = "tanh"
    tanhshrink = "tanhshrink"


_BY_NAME = {name.lower(): kind for name, kind in vars(nn).items()}
MODULES: dict[Activation, type[nn.Module]] = {
    kind: _BY_NAME[kind.replace("_", "")] for kind in Activation
}


def refuse_other_than_relu(probe: str, model: object) -> None:
    """Refuse a network for which the formulas of a probe, which are those of ReLU, do not hold."""
    kind = getattr(model, "activation", Activation.relu)
    if isinstance(kind, Activation) and kind is not Activation.relu:
        raise UserError(
            f"probe.{probe}: its formulas hold for ReLU alone, model.activation is {kind}; "
            "expected relu, or other probes"
        )
