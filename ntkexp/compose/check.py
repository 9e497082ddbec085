"""A composed config shrunk to its scale, its limits settled, and refused where no run can have it.

Nothing is loaded or built. Whoever types one of `optim.epochs` and `optim.steps`, which both end
a run, means it: the other is dropped where it would end the run earlier. Where it would not, it
stays: it changes nothing in training, but is part of the ids of runs that exist.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

from omegaconf import DictConfig, OmegaConf

from ntkexp import components
from ntkexp.components import Component
from ntkexp.config import ExperimentConfig, Spacing, TrainConfig
from ntkexp.data.base import Data
from ntkexp.errors import UserError
from ntkexp.machine import refuse_beyond, visible_gpus
from ntkexp.members import Columns
from ntkexp.models.base import Model
from ntkexp.objectives.base import Objective
from ntkexp.options import check_options
from ntkexp.results.numbers import metric

LIMITS = ("optim.epochs", "optim.steps")
BYTES_PER_NUMBER = 4


def shrink(config: DictConfig, typed: Collection[str]) -> None:
    """Apply the limits of `scale` to everything the user did not type himself."""
    scale = config.scale
    check_options(scale, "scale")
    limits = {
        "probing.examples": scale.probe_examples,
        "evaluate.train_examples": scale.evaluate_examples,
        "evaluate.test_examples": scale.evaluate_examples,
    }
    for key, _, kind in component_nodes(config):
        limits |= {f"{key}.{option}": limit for option, limit in kind.limits(scale).items()}
    for key, limit in limits.items():
        if limit is None or key in typed or key.partition(".")[0] not in config:
            continue
        value = OmegaConf.select(config, key)
        OmegaConf.update(config, key, limit if value is None else min(value, limit))
    if scale.growth is not None and "probing.growth" not in typed:
        config.probing.growth = max(config.probing.growth, scale.growth)


def check(config: DictConfig) -> None:
    """Refuse values that no run can have; each message names its key."""
    complete_chosen(config)
    check_options(config)
    if config.probing.spacing == Spacing.list and not config.probing.steps:
        raise UserError("probing.steps=[]: probing.spacing=list needs one step or more, [0, 10]")
    plain = OmegaConf.to_object(config)
    assert isinstance(plain, ExperimentConfig)
    if plain.objective_metric is not None:
        metric.parsed(plain.objective_metric)
    for component in components_of(plain):
        # What a study's work offers to probes is known when it is built (training/study.py).
        if component.kind != "probe" or isinstance(plain, TrainConfig):
            component.check(plain)
        for key, part in parts_of(component, component.kind):
            try:
                part.check()
            except UserError as error:
                raise UserError(f"{key}: {error}") from error
    if isinstance(plain, TrainConfig):
        check_size(plain)


def complete_chosen(config: DictConfig) -> None:
    """Give its component's types to the node of a probe or logger whose options were written
    without choosing it."""
    for group in components.GROUPS_OF_MANY:
        for key in map(str, config[group]):
            node = config[group][key]
            if component_type(node) is None:
                name = node.get("name", key) if isinstance(node, DictConfig) else key
                component = components.made(group, str(name), node, f"{group}.{key}")
                config[group][key] = OmegaConf.structured(component)


def check_size(config: TrainConfig) -> None:
    """Refuse a network that cannot take the data, that the optimiser cannot train, or that does not
    fit into memory.

    Training with momentum keeps three numbers a parameter in float32: the parameter, its velocity
    and its gradient. Activations and kernels come on top. What is not known of a component of one's
    own is not checked here, nor the memory of another machine that is not told.
    """
    shape, model = config.data.shape(), config.model
    if shape is None:
        return
    model.refuse_inputs(shape.inputs)
    outputs = config.objective.outputs(shape.inputs, shape.outputs)
    if (network := model.unseen(shape.inputs, outputs)) is None:
        return
    config.optim.refuse(network)
    if (room := config.launcher.memory_bytes()) is None:
        return
    parameters = sum(weight.numel() for weight in network.parameters())
    on_gpu = config.device.startswith("cuda") or (config.device == "auto" and visible_gpus())
    refuse_beyond(
        f"model.{model.size_key}={getattr(model, model.size_key)}" if model.size_key else "model",
        "its parameters" if on_gpu else "its parameters, velocity and gradients",
        BYTES_PER_NUMBER * parameters * (1 if on_gpu else 3),
        room,
    )


def refuse_other_sizes(many: Sequence[tuple[Columns, DictConfig]]) -> None:
    """Refuse members whose networks have more or fewer parameters; each is one tensor for all."""
    keys = [key for columns, _ in many[:1] for key in columns if key.startswith(("model", "data"))]
    sizes: dict[int, int] = {}  # by the number of outputs
    for _, config in many if keys else ():
        if "model" not in config:
            continue
        data, model = OmegaConf.to_object(config.data), OmegaConf.to_object(config.model)
        shape = data.shape() if isinstance(data, Data) else None
        if shape is None or not isinstance(model, Model):
            continue
        objective = OmegaConf.to_object(config.objective)
        assert isinstance(objective, Objective)
        outputs = objective.outputs(shape.inputs, shape.outputs)
        size = model.parameters(shape.inputs, outputs)
        if size is not None and sizes.setdefault(outputs, size) != size:
            raise UserError(
                f"members.{keys[0]}: the networks have {sizes[outputs]:,} and {size:,} "
                "parameters; expected one architecture, or a sweep (-m)"
            )


def keep_typed_limit(config: DictConfig, typed: Collection[str]) -> None:
    """Drop the limit that was not typed, if it comes before the one that was.

    Where only the files tell how many examples there are, both stay; the progress says which holds.
    """
    if "optim" not in config or len({*LIMITS} & {*typed}) != 1:
        return
    epochs, steps = config.optim.epochs, config.optim.steps
    an_epoch = _steps_an_epoch(config)
    if epochs is None or steps is None or an_epoch is None:
        return
    if "optim.steps" in typed and epochs * an_epoch < steps:
        config.optim.epochs = None
    elif "optim.epochs" in typed and steps < epochs * an_epoch:
        config.optim.steps = None


def _steps_an_epoch(config: DictConfig) -> int | None:
    data = OmegaConf.to_object(config.data)
    shape = data.shape() if isinstance(data, Data) else None
    if shape is None or shape.examples is None:
        return None
    size = config.optim.batch_size
    return 1 if size is None else -(-shape.examples // size)


def component_nodes(config: DictConfig) -> Iterator[tuple[str, DictConfig, type[Component]]]:
    """(key, node, component) of every component of a composed config."""
    nodes = {key: config[key] for key in map(str, config)}
    for group in components.GROUPS_OF_MANY:
        nodes |= {f"{group}.{key}": node for key, node in config.get(group, {}).items()}
    for key, node in nodes.items():
        yield from _with_parts(key, node)


def _with_parts(key: str, node: Any) -> Iterator[tuple[str, DictConfig, type[Component]]]:
    """A node that is a component's, and those of the components among its options."""
    if (kind := component_type(node)) is not None:
        yield key, node, kind
        for option in components.inside(kind):
            if not OmegaConf.is_missing(node, option):
                yield from _with_parts(f"{key}.{option}", node[option])


def component_type(node: object) -> type[Component] | None:
    """The component whose options a config node has, if it has those of one."""
    kind = OmegaConf.get_type(node) if isinstance(node, DictConfig) else None
    return kind if isinstance(kind, type) and issubclass(kind, Component) else None


def components_of(config: ExperimentConfig) -> Iterator[Component]:
    """Every component of a plain config."""
    for value in vars(config).values():
        if isinstance(value, Component):
            yield value
    yield from config.probe.values()
    yield from config.logger.values()


def parts_of(component: Component, where: str) -> Iterator[tuple[str, Component]]:
    """(key, component) of the components among the options of one, and among theirs."""
    for option in components.inside(type(component)):
        if isinstance(part := getattr(component, option), Component):
            yield f"{where}.{option}", part
            yield from parts_of(part, f"{where}.{option}")
