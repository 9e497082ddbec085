"""Embeddings: a linear layer on one-hot vectors, of which only the indices are kept."""

from __future__ import annotations

from torch import Tensor, nn

from ntkexp.tangent.factors.factor import Factor, Outer
from ntkexp.tangent.factors.positions import Indices
from ntkexp.tangent.passes.calls import Call
from ntkexp.tangent.rules.uses import UnfitError, copies


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
