"""Networks of one architecture that train as one stack (ntkexp/models/stack.py)."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from ntkexp.models.stack import StackedNetworks
from ntkexp.objectives.base import Loss
from ntkexp.optim.sgd import SgdUpdate
from ntkexp.optim.update import WeightUpdate, one_or_each
from ntkexp.training.learners.network import NetworkLearner
from ntkexp.training.learners.stacked_batches import StackedBatches
from ntkexp.transforms.alpha_scale import Head, Heads, OnTrainingSet


class Stack:
    """M networks and one optimiser for all; the tensors of each become views into common ones."""

    def __init__(
        self, models: Sequence[nn.Module], updates: Sequence[WeightUpdate], objective: Loss
    ) -> None:
        self.models, self.updates, self.objective = models, updates, objective
        self.networks = StackedNetworks(models)
        self.parameters = self.networks.parameters
        self.update = type(updates[0]).of_members(updates, list(self.parameters.values()))

    def release(self) -> None:
        """Give the networks tensors of their own again."""
        self.networks.release()
        for update in self.updates:
            update.own_memory()

    def compute(
        self, inputs: Tensor, targets: Tensor, head: Head | None = None
    ) -> tuple[Tensor, Tensor]:
        """Take in the gradient of every network on its own minibatch.

        `inputs` (M, b, ...) and `targets` (M, b, ...); returns the outputs (M, b, c) and the mean
        losses (M,), both of before the update and after `head`.
        """
        outputs, loss = self.take_gradients(inputs, targets, head)
        for update in self.updates:
            update.updates = self.update.updates
        return outputs, loss

    def take_gradients(
        self, inputs: Tensor, targets: Tensor, head: Head | None = None
    ) -> tuple[Tensor, Tensor]:
        outputs = self.networks(inputs)
        outputs = outputs if head is None else head(outputs)
        losses = self.objective.losses(outputs.flatten(0, 1), targets.flatten(0, 1))
        loss = losses.view(outputs.shape[:2]).mean(1)
        # No network takes part in another's loss: the gradient of the sum has each one's own.
        self.update.descend(loss.sum())
        return outputs.detach(), loss.detach()

    def apply(self, lrs: Sequence[float]) -> None:
        """Change the weights, every network's by its own rate."""
        self.update.apply(one_or_each(lrs, next(iter(self.parameters.values()))))


class NetworkStack:
    """Learners of networks as one. Outputs that a transform scales are scaled behind the stack,
    which has the networks themselves."""

    bursts = False

    def __init__(self, learners: Sequence[NetworkLearner]) -> None:
        self.batches = StackedBatches(learners)
        scaled = [x.transformed.on_training_set for x in learners]
        heads = [scaling for scaling in scaled if isinstance(scaling, OnTrainingSet)]
        self.heads = Heads(heads) if heads else None
        models = [head.module.network for head in heads] or [x.model for x in learners]
        kind = StackedMLP if all(map(is_mlp, models)) else Stack
        self.networks = kind(models, [x.update for x in learners], learners[0].objective)
        self.apply, self.release = self.networks.apply, self.networks.release

    def compute(self, step: int) -> tuple[Tensor, Tensor, Tensor]:
        inputs, targets = self.batches.take(step)
        head = None if self.heads is None else self.heads.at(self.batches.numbers(step))
        outputs, loss = self.networks.compute(inputs, targets, head)
        return outputs, targets, loss


def is_mlp(model: nn.Module) -> bool:
    """True for flatten, linear, relu, linear, ..., linear, all with biases of their own that are
    trained. A subclass may compute something else."""
    if type(model) is not nn.Sequential:
        return False
    flatten, *layers = model
    linears, relus = layers[::2], layers[1::2]
    trained = [weight for weight in model.parameters() if weight.requires_grad]
    return (
        type(flatten) is nn.Flatten
        and len(linears) == len(relus) + 1
        and all(type(layer) is nn.Linear and layer.bias is not None for layer in linears)
        and all(type(layer) is nn.ReLU for layer in relus)
        and len(trained) == 2 * len(linears)
    )


class StackedMLP(Stack):
    """A stack of networks for which `is_mlp` holds, with the gradient written out.

    For f = W_L relu(... relu(W_1 x + b_1) ...) + b_L and delta_L = dloss/df,

        dloss/dW_l = delta_l h_{l-1}^T,   dloss/db_l = sum over examples of delta_l,
        delta_{l-1} = (W_l^T delta_l) * [h_{l-1} > 0],

    with examples as columns, each a batched product over the M networks: into buffers made once,
    and the gradient of a weight straight onto its velocity, v <- mu v + delta h^T. On networks this
    small allocating memory and starting operations takes longer than the arithmetic. Where all
    networks see the same inputs, their first layers are one layer of M times the width.
    """

    def __init__(
        self, models: Sequence[nn.Module], updates: Sequence[WeightUpdate], objective: Loss
    ) -> None:
        super().__init__(models, updates, objective)
        tensors = [tensor.detach() for tensor in self.parameters.values()]
        self._weights, self._biases = tensors[::2], tensors[1::2]  # (M, out, in), (M, out)
        self._buffers: dict[int, tuple[list[Tensor], list[Tensor]]] = {}
        self._gradients: list[Tensor] = []

    @torch.no_grad()
    def take_gradients(
        self, inputs: Tensor, targets: Tensor, head: Head | None = None
    ) -> tuple[Tensor, Tensor]:
        inputs = inputs.flatten(2)
        hidden, deltas = self._buffers_for(inputs.shape[1])
        outputs = self._forward(inputs.mT, hidden)
        outputs = outputs.mT if head is None else head(outputs.mT)
        losses, slopes = self.objective.losses_and_slopes(outputs, targets)
        if head is not None:
            slopes = slopes.mul_(head.alpha)
        delta = slopes.mT.contiguous().div_(slopes.shape[1])
        room, kept = self._room()
        below = [inputs.mT, *hidden[:-1]]
        for layer in reversed(range(len(self._weights))):
            _add_products(room[2 * layer], delta, below[layer], kept)
            room[2 * layer + 1].mul_(kept).add_(delta.sum(2))
            if layer:
                above, delta = delta, deltas[layer - 1]
                torch.bmm(self._weights[layer].mT, above, out=delta)
                # The derivative of relu, in a sixth of the time of delta * (h > 0).
                torch.ops.aten.threshold_backward.grad_input(
                    delta, below[layer], 0, grad_input=delta
                )
        if room is self._gradients:
            self.update.take(room)
        return outputs, losses.mean(1)

    def _room(self) -> tuple[list[Tensor], float]:
        """The buffers to which gradients are added, and the factor for what they hold already.

        For plain momentum the buffer is the velocity itself: v <- mu v + g.
        """
        update = self.update
        if type(update) is SgdUpdate and not _per_member(update):
            return update.memory["velocity"], float(update.momentum)
        if not self._gradients:
            self._gradients = [torch.zeros_like(part) for part in update.parameters]
        return self._gradients, 0.0

    def _forward(self, inputs: Tensor, hidden: list[Tensor]) -> Tensor:
        """Fills `hidden`, (M, out, b) each; the last of them are the outputs."""
        below = inputs
        for weights, biases, out in zip(self._weights, self._biases, hidden, strict=True):
            _affine(weights, biases, below, out)
            if out is not hidden[-1]:
                out.relu_()
            below = out
        return below

    def _buffers_for(self, examples: int) -> tuple[list[Tensor], list[Tensor]]:
        """The outputs (M, out, b) of every layer, and the deltas of all but the last."""
        if examples not in self._buffers:
            like = self._weights[0]
            widths = [biases.shape[1] for biases in self._biases]
            hidden = [like.new_empty(len(self.models), width, examples) for width in widths]
            self._buffers[examples] = hidden, [torch.empty_like(part) for part in hidden[:-1]]
        return self._buffers[examples]


def _affine(weights: Tensor, biases: Tensor, below: Tensor, out: Tensor) -> None:
    """out <- W h + b for weights (M, out, in), biases (M, out) and h = `below` (M, in, b)."""
    if _common(below):
        wide = weights.view(-1, weights.shape[2])
        torch.addmm(biases.view(-1, 1), wide, below[0], out=out.view(-1, out.shape[2]))
    else:
        torch.baddbmm(biases.unsqueeze(2), weights, below, out=out)


def _add_products(velocity: Tensor, delta: Tensor, below: Tensor, kept: float) -> None:
    """v <- kept v + delta h^T for delta (M, out, b) and h = `below` (M, in, b)."""
    if _common(below):
        wide = velocity.view(-1, velocity.shape[2])
        wide.addmm_(delta.view(-1, delta.shape[2]), below[0].T, beta=kept)
    else:
        velocity.baddbmm_(delta, below.mT, beta=kept)


def _common(below: Tensor) -> bool:
    """True if all networks have the same inputs, in the same memory."""
    return below.stride(0) == 0


def _per_member(update: SgdUpdate) -> bool:
    """True if the velocity takes more than one factor for all networks."""
    decays = isinstance(update.weight_decay, Tensor) or update.weight_decay != 0.0
    return decays or isinstance(update.momentum, Tensor)
