"""Hands Hydra the typed schemas that the files in configs/ build upon, and what they may call."""

from __future__ import annotations

from hydra.core.config_store import ConfigStore
from omegaconf import DictConfig, OmegaConf

from ntkexp import config


def register() -> None:
    store = ConfigStore.instance()
    for group, name, node in (
        (None, "train", config.TrainConfig),
        (None, "study", config.StudyConfig),
        (None, "optim", config.OptimConfig),
        (None, "scale", config.ScaleConfig),
        ("data", "images", config.ImagesConfig),
        ("data", "disk", config.DiskConfig),
        ("model", "mlp", config.MLPConfig),
        ("model", "vgg", config.VGGConfig),
        ("model", "resnet", config.ResNetConfig),
    ):
        store.store(group=f"schema/{group}" if group else "schema", name=name, node=node)
    OmegaConf.register_new_resolver("sweep", sweep_at_scale, replace=True)


def sweep_at_scale(paper: str, small: str, *, _root_: DictConfig) -> str:
    """`${sweep:'32,64,128','16,32'}` in an experiment: what is swept, and what at scale=small."""
    return small if _root_.scale.name == "small" else paper
