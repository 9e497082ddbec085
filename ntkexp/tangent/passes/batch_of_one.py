"""PyTorch's backward of batch norm is wrong for a batch of one, on a CPU, in some memory layouts.

For one example the stride of the batch axis is arbitrary. Where the gradient has its channels last
and not the stride that usually goes with that, `native_batch_norm_backward` takes it for one with
its channels first, without a word (torch 2.13; as of a net that goes on with `flatten(2).mT`). The
same happens to instance norm, which is the batch norm of a batch of one. A copy of the gradient
with the usual strides of channels last is read right, whatever the layout of the input.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.autograd.graph import Node

from ntkexp.tangent.passes.calls import graph_nodes

CHANNELS_LAST = {4: torch.channels_last, 5: torch.channels_last_3d}


def read_right(outputs: Tensor) -> None:
    """Have every batch norm of one example, in the graph of `outputs`, get gradients it can read.

    Under vmap there is no such copy: that is a RuntimeError, and the outputs go one by one.
    """
    for node in graph_nodes(outputs):
        if node.name() == "NativeBatchNormBackward0" and _of_one(node):
            node.register_prehook(_usual_strides)


def _of_one(node: Node) -> bool:
    shape = node._input_metadata[0].shape
    return len(shape) in CHANNELS_LAST and shape[0] == 1


def _usual_strides(grads: tuple[Tensor, ...]) -> tuple[Tensor, ...] | None:
    first, *others = grads
    if first is None:
        return None
    return first.clone(memory_format=CHANNELS_LAST[first.dim()]), *others
