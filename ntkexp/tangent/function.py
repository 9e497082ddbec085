"""The function whose kernel is asked for: a model, the outputs chosen, the parameters varied."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from functools import cached_property
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call

from ntkexp.errors import UserError
from ntkexp.tangent.batch import Batch, Inputs, mapped, parts_of
from ntkexp.tangent.checks.models import refuse_unsupported, trainable
from ntkexp.tangent.outputs import Outputs, chosen, select
from ntkexp.tangent.passes.batch_of_one import read_right
from ntkexp.tangent.passes.guard import Guard, PrivateDraws, layer_at_work
from ntkexp.tangent.passes.lstm import LSTMByStep, has_fused_lstm

# What a forward may end with.
FAILURES = (RuntimeError, ValueError, TypeError, IndexError, AssertionError)


class NetworkFunction:
    """f: a batch -> (n, k), differentiable by `parameters`.

    Every forward of the package but those of a shared training step goes through here: guarded
    (guard.py), and with the errors of a forward in one line.
    """

    def __init__(self, model: nn.Module, outputs: Outputs = None) -> None:
        refuse_unsupported(model)
        self.model, self.outputs = model, outputs
        self.parameters = trainable(model)
        self.device = next(iter(self.parameters.values())).device
        self._lstm: Any = LSTMByStep() if has_fused_lstm(model) else nullcontext()

    @cached_property
    def guard(self) -> Guard:
        draws = PrivateDraws([p.device for p in self.parameters.values()])
        return Guard(self.model, draws)

    def __call__(self, batch: Batch) -> Tensor:
        return self.select(self.raw(batch), batch)

    def raw(self, batch: Batch, *, guarded: bool = True) -> object:
        """What the model returns. It gets a copy: it may overwrite its input.

        A forward known to do no harm needs no guard.
        """
        inputs = mapped(batch.inputs, torch.clone)
        return self._guarded(inputs, None) if guarded else self._in_one_line(inputs, None)

    def select(self, raw: object, batch: Batch) -> Tensor:
        values = chosen(raw, self.outputs, batch.indices)
        read_right(values)
        return values

    def outputs_at(
        self,
        weights: Mapping[str, Tensor] | None,
        batch: Batch,
        *,
        double: bool = False,
        stirred: bool = False,
    ) -> Tensor:
        """(n, k), without a graph, with other tensors in the place of some parameters.

        `double` computes in float64; `stirred` moves what is drawn at random in the forward.
        """
        inputs = mapped(batch.inputs, torch.clone)
        if double:
            own = [*self.model.named_parameters(), *self.model.named_buffers()]
            weights = {n: _double(value) for n, value in (dict(own) | dict(weights or {})).items()}
            inputs = mapped(inputs, _double)
        with self.guard.looking(stirred=stirred, double=double):
            return self.select(self._guarded(inputs, weights), batch).detach()

    def of_one_example(
        self, parameters: Mapping[str, Tensor], example: Inputs, index: Tensor
    ) -> Tensor:
        """(k,), as a function of parameters given by name: for torch.func."""
        raw = self._guarded(mapped(example, lambda part: part.unsqueeze(0).clone()), parameters)
        return select(raw, self.outputs, index.unsqueeze(0))[0]

    def _guarded(self, inputs: Inputs, parameters: Mapping[str, Tensor] | None) -> object:
        with self.guard:
            return self._in_one_line(inputs, parameters)

    def _in_one_line(self, inputs: Inputs, parameters: Mapping[str, Tensor] | None) -> object:
        """The model's outputs; an error is raised again as one line with layer and reason."""
        try:
            with self._lstm:
                words = dict(inputs) if isinstance(inputs, Mapping) else {}
                given = (inputs,) if isinstance(inputs, Tensor) else () if words else tuple(inputs)
                if parameters is None:
                    return self.model(*given, **words)
                return functional_call(self.model, dict(parameters), given, words)
        except UserError:
            raise
        except FAILURES as error:
            if parameters is not None:
                raise  # what vmap cannot follow is done without it
            reason = str(error).strip().partition("\n")[0] or type(error).__name__
            shapes = " and ".join(
                f"{tuple(part.shape)} of type {str(part.dtype).removeprefix('torch.')}"
                for part in parts_of(inputs)
            )
            where = layer_at_work(self.model, error)
            raise UserError(f"{where}: the forward fails on inputs {shapes}: {reason}") from error


def _double(value: Tensor) -> Tensor:
    """The same numbers in float64; whole numbers and masks stay as they are."""
    if value.is_complex():
        return value.detach().to(torch.complex128)
    return value.detach().double() if value.is_floating_point() else value.detach()
