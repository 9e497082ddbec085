"""How images should lie in memory.

With channels last a processor's convolutions go backwards in three quarters of the time (VGG19).
But some of torch's backwards are slow, inexact or crash the process in that layout: group
normalisation does when its weight's gradient is wanted and its input's is not. So the layout is
chosen only where every operation of the network is known to bear it.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ntkexp.errors import UserError
from ntkexp.tangent.batch import Batch
from ntkexp.tangent.function import NetworkFunction
from ntkexp.tangent.passes.calls import Call, graph_nodes

# Backward nodes of operations whose channels-last kernels are tested here (test_layouts.py).
SAFE = frozenset(
    {
        "torch::autograd::AccumulateGrad",
        "AdaptiveAvgPool2DBackward0",
        "AddBackward0",
        "AddmmBackward0",
        "AvgPool2DBackward0",
        "CatBackward0",
        "CloneBackward0",
        "ConstantPadNdBackward0",
        "ConvolutionBackward0",
        "DivBackward0",
        "EluBackward0",
        "ExpandBackward0",
        "GeluBackward0",
        "HardsigmoidBackward0",
        "HardswishBackward0",
        "HardtanhBackward0",
        "LeakyReluBackward0",
        "MaxPool2DWithIndicesBackward0",
        "MeanBackward1",
        "MmBackward0",
        "MulBackward0",
        "NativeBatchNormBackward0",
        "NativeLayerNormBackward0",
        "PermuteBackward0",
        "ReflectionPad2DBackward0",
        "ReluBackward0",
        "ReplicationPad2DBackward0",
        "SelectBackward0",
        "SigmoidBackward0",
        "SiluBackward0",
        "SliceBackward0",
        "SoftplusBackward0",
        "SqueezeBackward0",
        "SqueezeBackward1",
        "SqueezeBackward2",
        "SubBackward0",
        "SumBackward1",
        "TBackward0",
        "TanhBackward0",
        "TransposeBackward0",
        "UnsafeViewBackward0",
        "UnsqueezeBackward0",
        "UpsampleNearest2DBackward0",
        "ViewBackward0",
        "ReshapeAliasBackward0",
        "CudnnBatchNormBackward0",
    }
)
FEWEST_CHANNELS = 8


def fastest_layout(
    function: NetworkFunction, few: Batch, values: Tensor, calls: list[Call]
) -> torch.memory_format:
    """Channels last for a convolutional net in float32 on a CPU that gives the same outputs so."""
    image = few.inputs
    if (
        not isinstance(image, Tensor)
        or image.dim() != 4
        or image.device.type != "cpu"
        or image.dtype != torch.float32
    ):
        return torch.contiguous_format
    convolutions = [call.module for call in calls if isinstance(call.module, nn.Conv2d)]
    if not convolutions or any(map(_narrow_and_strided, convolutions)):
        return torch.contiguous_format
    if any(node.name() not in SAFE for node in graph_nodes(values)):
        return torch.contiguous_format
    try:
        turned = function(few, torch.channels_last)
    except UserError:  # a model that takes `view` of its activations may refuse it
        return torch.contiguous_format
    # The choice matters for speed alone, so a network that reads memory as it lies is left so.
    size = float(values.detach().abs().max()) + 1e-30
    same = float((turned - values).detach().abs().max()) <= 1e-4 * size
    return torch.channels_last if same else torch.contiguous_format


def _narrow_and_strided(module: nn.Conv2d) -> bool:
    """oneDNN's backward of a strided 1 x 1 convolution of few channels cannot be relied on."""
    few = min(module.in_channels, module.out_channels) < FEWEST_CHANNELS
    return few and module.kernel_size == (1, 1) and module.stride != (1, 1)
