"""Linear layers, grad_W f = sum_d g_d x_d^T over whatever positions stand between n and K; and
embeddings, linear layers on one-hot vectors of which only the indices are kept.
"""

from __future__ import annotations

from torch import Tensor, nn

from ntkexp.tangent.factors.factor import Direct, Factor, Outer
from ntkexp.tangent.factors.positions import Columns, Indices
from ntkexp.tangent.passes.calls import Call
from ntkexp.tangent.rules.uses import Received, UnfitError, copies


class LinearRule:
    """y_d = W x_d + b for d = 1..D."""

    def __init__(self, call: Call, wanted: frozenset[str], examples: int, outputs: int) -> None:
        copies(call, examples)
        assert isinstance(call.module, nn.Linear)
        if call.input.dim() < 2:
            raise UnfitError  # a single example, whose features are not to be taken for rows
        self.inputs = call.input.reshape(examples, -1, call.module.in_features)
        self.positions = self.inputs.shape[1]
        size = (examples, outputs, call.module.out_features)
        apart = () if self.positions == 1 else (self.positions,)
        self.v = Received((*size, *apart), self.inputs) if "weight" in wanted else None
        self.bias = Received(size, self.inputs) if "bias" in wanted else None

    def receive(self, output: int, grad: Tensor) -> None:
        if self.positions == 1:  # (n, O): no sum, and few of the small steps that add up
            rows = summed = grad.reshape(len(self.inputs), -1)
        else:
            rows = grad.reshape(len(self.inputs), self.positions, -1).transpose(1, 2)  # (n, O, D)
            summed = rows.sum(2)
        if self.v is not None:
            self.v.take(output, rows)
        if self.bias is not None:
            self.bias.take(output, summed)

    def receive_all(self, grads: Tensor) -> None:
        """Of all k outputs, (k, ...)."""
        n, d = len(self.inputs), self.positions
        rows = grads.reshape(len(grads), n, d, -1).permute(1, 0, 3, 2)  # (n, k, O, D)
        if self.v is not None:
            self.v.take_all(rows.squeeze(3) if d == 1 else rows)
        if self.bias is not None:
            self.bias.take_all(rows.squeeze(3) if d == 1 else rows.sum(3))

    def factors(self) -> dict[str, Factor]:
        found: dict[str, Factor] = {}
        if self.v is not None:
            n, k, channels = self.v.shape[:3]
            v = self.v.values.reshape(n, k, 1, channels, self.positions)
            found["weight"] = Outer(Columns(self.inputs.transpose(1, 2).unsqueeze(1)), v)
        if self.bias is not None:
            found["bias"] = Direct(self.bias.values)
        return found


class EmbeddingRule:
    """y_d = W^T e_{index d}; the row of `padding_idx` takes no gradient."""

    def __init__(self, call: Call, wanted: frozenset[str], examples: int, outputs: int) -> None:
        module = call.module
        assert isinstance(module, nn.Embedding)
        if module.max_norm is not None or module.scale_grad_by_freq or module.sparse:
            raise UnfitError
        copies(call, examples)
        self.module = module
        self.index = call.input.reshape(examples, -1)
        size = (examples, outputs, module.embedding_dim, self.index.shape[1])
        self.v = module.weight.new_empty(size).detach()

    def receive(self, output: int, grad: Tensor) -> None:
        grad = grad.reshape(*self.index.shape, -1)  # (n, D, E)
        if self.module.padding_idx is not None:
            grad = grad * (self.index != self.module.padding_idx).unsqueeze(2)
        self.v[:, output] = grad.transpose(1, 2)

    def factors(self) -> dict[str, Factor]:
        u = Indices(self.index, self.module.num_embeddings, self.v.dtype)
        return {"weight": Outer(u, self.v.unsqueeze(2), swapped=True)}
