"""Inputs and output gradients of every layer: what a kernel, a Fisher matrix or a norm is made of.

The gradient of output c at example i by the weight of a layer is a sum of outer products over the
positions d of its output,

    grad_W f_ic = sum_d v_icd u_id^T,

u the inputs and v the gradients of the outputs (factors.Outer); for biases, scales and whatever has
no such form it is given itself (factors.Direct).
"""

from __future__ import annotations

import torch  # noqa: F401  (the example uses it)
from torch import Tensor, nn

from ntkexp.tangent.batch import Batch
from ntkexp.tangent.checks.independence import Check
from ntkexp.tangent.checks.models import check_examples_independent
from ntkexp.tangent.features import Features
from ntkexp.tangent.function import NetworkFunction
from ntkexp.tangent.gradients.checked import CheckedFeatures
from ntkexp.tangent.outputs import Outputs
from ntkexp.tangent.passes.preserve import preserve_model_state


def layer_factors(
    model: nn.Module,
    inputs: Tensor,
    *,
    outputs: Outputs = None,
    budget_bytes: int | None = None,
    check: Check = True,
) -> Features:
    """The factors of all trainable parameters for one batch, checked as for a kernel.

    `.layers[module][parameter]` is an Outer, with u (n, G, K, D) as `positions.everything(f.u)`
    and f.v (n, k, G, O, D), or a Direct, with values (n, k, p). `.jacobian()` of either is
    (n, k, p). The batch is not cut: it must fit into memory.

    >>> net = nn.Linear(2, 1, bias=False)
    >>> found = layer_factors(net, torch.tensor([[3.0, 4.0]]))
    >>> found.layers[""]["weight"].jacobian()
    tensor([[[3., 4.]]])
    """
    check_examples_independent(model)
    with preserve_model_state(model):
        function, batch = NetworkFunction(model, outputs), Batch.of(inputs)
        return CheckedFeatures(function, batch, budget_bytes, check).of(batch, True)
