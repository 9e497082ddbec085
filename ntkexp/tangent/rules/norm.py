"""Normalisations y = gamma x_hat + beta: grad gamma = sum_d g_d x_hat_d, grad beta = sum_d g_d.

x_hat is computed again from the input by torch's own function with the module's own eps. Dividing
the output by gamma would fail where gamma is 0, as in zero-initialised residual branches.
"""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional

from ntkexp.tangent.factors.factor import Direct, Factor
from ntkexp.tangent.passes.calls import Call
from ntkexp.tangent.rules.uses import UnfitError, copies


class NormRule:
    """Scale and shift over axis 1 (channels), everything after it summed."""

    def __init__(self, call: Call, wanted: frozenset[str], examples: int, outputs: int) -> None:
        copies(call, examples)
        self.examples = examples
        self.normalised = self._normalise(call) if "weight" in wanted else None
        parameter = call.module.weight if "weight" in wanted else call.module.bias
        assert isinstance(parameter, Tensor)
        size = (examples, outputs, parameter.numel())
        self.found = {name: call.input.new_empty(size) for name in sorted(wanted)}

    def _normalise(self, call: Call) -> Tensor:
        raise NotImplementedError

    def _summed(self, values: Tensor, examples: int) -> Tensor:
        """(n T, C, *space) -> (n, C)."""
        return values.reshape(examples, -1, *values.shape[1:]).flatten(3).sum((1, 3))

    def receive(self, output: int, grad: Tensor) -> None:
        if self.normalised is not None:
            self.found["weight"][:, output] = self._summed(grad * self.normalised, self.examples)
        if "bias" in self.found:
            self.found["bias"][:, output] = self._summed(grad, self.examples)

    def receive_all(self, grads: Tensor) -> None:
        """Of all k outputs, (k, n T, ...): as if they were so many more examples."""
        k, n = len(grads), self.examples

        def summed(values: Tensor) -> Tensor:
            return self._summed(values.flatten(0, 1), k * n).view(k, n, -1).transpose(0, 1)

        if self.normalised is not None:
            self.found["weight"] = summed(grads * self.normalised).contiguous()
        if "bias" in self.found:
            self.found["bias"] = summed(grads).contiguous()

    def factors(self) -> dict[str, Factor]:
        return {name: Direct(values) for name, values in self.found.items()}


class BatchNormRule(NormRule):
    """In evaluation mode only: x_hat from the running statistics, no coupling of examples."""

    def _normalise(self, call: Call) -> Tensor:
        module = call.module
        assert isinstance(module, nn.modules.batchnorm._BatchNorm)
        if module.running_mean is None or module.training:
            raise UnfitError
        return functional.batch_norm(
            call.input, module.running_mean, module.running_var, eps=module.eps
        )

    def _summed(self, values: Tensor, examples: int) -> Tensor:
        return super()._summed(values if values.dim() > 2 else values.unsqueeze(2), examples)


class GroupNormRule(NormRule):
    def _normalise(self, call: Call) -> Tensor:
        assert isinstance(call.module, nn.GroupNorm)
        return functional.group_norm(call.input, call.module.num_groups, eps=call.module.eps)

    def _summed(self, values: Tensor, examples: int) -> Tensor:
        return super()._summed(values if values.dim() > 2 else values.unsqueeze(2), examples)


class LayerNormRule(NormRule):
    """Scale and shift over the last axes; those between them and the examples are summed."""

    def _normalise(self, call: Call) -> Tensor:
        assert isinstance(call.module, nn.LayerNorm)
        shape = list(call.module.normalized_shape)
        if call.input.dim() <= len(shape):
            raise UnfitError
        return functional.layer_norm(call.input, shape, eps=call.module.eps)

    def _summed(self, values: Tensor, examples: int) -> Tensor:
        size = next(iter(self.found.values())).shape[2]
        return values.reshape(examples, -1, size).sum(1)
