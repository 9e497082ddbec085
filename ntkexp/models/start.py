"""A network that begins with the weights of another run."""

from __future__ import annotations

from torch import nn

from ntkexp.errors import UserError
from ntkexp.references import StartFrom


def start_from(model: nn.Module, given: StartFrom) -> None:
    """Take over all weights and statistics but those that `given.fresh` names."""
    kept, own = given.tensors(), model.state_dict()
    fresh = {name for name in own if name.startswith(tuple(given.fresh))} if given.fresh else set()
    for beginning in given.fresh:
        if not any(name.startswith(beginning) for name in own):
            raise UserError(
                f"weights.fresh={given.fresh}: no parameter begins with {beginning}; there are "
                f"{', '.join(own)}"
            )
    wanted = {name: tensor for name, tensor in own.items() if name not in fresh}
    for name, tensor in wanted.items():
        if name not in kept:
            raise UserError(f"weights: {given.path} has no {name}; expected a network like this")
        if kept[name].shape != tensor.shape:
            raise UserError(
                f"weights: {name} of {given.path} has shape {tuple(kept[name].shape)}; this "
                f"network's has {tuple(tensor.shape)}"
            )
    if left := sorted(kept.keys() - own.keys()):
        raise UserError(f"weights: {given.path} has {left[0]} too; expected a network like this")
    model.load_state_dict({**own, **{name: kept[name] for name in wanted}})
