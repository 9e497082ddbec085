"""Hands the typed schemas to Hydra, under the names that the files in configs/ build upon."""

from __future__ import annotations

from hydra.core.config_store import ConfigStore

from ntkexp import config


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
