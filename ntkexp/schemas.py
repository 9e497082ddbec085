"""Hands Hydra the typed schemas that the files in configs/ build upon, and what they may call."""

from __future__ import annotations

from functools import cache
from typing import Any

import omegaconf
from hydra.core.config_store import ConfigStore
from omegaconf import DictConfig, OmegaConf

from ntkexp import config


@cache
def register() -> None:
    store = ConfigStore.instance()
    for group, name, node in (
        (None, "train", config.TrainConfig),
        (None, "study", config.StudyConfig),
        (None, "optim", config.OptimConfig),
        (None, "scale", config.ScaleConfig),
        (None, "launcher", config.LauncherConfig),
        ("launcher", "slurm", config.SlurmConfig),
        ("data", "images", config.ImagesConfig),
        ("data", "disk", config.DiskConfig),
        ("model", "mlp", config.MLPConfig),
        ("model", "vgg", config.VGGConfig),
        ("model", "resnet", config.ResNetConfig),
    ):
        store.store(group=f"schema/{group}" if group else "schema", name=name, node=node)
    # OmegaConf 2.4 warns of the long name; up to 2.3 the short one is something else.
    major, minor = map(int, omegaconf.__version__.split(".")[:2])
    add = "register_resolver" if (major, minor) >= (2, 4) else "register_new_resolver"
    getattr(OmegaConf, add)("at_scale", at_scale, replace=True)


def at_scale(paper: Any, small: Any, *, _root_: DictConfig) -> Any:
    """`${at_scale:'32,64,128','16,32'}`: the value at scale=paper, and that at scale=small.

    For what the upper limits of configs/scale cannot say, such as which values are swept.
    """
    return small if _root_.scale.name == "small" else paper
