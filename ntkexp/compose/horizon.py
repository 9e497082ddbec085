"""How long to train, where one limit is typed and the other stands in the experiment.

`optim.epochs` and `optim.steps` both end a run, whichever comes first. Whoever types one of them
means it. So the other is dropped if it would end the run earlier. If it would not, it stays: it
changes nothing in training, but it is part of the ids of runs that exist.
"""

from __future__ import annotations

from collections.abc import Collection

from omegaconf import DictConfig, OmegaConf

from ntkexp.data.base import Data

LIMITS = ("optim.epochs", "optim.steps")


def keep_typed_limit(config: DictConfig, typed: Collection[str]) -> None:
    """Drop the limit that was not typed, if it comes before the one that was.

    Where only the files tell how many examples there are, both stay; the progress says which holds.
    """
    if "optim" not in config or len({*LIMITS} & {*typed}) != 1:
        return
    epochs, steps = config.optim.epochs, config.optim.steps
    an_epoch = steps_an_epoch(config)
    if epochs is None or steps is None or an_epoch is None:
        return
    if "optim.steps" in typed and epochs * an_epoch < steps:
        config.optim.epochs = None
    elif "optim.epochs" in typed and steps < epochs * an_epoch:
        config.optim.steps = None


def steps_an_epoch(config: DictConfig) -> int | None:
    """None where only the files tell how many examples there are."""
    data = OmegaConf.to_object(config.data)
    shape = data.shape() if isinstance(data, Data) else None
    if shape is None or shape.examples is None:
        return None
    size = config.optim.batch_size
    return 1 if size is None else -(-shape.examples // size)
