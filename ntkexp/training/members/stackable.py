"""Refusals of networks that cannot train in step as one stack, each with its way out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

import torch
from torch import Tensor, nn

from ntkexp.errors import UserError
from ntkexp.probes import Probe
from ntkexp.probes.view import evaluating
from ntkexp.tangent.function import called_with
from ntkexp.training.supervised import Supervised

# On so many training examples two networks are compared.
FEW = 8


def refuse_unlike(works: Sequence[Supervised]) -> None:
    """Refuse networks that cannot be one stack."""
    of_each = (work.learner.why_alone() for work in works)
    for why in chain(*of_each, of_all(works), of_weights(works), of_functions(works)):
        raise UserError(f"members{why}, or members=null for one network a run")


def of_all(works: Sequence[Supervised]) -> Iterator[str]:
    """Reasons against all: a stack has one of each of these."""
    batches = [work.batches for work in works]
    if len({(each.examples, each.batch_size, each.steps_per_epoch) for each in batches}) > 1:
        yield ": train in step; expected one optim.batch_size and as many training examples"
    if len({work.config.transform.name for work in works}) > 1:
        yield ".transform: differs; expected one transform for all"
    # The losses of all are computed at once.
    if len({(type(work.objective), work.objective.outputs) for work in works}) > 1:
        yield ": train in step; expected one objective"


def of_weights(works: Sequence[Supervised]) -> Iterator[str]:
    """Reasons in the shapes: each parameter of all is one tensor, if only in weights.pt."""
    shapes = _shapes(works[0])
    for other in works[1:]:
        other_shapes = _shapes(other)
        for name in {**shapes, **other_shapes}:
            if (shape := shapes.get(name)) != (other_shape := other_shapes.get(name)):
                yield (
                    f"{_differing(works[0], other)}: {name} is {shape or 'missing'} in one network "
                    f"and {other_shape or 'missing'} in another; expected one architecture"
                )


def of_functions(works: Sequence[Supervised]) -> Iterator[str]:
    """Reasons in the functions, which may differ though all shapes are equal: a stack uses the
    forward of its first network, unless it is in function space."""
    first = works[0]
    for other in works[1:]:
        ours, theirs = first.learner.network, other.learner.network
        if other.config.model == first.config.model or ours is None or theirs is None:
            continue
        if str(ours) != str(theirs) or not _compute_the_same(ours, theirs, other):
            makes = "makes another function of the same weights"
            yield f"{_differing(first, other)}: {makes}; expected one architecture"


def needs_every_update(work: Supervised) -> bool:
    """True if someone must be asked after each update: a probe that may watch it, the evaluation
    that finds a network fitted, or the running mean of minibatches that waits for a loss."""
    watched = any(type(probe).watches is not Probe.watches for probe in work.probes.values())
    evaluated = work.config.optim.stop_loss is not None
    return watched or evaluated or (work.waits_for_a_loss and not work.batches.are_full)


def _differing(first: Supervised, other: Supervised) -> str:
    """The options of the model in which two networks differ, to go behind `members`."""
    ours, theirs = vars(first.config.model), vars(other.config.model)
    keys = [f".model.{key}" for key in ours if ours[key] != theirs[key]]
    return " and members".join(keys)


@torch.no_grad()
def _compute_the_same(ours: nn.Module, theirs: nn.Module, work: Supervised) -> bool:
    """True if our forward with their weights is theirs, on a few training examples."""
    inputs = work.dataset.train.inputs[:FEW]
    weights: dict[str, Tensor] = dict(theirs.named_parameters())
    with evaluating(ours), evaluating(theirs):
        return torch.allclose(called_with(ours, weights, (inputs,)), theirs(inputs))


def _shapes(work: Supervised) -> dict[str, tuple[int, ...]]:
    return {name: tuple(weight.shape) for name, weight in work.model.state_dict().items()}
