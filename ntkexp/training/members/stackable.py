"""Refusals of networks that cannot train in step as one stack, each with its way out."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.func import functional_call

from ntkexp.errors import UserError
from ntkexp.probes import Probe
from ntkexp.probes.view import evaluating
from ntkexp.training.function_space.learner import FunctionLearner
from ntkexp.training.learners.network import NetworkLearner, drawing_layers
from ntkexp.training.supervised import Supervised
from ntkexp.transforms.alpha_scale import OnTrainingSet
from ntkexp.transforms.linearise import Linearised

# On so many training examples two networks are compared.
FEW = 8


def refuse_unlike(works: Sequence[Supervised]) -> None:
    """Refuse networks that cannot be one stack."""
    for work in works:
        refuse_single_updates(work)
        refuse_forward_observers(work)
        refuse_layers_that_draw(work)
    refuse_other_numbers_of_examples(works)
    refuse_other_transforms(works)
    refuse_other_objectives(works)
    refuse_other_weights(works)
    refuse_other_functions(works)


def network_in_stack(work: Supervised) -> nn.Module:
    """The network of a work that is stacked with those of others."""
    scaled = scaled_of(work)
    return work.model if scaled is None else scaled.module.network


def scaled_of(work: Supervised) -> OnTrainingSet | None:
    """The scaling of a network's outputs, if it has one; the network itself is in the stack."""
    scaling = work.transformed.on_training_set
    return scaling if isinstance(scaling, OnTrainingSet) else None


def needs_every_update(work: Supervised) -> bool:
    """True if someone must be asked after each update: a probe that may watch it, the evaluation
    that finds a network fitted, or the running mean of minibatches that waits for a loss."""
    watched = any(type(probe).watches is not Probe.watches for probe in work.probes.values())
    evaluated = work.config.optim.stop_loss is not None
    return watched or evaluated or (work.waits_for_a_loss and work.batches.steps_per_epoch > 1)


def refuse_other_transforms(works: Sequence[Supervised]) -> None:
    """A stack has one architecture; the outputs of all or of none are scaled."""
    if len({work.config.transform.name for work in works}) > 1:
        raise UserError("members.transform: differs; expected one transform for all")
    for work in works:
        if work.learner.route == NetworkLearner.route and isinstance(work.model, Linearised):
            raise UserError(
                "members: transform=linearise by forward mode has one network a run; expected a "
                "sweep (-m)"
            )
        if scaled_of(work) is not None and not work.dataset.sees_examples_as_they_are:
            raise UserError(
                "members: transform=alpha_scale knows the first outputs of examples as they are; "
                "expected data without a stream and data.augment=none, or a sweep (-m)"
            )


def refuse_layers_that_draw(work: Supervised) -> None:
    """In a stack all networks would draw from one stream, so none would train as it does alone."""
    for name in drawing_layers(work.model):
        raise UserError(f"members: layer {name} draws at random; expected a sweep (-m)")


def refuse_single_updates(work: Supervised) -> None:
    if not work.update.stacks:
        raise UserError(
            f"members: optim={work.config.optim.name} updates one network a run; expected "
            "optim=sgd or optim=adam, or a sweep (-m)"
        )


def refuse_forward_observers(work: Supervised) -> None:
    """The forward is that of the stack: no member has one of its own to look at."""
    if isinstance(work.learner, NetworkLearner) and work.learner.update.sees_forward:
        raise UserError(
            f"members: optim={work.config.optim.name} looks at the forward of each minibatch; "
            "take a sweep (-m)"
        )
    for name, probe in work.probes.items():
        if probe.sees_forward():
            raise UserError(
                f"members: probe.{name} looks at the forward of each minibatch; "
                "take probe.complexity.batch=fixed, or a sweep (-m)"
            )


def refuse_other_numbers_of_examples(works: Sequence[Supervised]) -> None:
    batches = [work.batches for work in works]
    if len({(of.examples, of.batch_size, of.steps_per_epoch) for of in batches}) > 1:
        raise UserError(
            "members: train in step, so all have one optim.batch_size and as many training "
            "examples; take a sweep (-m)"
        )


def refuse_other_objectives(works: Sequence[Supervised]) -> None:
    """The losses of all are computed at once."""
    if len({(type(work.objective), work.objective.outputs) for work in works}) > 1:
        raise UserError("members: train in step, so all have one objective; take a sweep (-m)")


def refuse_other_weights(works: Sequence[Supervised]) -> None:
    """Each parameter of all networks is one tensor, at the latest in weights.pt."""
    first, *others = works
    there = _shapes(first)
    for other in others:
        here = _shapes(other)
        for name in {**there, **here}:
            if (one := there.get(name)) != (two := here.get(name)):
                raise UserError(
                    f"{_differing(first, other)}: {name} is {one or 'missing'} in one network and "
                    f"{two or 'missing'} in another; expected one architecture, or a sweep (-m)"
                )


def refuse_other_functions(works: Sequence[Supervised]) -> None:
    """Refuse networks that compute different functions, though their weights have equal shapes.
    A stack uses the forward of its first network. In function space each has a kernel of its
    own."""
    first, *others = works
    for other in others:
        if other.config.model == first.config.model or isinstance(other.learner, FunctionLearner):
            continue
        ours, theirs = network_in_stack(first), network_in_stack(other)
        if str(ours) != str(theirs) or not _compute_the_same(ours, theirs, other):
            raise UserError(
                f"{_differing(first, other)}: makes another function of the same weights; "
                "expected one architecture, or a sweep (-m)"
            )


def _differing(one: Supervised, other: Supervised) -> str:
    """The options of the model in which two networks differ."""
    ours, theirs = vars(one.config.model), vars(other.config.model)
    keys = [f"members.model.{key}" for key in ours if ours[key] != theirs[key]]
    return " and ".join(keys) or "members"


@torch.no_grad()
def _compute_the_same(ours: nn.Module, theirs: nn.Module, work: Supervised) -> bool:
    """True if our forward with their weights is theirs, on a few training examples."""
    inputs = work.dataset.train.inputs[:FEW]
    weights: dict[str, Tensor] = dict(theirs.named_parameters())
    with evaluating(ours), evaluating(theirs):
        return torch.allclose(functional_call(ours, weights, (inputs,)), theirs(inputs))


def _shapes(work: Supervised) -> dict[str, tuple[int, ...]]:
    return {name: tuple(weight.shape) for name, weight in work.model.state_dict().items()}
