"""The tangent features of a model, as an object that holds what it has found out of it.

features = TangentFeatures(model)
features.kernel(x)      # checks the model, and its rules against autograd
features.kernel(x)      # checks nothing again: weights and inputs may be others by now
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from ntkexp.errors import UserError
from ntkexp.tangent.batch import Batch, Inputs, Outputs
from ntkexp.tangent.factors import norm_workspace, squared_norms
from ntkexp.tangent.features import CheckedFeatures, Features, Findings, Slopes, Summed
from ntkexp.tangent.function import (
    NetworkFunction,
    coupling_modules,
    only_these,
    refuse_coupling,
    trainable,
)
from ntkexp.tangent.independence import Check
from ntkexp.tangent.kept import Facts, recall, remember
from ntkexp.tangent.kernel import KernelBuilder, TangentKernel, batch_kernel
from ntkexp.tangent.memory import blocks, cut
from ntkexp.tangent.state import preserve_model_state

if TYPE_CHECKING:
    from ntkexp.tangent.operator import KernelOperator


class TangentFeatures:
    """Phi of a model: kernels Phi Phi^T, their trace, and the factors they are made of.

    Row (i, c) of Phi is the gradient of output c at input i by all trainable parameters w, and

        K[(i,c), (j,c')] = <grad_w f_w(x_i)[c], grad_w f_w(x_j)[c']>

    (Jacot, Gabriel, Hongler, "Neural tangent kernel", 2018; on the ways to compute it Novak,
    Sohl-Dickstein, Schoenholz, "Fast finite width neural tangent kernel", 2022).

    Args:
        model: any module in which examples do not interact. Its inputs are a tensor, or a tuple or
            a dict of tensors, with the examples first; its outputs are (n, c).
        outputs: None for all classes, a list of classes, or a function of whatever the model
            returns to (n,) or (n, k), as lambda output: output.logits. A function (f, indices) is
            told which examples it is given, as positions in all inputs of a call, in their order:
            lambda f, i: f.gather(1, labels[i, None]) is each example's own class.
        budget_bytes: memory for activations, gradients and workspace; larger batches are cut into
            blocks of examples, at the price of repeated passes.
        tf32: True lets a GPU round the factors of products to 10 bits.
        check: that outputs are not random and that each depends on its own example alone. True
            refuses, "warn" warns, False does not look. Once for each form of inputs.
        parameters: names of the parameters to vary, or of modules, all of whose parameters vary;
            None is all that are trainable.

    >>> features = TangentFeatures(nn.Linear(1, 1))
    >>> features.kernel(torch.tensor([[2.0], [3.0]])).gram        # x x' + 1
    tensor([[ 5.,  7.],
            [ 7., 10.]])
    >>> round(features.trace(torch.tensor([[2.0], [3.0]])).item(), 4)
    15.0
    """

    def __init__(
        self,
        model: nn.Module,
        *,
        outputs: Outputs = None,
        budget_bytes: int | None = None,
        tf32: bool = False,
        check: Check = True,
        parameters: Sequence[str] | None = None,
    ) -> None:
        self._couplers, self.parameters = coupling_modules(model), parameters
        refuse_coupling(self._couplers)
        self.model, self.outputs, self.budget_bytes = model, outputs, budget_bytes
        self.tf32, self.check = tf32, check
        self._function: NetworkFunction | None = None
        self._findings: dict[Hashable, Findings] = {}
        self._new: dict[Hashable, Facts] = {}  # of forms of inputs that this request began with

    def kernel(
        self,
        inputs: Inputs,
        other: Inputs | None = None,
        *,
        layers: bool = True,
        summed: bool = False,
    ) -> TangentKernel:
        """K of `inputs` with themselves, or with `other`; `layers` splits it by layer, `summed` is
        the sum of K over outputs, (n, n')."""
        with self._undisturbed():
            batches = Batch.several([inputs] if other is None else [inputs, other])
            checked = self._checked(batches)
            builder = KernelBuilder(Summed(checked) if summed else checked, layers)
            return builder.symmetric(batches)[0] if other is None else builder.cross(*batches)

    def kernels(
        self, batches: Mapping[str, Inputs], *, layers: bool = True
    ) -> dict[str, TangentKernel]:
        """The kernel of each batch with itself, from one forward and one set of backwards."""
        with self._undisturbed():
            numbered = Batch.several([*batches.values()])
            kernels = KernelBuilder(self._checked(numbered), layers).symmetric(numbered)
            return dict(zip(batches, kernels, strict=True))

    def factors(self, inputs: Inputs, slopes: Slopes | None = None) -> Features:
        """The factors of every parameter. The batch is not cut: it must fit into memory.

        `slopes`, of the outputs (n, k) and the examples' indices, is a list of weights a (n, k):
        features are then those of sum_c a_ic f_ic, one for each. The slope of a loss gives the
        gradients of the losses by a single backward.
        """
        with self._undisturbed():
            batch = Batch.of(inputs)
            return self._checked([batch]).of(batch, slopes)

    def trace(self, inputs: Inputs) -> Tensor:
        """Tr K, a float64 scalar: c backwards of activations, and norms in place of products."""
        workspace = norm_workspace(next(iter(trainable(self.model).values())).detach())
        parts = self.in_blocks(inputs)
        norms = [squared_norms(part.by_parameter.values(), workspace) for part in parts]
        return torch.stack(norms).sum()

    def operator(self, inputs: Inputs, *, stored: bool = True) -> KernelOperator:
        """K of many inputs and one output as products `operator @ x`, for x (n, b), by the
        gradients' factors: K is not formed. They stay in memory where they fit, if `stored`, and
        are otherwise computed anew in every product, so that inputs may be a map of a file.

        >>> kernel = TangentFeatures(nn.Linear(1, 1)).operator(torch.tensor([[2.0], [3.0]]))
        >>> kernel @ torch.tensor([[1.0], [0.0]])                     # x x' + 1
        tensor([[5.],
                [7.]])
        """
        from ntkexp.tangent.operator import KernelOperator  # which is made of these features

        return KernelOperator(self, inputs, stored)

    def in_blocks(self, inputs: Inputs, most: int | None = None) -> Iterator[Features]:
        """The features of as many examples at a time as fit into memory, `most` at most."""
        with self._undisturbed():
            batch = Batch.of(inputs)
            checked = self._checked([batch])
            fitting = blocks(len(batch), checked.sizes.bytes_per_example, checked.budget_bytes)
            size = fitting[0].stop
            for rows in cut(len(batch), size if most is None else min(most, size)):
                yield checked.of(batch[rows])

    @contextmanager
    def _undisturbed(self) -> Iterator[None]:
        refuse_coupling(self._couplers)
        varied = only_these(self.model, self.parameters)
        with preserve_model_state(self.model, tf32=self.tf32), varied:
            self._new = {}
            yield
            for form, facts in self._new.items():
                remember(self.model, facts, form, self._findings[form])
            self._new = {}  # what the facts hold is not ours

    def _checked(self, batches: list[Batch]) -> CheckedFeatures:
        if not batches:
            raise UserError("no batch of inputs was given")
        if self._function is None:
            self._function = NetworkFunction(self.model, self.outputs)
        self._function.parameters = trainable(self.model)  # may be others by now
        largest = max(batches, key=len)
        form = _form(self._function, largest)
        if form not in self._findings:
            facts = Facts(self.model, self.outputs)
            self._findings[form] = recall(self.model, facts, form)
            if not self._findings[form].proved:
                self._new[form] = facts
        findings = self._findings[form]
        return CheckedFeatures(self._function, largest, self.budget_bytes, self.check, findings)


def _form(function: NetworkFunction, batch: Batch) -> Hashable:
    """The modes, the trained parameters and the form of the inputs: findings hold while they do."""
    modes = tuple(module.training for module in function.model.modules())
    inputs = tuple((part.shape[1:], part.dtype) for part in batch.parts())
    trained = tuple((name, p.dtype) for name, p in function.parameters.items())
    return modes, trained, function.device, inputs, torch.get_default_dtype()


def tangent_kernel(
    model: nn.Module,
    inputs: Inputs,
    other: Inputs | None = None,
    *,
    outputs: Outputs = None,
    layers: bool = True,
    budget_bytes: int | None = None,
    batch_function: bool = False,
    tf32: bool = False,
    check: Check = True,
    parameters: Sequence[str] | None = None,
) -> TangentKernel:
    """The kernel of `inputs` with themselves, or with `other`: K = Phi Phi'^T.

    Args:
        layers: False leaves out the split by layer.
        batch_function: True takes the batch as one function: the only meaning a kernel has with
            batch norm in training mode or active dropout, which are refused otherwise.
        outputs, budget_bytes, tf32, check, parameters: as in `TangentFeatures`.

    >>> tangent_kernel(nn.Linear(1, 1), torch.tensor([[2.0], [3.0]])).gram    # x x' + 1
    tensor([[ 5.,  7.],
            [ 7., 10.]])
    """
    if batch_function:
        if other is not None:
            raise UserError("batch_function=True: two batches have no common batch function")
        with preserve_model_state(model, tf32=tf32), only_these(model, parameters):
            function = NetworkFunction(model, outputs)
            return batch_kernel(function, Batch.of(inputs), layers, budget_bytes)
    features = TangentFeatures(
        model,
        outputs=outputs,
        budget_bytes=budget_bytes,
        tf32=tf32,
        check=check,
        parameters=parameters,
    )
    return features.kernel(inputs, other, layers=layers)


def tangent_kernels(
    model: nn.Module,
    batches: Mapping[str, Inputs],
    *,
    outputs: Outputs = None,
    layers: bool = True,
    budget_bytes: int | None = None,
    tf32: bool = False,
    check: Check = True,
) -> dict[str, TangentKernel]:
    """K = Phi Phi^T of each batch with itself, from one forward and one set of backwards.

    The options are those of `TangentFeatures`; indices for `outputs` count through the batches in
    their order.

    >>> x = torch.tensor([[2.0], [3.0]])
    >>> kernels = tangent_kernels(nn.Linear(1, 1), {"train": x, "test": x[:1]})
    >>> {name: kernel.shape for name, kernel in kernels.items()}
    {'train': (2, 1, 2, 1), 'test': (1, 1, 1, 1)}
    """
    features = TangentFeatures(
        model, outputs=outputs, budget_bytes=budget_bytes, tf32=tf32, check=check
    )
    return features.kernels(batches, layers=layers)


def layer_factors(
    model: nn.Module,
    inputs: Inputs,
    *,
    outputs: Outputs = None,
    budget_bytes: int | None = None,
    check: Check = True,
) -> Features:
    """The factors of all trainable parameters: what a kernel, a Fisher matrix or a norm is made of.

    The gradient of output c at example i by the weight of a layer is a sum of outer products over
    the positions d of its output,

        grad_W f_ic = sum_d v_icd u_id^T,

    u the inputs and v the gradients of the outputs (Goodfellow, "Efficient per-example gradient
    computations", 2015). `.layers[module][parameter]` is such an Outer, with u (n, G, K, D) as
    `positions.everything(f.u)` and f.v (n, k, G, O, D), or a Direct, with values (n, k, p), for
    biases, scales and whatever has no such form, or a Tied, a few Outers that are added: a table
    of words that gives the logits, too. `.jacobian()` of each is (n, k, p). The batch is not cut:
    it must fit into memory.

    >>> net = nn.Linear(2, 1, bias=False)
    >>> features = layer_factors(net, torch.tensor([[3.0, 4.0]]))
    >>> features.layers[""]["weight"].jacobian()
    tensor([[[3., 4.]]])
    """
    features = TangentFeatures(model, outputs=outputs, budget_bytes=budget_bytes, check=check)
    return features.factors(inputs)
